package front

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
)

// dear answers a body with bytes that took processor time.
type dear struct {
	used  time.Duration
	bytes int
}

func (d dear) AppendTo(
	ctx context.Context, body, dst []byte, _ func([]byte) error,
) ([]byte, error) {
	return d.Append(ctx, body, dst), nil
}

func (d dear) Append(ctx context.Context, _, dst []byte) []byte {
	request.Quota(ctx).(*Ticket).Used(d.used)
	return append(dst, make([]byte, d.bytes)...)
}

func (dear) Compress(_ context.Context, _, dst []byte) ([]byte, bool) { return dst, false }

// TestRateCountsCost: a request costs one call, or more according to its time and the bytes of it and of its answer.
func TestRateCountsCost(t *testing.T) {
	for _, test := range []struct {
		of   dear
		sent int // bytes
		cost float64
	}{
		{dear{0, 100}, 2, 1},
		{dear{callTime, 100}, 2, 1},
		{dear{300 * callTime, 100}, 2, 300},
		{dear{0, 3 * callBytes}, 2, 3},
		{dear{20*callTime + callTime/2, 10*callBytes - 3}, 2, 29},
		{dear{0, 100}, 4 * callBytes, 4},
		{dear{callTime, 3*callBytes - 2}, 2*callBytes + 2, 6},
	} {
		s := prepare(t, Config{
			RPC:      test.of,
			Fallback: http.NotFoundHandler(),
			Rate:     Rate{1, 1000},
			Proxies:  []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})
		now := time.Now() // a clock that does not advance
		s.now = func() time.Time { return now }
		c := dial(t, serve(t, s))
		for range 2 { // the second is admitted after the first was charged
			c.send(post("{}"+strings.Repeat(" ", test.sent-2), "X-Forwarded-For: 192.0.2.1"))
			if got := c.read(); got.status != 200 {
				t.Fatalf("%+v: got %d, want 200", test.of, got.status)
			}
		}
		_ = c.Close()
		place := netip.MustParseAddr("192.0.2.1")
		shard := s.buckets.shard(place)
		shard.mu.Lock()
		left := shard.byPlace[place].Value.(*addressBucket).tokens
		shard.mu.Unlock()
		// The second request may not be charged in full yet.
		if cost := 1000 - left; cost != test.cost+1 && cost != 2*test.cost {
			t.Errorf("%+v: two requests cost %v calls, want %v each", test.of, cost, test.cost)
		}
	}
}

// TestClientsAreToldApart: clients take turns by address, by IPv6 network and by API key.
func TestClientsAreToldApart(t *testing.T) {
	of := func(who client) admission.Client {
		var ticket Ticket
		ticket.begin(new(Server), who, nil)
		return ticket.turn.Client
	}
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	if a, b := of(client{place: one}), of(client{place: other}); a == b {
		t.Errorf("two addresses are one client: got %v", a)
	}
	k := &key{name: "indexer"}
	if a, b := of(client{place: one, key: k}), of(client{place: other, key: k}); a != b {
		t.Errorf("those who use a key are %v and %v, want one client", a, b)
	}
	if a, b := of(client{place: one, key: k}), of(client{place: one}); a == b {
		t.Errorf("who has a key is as who has none: got %v", a)
	}
}

// TestClientsThatHaveGoneAreNoticed closes a connection in each way while its request is being answered.
func TestClientsThatHaveGoneAreNoticed(t *testing.T) {
	for name, leave := range map[string]func(*net.TCPConn) error{
		"close": (*net.TCPConn).Close,
		"reset": func(c *net.TCPConn) error { return setLingerAndClose(c) },
	} {
		gone, answered := make(chan bool), make(chan struct{})
		left := make(chan struct{})
		_, address := start(t, Config{Fallback: http.NotFoundHandler(), RPC: echo{hook: func(ctx context.Context) {
			ticket := request.Quota(ctx).(*Ticket)
			gone <- ticket.Gone()
			<-left
			for !ticket.Gone() { // it has been sent, and arrives soon
			}
			close(answered)
		}}})
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(post("{}"))); err != nil {
			t.Fatal(err)
		}
		if <-gone {
			t.Errorf("%s: a client that waits has gone", name)
		}
		if err := leave(c.(*net.TCPConn)); err != nil {
			t.Fatal(err)
		}
		close(left)
		<-answered
	}
}

func setLingerAndClose(c *net.TCPConn) error {
	if err := c.SetLinger(0); err != nil {
		return err
	}
	return c.Close()
}

// endless is a client that never stops sending.
type endless struct {
	net.Conn
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	e.read += len(p)
	return len(p), nil
}

// Only a little of a client's data is read while its WebSocket closes, however much it sends.
func TestClosingReadsLittle(t *testing.T) {
	client := &endless{}
	c := &checkedConn{conn: &conn{Conn: client}, raw: true}
	(&Ticket{conn: c.conn}).Closing()
	n, err := io.Copy(io.Discard, c)
	if err != nil || n < closingBytes || client.read > 2*closingBytes {
		t.Errorf("%d bytes were read of %d, %v; want about %d", n, client.read, err, closingBytes)
	}
}
