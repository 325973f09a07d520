package front

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

// opener is a server whose connections and clock are controlled by the test.
type opener struct {
	*Server
	clock atomic.Int64 // nanoseconds since 1970
}

func newOpener(t *testing.T, config Config) *opener {
	o := &opener{Server: prepare(t, config)}
	o.clock.Store(time.Now().UnixNano())
	o.now = func() time.Time { return time.Unix(0, o.clock.Load()) }
	return o
}

func (o *opener) pass(d time.Duration) { o.clock.Add(int64(d)) }

func (o *opener) from(address string) *conn {
	return o.accept(&scripted{from: netip.MustParseAddrPort(address), now: o.now()})
}

func TestIdleConnectionsMakeWay(t *testing.T) {
	a, b, d := "192.0.2.1:1", "192.0.2.2:1", "192.0.2.4:1"
	for name, test := range map[string]struct {
		// each letter opens a connection from that address, a duration lets time pass, a string with a digit acts on
		// that connection
		steps []any
		out   string
	}{
		"the longest idle":                 {[]any{a, b, d, leastIdle, d}, "0"},
		"nobody is idle for long enough":   {[]any{a, b, d, leastIdle - 1, d}, "refused"},
		"the site with most":               {[]any{a, b, b, leastIdle, d}, "1"},
		"the site with most that are idle": {[]any{a, a, b, "begin 0", "begin 1", leastIdle, d}, "2"},
		"an active one stays":              {[]any{a, b, d, "begin 0", leastIdle, d}, "1"},
		"all are active":                   {[]any{a, b, d, "begin 0", "begin 1", "begin 2", leastIdle, d}, "refused"},
		"one that was active is idle anew": {
			[]any{a, b, d, leastIdle, "begin 0", "park 0", "begin 1", "park 1", "begin 2", "park 2", d}, "refused",
		},
		"and makes way after the others":     {[]any{a, b, d, "begin 0", "park 0", leastIdle, d}, "1"},
		"what became active after being old": {[]any{a, a, b, leastIdle, "begin 0", "begin 1", d}, "2"},
		"half a request makes way":           {[]any{a, b, d, "begin 0", "begin 2", "half 1", leastIdle, d}, "1"},
		"but not at once":                    {[]any{a, b, d, leastIdle, "half 0", "half 1", "half 2", d}, "refused"},
		"there is room":                      {[]any{a, b, leastIdle, d}, ""},
		"who ended made room":                {[]any{a, b, d, leastIdle, "close 1", d}, ""},
	} {
		o := newOpener(t, Config{MaxConnections: 3})
		var conns []*conn
		ended := map[*conn]bool{}
		for _, step := range test.steps {
			var what string
			var which int
			switch step := step.(type) {
			case time.Duration:
				o.pass(step)
			case string:
				if n, err := fmt.Sscanf(step, "%s %d", &what, &which); n < 2 || err != nil {
					conns = append(conns, o.from(step))
				}
			}
			switch what {
			case "begin":
				if !conns[which].begin() {
					t.Errorf("%s: %d was closed", name, which)
				}
			case "park":
				conns[which].park(stateIdle)
			case "half": // a part of a request has arrived
				conns[which].park(stateReading)
			case "close":
				ended[conns[which]] = true
				if err := conns[which].Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		var out []string
		for i, c := range conns {
			switch {
			case c == nil:
				out = append(out, "refused")
			case c.state == stateClosed && !ended[c]:
				out = append(out, fmt.Sprint(i))
				if c.begin() {
					t.Errorf("%s: %d goes on", name, i)
				}
			}
		}
		if got := strings.Join(out, " "); got != test.out {
			t.Errorf("%s: %q instead of %q", name, got, test.out)
		}
	}
}

// An address at its own limit displaces its own connection, whoever else is idle.
func TestAddressDisplacesItsOwn(t *testing.T) {
	o := newOpener(t, Config{MaxConnections: 10, MaxConnectionsPerAddress: 2})
	other, another := o.from("192.0.2.9:1"), o.from("192.0.2.9:2")
	o.pass(leastIdle)
	first, second := o.from("192.0.2.1:1"), o.from("192.0.2.1:2")
	if o.from("192.0.2.1:3") != nil {
		t.Error("it displaced one that was just opened")
	}
	o.pass(leastIdle)
	if o.from("192.0.2.1:3") == nil || first.state != stateClosed || second.state != stateIdle ||
		other.state != stateIdle || another.state != stateIdle {
		t.Error("another than its longest idle connection was displaced")
	}
	if got := o.Stats(); got.Open != 4 || got.Displaced != 1 || got.TooManyConnections != 1 {
		t.Errorf("got %+v", got)
	}
}

// Idle connections in net/http make way too, but hijacked ones never do.
func TestHandedConnectionsMakeWay(t *testing.T) {
	entered, release := make(chan bool), make(chan bool)
	slow := echo{func(context.Context) { entered <- true; <-release }}
	o := newOpener(t, Config{MaxConnections: 3, RPC: echo{}, Fallback: slow})
	address := serve(t, o.Server)
	socket, busy, idle := dial(t, address), dial(t, address), dial(t, address)
	socket.send("GET /ws HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	if got, err := http.ReadResponse(socket.reader, nil); err != nil || got.StatusCode != 101 {
		t.Fatalf("got %+v, error %v", got, err)
	}
	idle.send(post("{}", odd))
	<-entered
	release <- true
	if got := idle.read(); got.status != 200 {
		t.Fatalf("got %+v", got)
	}
	busy.send(post("{}", odd))
	<-entered
	o.parked(t, 1)
	o.pass(leastIdle)
	next := dial(t, address)
	next.send(post("{}"))
	if got := next.read(); got.status != 200 {
		t.Errorf("got %+v", got)
	}
	idle.ended()
	release <- true
	if got := busy.read(); got.status != 200 {
		t.Errorf("got %+v", got)
	}
	socket.send("still here")
	text := make([]byte, len("still here"))
	if _, err := io.ReadFull(socket.reader, text); err != nil || string(text) != "still here" {
		t.Errorf("the socket says %q: error %v", text, err)
	}
}

// parked waits until the given number of connections are idle: net/http reports it only after the client has its
// answer.
func (o *opener) parked(t *testing.T, count int) {
	t.Helper()
	o.await(t, stateIdle, count)
}

// await waits until the given number of connections are in a state.
func (o *opener) await(t *testing.T, state connState, count int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		o.mu.Lock()
		n := 0
		for c := range o.conns {
			if c.state == state {
				n++
			}
		}
		o.mu.Unlock()
		if n == count {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("there are never %d connections in state %d", count, state)
}

// Connections with half a request keep nobody out, on both paths, whether the preamble or the body is incomplete.
func TestHalfRequestsMakeWay(t *testing.T) {
	chunked := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, test := range map[string]struct {
		whole, half string
		state       connState
	}{
		"half a preamble":                 {"", "POST / HTTP/1.1\r\nHost: loc", stateReading},
		"half a body":                     {"", post("{}")[:len(post("{}"))-1], stateReading},
		"half a preamble after a request": {post("{}"), "POST / HTTP/1.1\r\nHost: loc", stateReading},
		// net/http reports only complete preambles
		"half a preamble to net/http": {post("{}", odd), "POST / HTTP/1.1\r\nHost: loc", stateIdle},
		"half a body to net/http":     {"", post("{}", odd)[:len(post("{}", odd))-1], stateReading},
		"no chunk":                    {"", chunked, stateReading},
	} {
		t.Run(name, func(t *testing.T) {
			const most = 3
			o := newOpener(t, Config{MaxConnections: most})
			address := serve(t, o.Server)
			var halves []*rawClient
			for range most {
				c := dial(t, address)
				if test.whole != "" {
					c.send(test.whole)
					c.read()
				}
				c.send(test.half)
				halves = append(halves, c)
			}
			o.await(t, test.state, most)
			o.pass(leastIdle)
			next := dial(t, address)
			next.send(post("{}"))
			if got := next.read(); got.status != 200 {
				t.Errorf("got %+v", got)
			}
			if stats := o.Stats(); stats.Displaced != 1 || stats.TooManyConnections != 0 {
				t.Errorf("got %+v", stats)
			}
			for _, c := range halves {
				_ = c.Close()
			}
		})
	}
}

// In any situation, the connection that makes way is the longest idle of a site with the most of them.
func TestWhoMakesWay(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := newOpener(t, Config{MaxConnections: rapid.IntRange(1, 12).Draw(r, "most")})
		since := map[*conn]time.Time{} // by open connection; zero for active ones
		pick := func() *conn {
			var open []*conn
			for c := range since {
				open = append(open, c)
			}
			if len(open) == 0 {
				r.Skip("nothing is open")
			}
			port := func(c *conn) int { return int(c.raw.(*scripted).from.Port()) }
			slices.SortFunc(open, func(a, b *conn) int { return port(a) - port(b) })
			return open[rapid.IntRange(0, len(open)-1).Draw(r, "which")]
		}
		port := uint16(0)
		r.Repeat(map[string]func(*rapid.T){
			"pass": func(r *rapid.T) { o.pass(time.Duration(rapid.IntRange(1, int(leastIdle)).Draw(r, "time"))) },
			"open": func(r *rapid.T) {
				port++
				ripe, most := map[*site]int{}, 0
				for c, at := range since {
					if !at.IsZero() && o.now().Sub(at) >= leastIdle {
						ripe[c.site]++
						most = max(most, ripe[c.site])
					}
				}
				full := len(since) == o.config.MaxConnections
				c := o.from(fmt.Sprintf("192.0.2.%d:%d", rapid.IntRange(1, 4).Draw(r, "place"), port))
				if (c == nil) != (full && most == 0) {
					r.Fatalf("refused: %v, full: %v, ripe: %d", c == nil, full, most)
				}
				for victim, at := range since {
					if victim.state != stateClosed {
						continue
					}
					delete(since, victim)
					if !full || at.IsZero() || o.now().Sub(at) < leastIdle || ripe[victim.site] != most {
						r.Fatalf("%+v made way", victim.peer)
					}
					for other, theirs := range since {
						if other.site == victim.site && !theirs.IsZero() && theirs.Before(at) {
							r.Fatal("another one of the site was idle longer")
						}
					}
				}
				if c != nil {
					since[c] = o.now()
				}
			},
			"begin": func(r *rapid.T) {
				c := pick()
				since[c] = time.Time{}
				if !c.begin() {
					r.Fatal("an open connection does not begin")
				}
			},
			"park": func(r *rapid.T) {
				if c := pick(); since[c].IsZero() {
					since[c] = o.now()
					c.park(rapid.SampledFrom([]connState{stateIdle, stateReading}).Draw(r, "state"))
				}
			},
			"close": func(r *rapid.T) {
				c := pick()
				delete(since, c)
				if err := c.Close(); err != nil {
					r.Fatal(err)
				}
			},
			"": func(r *rapid.T) {
				sites, ripe, listed := map[*site]int{}, 0, 0
				for c := range since {
					sites[c.site]++
					if c.ripe {
						ripe++
					}
				}
				for s, n := range sites {
					if o.sites[s.place] != s || s.open != n {
						r.Fatalf("%+v of %d", s, n)
					}
					listed += s.count
				}
				if len(o.conns) != len(since) || len(o.sites) != len(sites) || listed != ripe {
					r.Fatalf(
						"%d connections of %d, %d sites of %d, %d ripe of %d",
						len(o.conns),
						len(since),
						len(o.sites),
						len(sites),
						listed,
						ripe,
					)
				}
			},
		})
	})
}

// A request that waits for a block makes way for a new connection; one that computes does not, nor does a WebSocket on
// which a message waits.
func TestIdleRequestMakesWay(t *testing.T) {
	for _, tc := range []struct {
		name   string
		shared bool
		want   error
	}{{"a request", false, admission.ErrGone}, {"a message", true, nil}} {
		o := newOpener(t, Config{MaxConnections: 1})
		c := o.from("192.0.2.1:1")
		if !c.begin() {
			t.Fatal("the only connection was closed")
		}
		ticket := &Ticket{shared: tc.shared}
		ticket.begin(o.Server, client{}, c)
		o.pass(leastIdle)
		if o.from("192.0.2.2:1") != nil {
			t.Errorf("%s: it makes way while it computes", tc.name)
		}
		var newcomer *conn
		err := ticket.Idle(func() error {
			o.pass(leastIdle)
			newcomer = o.from("192.0.2.2:1")
			return nil
		})
		if !errors.Is(err, tc.want) || (newcomer != nil) != (tc.want != nil) {
			t.Errorf("%s: a newcomer got in: %t, and it got %v, want %v", tc.name, newcomer != nil, err, tc.want)
		}
	}
}
