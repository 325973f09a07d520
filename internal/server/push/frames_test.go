package push

import (
	"bytes"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// frame returns a frame's header and payload. The mask is zero.
func frame(first byte, payload int) []byte {
	const masked = 0x80
	b := []byte{first}
	switch {
	case payload < 126:
		b = append(b, masked|byte(payload))
	case payload < 1<<16:
		b = append(b, masked|126, byte(payload>>8), byte(payload))
	default:
		b = append(b, masked|127, 0, 0, 0, 0, byte(payload>>24), byte(payload>>16), byte(payload>>8), byte(payload))
	}
	return append(append(b, 0, 0, 0, 0), bytes.Repeat([]byte{0x89}, payload)...) // the payload looks like pings
}

// pieces is a connection whose reads each return one piece of a client's bytes.
type pieces struct {
	net.Conn
	rest *bytes.Reader
	most int
}

func (p *pieces) Read(b []byte) (int, error) { return p.rest.Read(b[:min(len(b), p.most)]) }

// Each control frame and each small fragment costs a call, however the bytes arrive. Whole messages are charged
// elsewhere.
func TestCheapFramesCostCalls(t *testing.T) {
	const text, more, last, ping, pong, end = 0x81, 0x00, 0x80, 0x89, 0x8a, 0x88
	for name, tc := range map[string]struct {
		frames [][]byte
		calls  int
	}{
		"messages":         {[][]byte{frame(text, 0), frame(text, 125), frame(text, 126), frame(text, 1<<16)}, 0},
		"pings":            {[][]byte{frame(ping, 0), frame(ping, 125), frame(text, 70_000), frame(ping, 3)}, 3},
		"pongs, an end":    {[][]byte{frame(pong, 0), frame(end, 2)}, 2},
		"empty fragments":  {[][]byte{frame(0x01, 0), frame(more, 0), frame(more, 0), frame(last, 0)}, 3},
		"small fragments":  {[][]byte{frame(0x01, 1), frame(more, leastFragment-1), frame(ping, 0), frame(last, 9)}, 3},
		"usual fragments":  {[][]byte{frame(0x01, 4096), frame(more, leastFragment), frame(last, 1)}, 0},
		"a huge fragment ": {[][]byte{frame(0x01, 1<<20), frame(last, 0)}, 0},
	} {
		all := slices.Concat(tc.frames...)
		for _, piece := range []int{1, 7, len(all)} {
			calls := 0
			f := &frames{Conn: &pieces{rest: bytes.NewReader(all), most: piece}, pay: func() error { calls++; return nil }}
			var got []byte
			for p := make([]byte, len(all)); ; {
				before := calls
				n, err := f.Read(p)
				got = append(got, p[:n]...)
				if calls > before+1 {
					t.Errorf("%s in pieces of %d: one read cost %d calls, want one at most", name, piece, calls-before)
				}
				if err != nil {
					break
				}
			}
			if calls != tc.calls || !bytes.Equal(got, all) {
				t.Errorf("%s in pieces of %d: %d calls and %d bytes, want %d and %d", name, piece, calls, len(got), tc.calls, len(all))
			}
		}
	}
}

// Nothing is read from a client that has no calls left until it has paid: its pings wait, and no pong is expected from
// it.
func TestPingsWaitForTheRate(t *testing.T) {
	d := &desk{calls: 2, bytes: 1 << 20}
	serve(t, Config{Ticket: d.ticket, PingInterval: time.Hour}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.ws.CloseRead(t.Context())
		for range 2 {
			if err := c.ws.Ping(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for _, wait := range []time.Duration{3 * time.Second, 6 * time.Second} { // as the debt grows
			start := time.Now()
			if err := c.ws.Ping(t.Context()); err != nil || time.Since(start) != wait {
				t.Errorf("a ping without a call left: %v after %v, want %v", err, time.Since(start), wait)
			}
		}
		synctest.Wait()
		if d.calls != -2 {
			t.Errorf("%d calls are left, want -2: each ping takes one, once", d.calls)
		}
	})
}

// Frames that a client sent and cannot pay for are not processed once it has gone.
func TestFramesOfAClientThatHasGone(t *testing.T) {
	d := &desk{bytes: 1 << 20, gone: true}
	serve(t, Config{Ticket: d.ticket, PingInterval: time.Hour}, func(t *testing.T, s *site) {
		c := s.connect(t)
		defer c.close()
		c.ws.CloseRead(t.Context())
		if err := c.ws.Ping(t.Context()); err == nil {
			t.Error("a ping was answered without a call")
		}
		synctest.Wait()
		if stats := s.Stats(); stats.Clients != 0 {
			t.Errorf("%d connections are left, want 0", stats.Clients)
		}
	})
}
