package front

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
)

// ticketFrom is a ticket of an address.
func ticketFrom(s *Server, address string) *Ticket {
	place := netip.MustParseAddr(address)
	return &Ticket{server: s, who: client{place: place, free: place.IsLoopback()}}
}

// Reservations begin, grow, shrink and end in any order. The sum stays within the limit and a place within its share, a
// refused reservation takes nothing, and in the end nothing is held.
func TestMemoryStaysWithinItsBound(t *testing.T) {
	const limit = 8 << 20
	places := []string{"192.0.2.1", "192.0.2.2", "2001:db8::1", "127.0.0.1"}
	rapid.Check(t, func(t *rapid.T) {
		s := &Server{memory: newMemory(limit)}
		over, cancel := context.WithCancel(context.Background())
		cancel() // nothing waits
		var tickets []*Ticket
		held := map[*Ticket]int64{} // memory held in the model
		check := func() {
			var all int64
			ofPlace := map[netip.Addr]int64{}
			for ticket, n := range held {
				if ticket.displaced {
					continue // other clients hold the memory
				}
				if ticket.held != n {
					t.Fatalf("a ticket holds %d, want %d", ticket.held, n)
				}
				n *= collected
				all += n
				ofPlace[ticket.who.place] += n
			}
			if used := s.memory.used.Load(); used != all || all > limit {
				t.Fatalf("%d in use, of tickets %d, bound %d", used, all, limit)
			}
			for place, n := range ofPlace {
				if !place.IsLoopback() && n > limit/placeShare {
					t.Fatalf("%v holds %d", place, n)
				}
			}
		}
		draw := func(t *rapid.T) *Ticket {
			if len(tickets) == 0 {
				return nil
			}
			ticket := rapid.SampledFrom(tickets).Draw(t, "ticket")
			if ticket.displaced {
				delete(held, ticket)
				ticket.resume()
			}
			return ticket
		}
		t.Repeat(map[string]func(*rapid.T){
			"reserve": func(t *rapid.T) {
				ticket := ticketFrom(s, rapid.SampledFrom(places).Draw(t, "place"))
				body := rapid.Int64Range(0, 3<<20).Draw(t, "body")
				if ticket.reserve(over, body, 0) {
					if body > FreeBytes {
						held[ticket] = 2 * body
					}
					tickets = append(tickets, ticket)
				} else {
					ticket.Release()
				}
			},
			"answer": func(t *rapid.T) {
				ticket := draw(t)
				if ticket == nil {
					return
				}
				had, size := max(FreeBytes, ticket.answer), rapid.IntRange(1, 3<<20).Draw(t, "size")
				got := int64(ticket.Room(size))
				if got < had {
					t.Fatalf("room for %d, had %d", got, had)
				}
				if got >= int64(size) != (got > had || had >= int64(size)) {
					t.Fatalf("room for %d of %d, had %d", got, size, had)
				}
				held[ticket] += got - had
			},
			"wait": func(t *rapid.T) {
				ticket := draw(t)
				if ticket == nil {
					return
				}
				if ticket.place != nil && !ticket.awaits {
					ticket.await()
				} else {
					ticket.resume()
				}
			},
			"shrink": func(t *rapid.T) {
				ticket := draw(t)
				if ticket == nil {
					return
				}
				body := rapid.Int64Range(0, 3<<20).Draw(t, "body")
				ticket.Shrink(int(body))
				if held[ticket] > 0 {
					held[ticket] = min(held[ticket], 2*body)
				}
			},
			"release": func(t *rapid.T) {
				if len(tickets) == 0 {
					return
				}
				i := rapid.IntRange(0, len(tickets)-1).Draw(t, "ticket")
				tickets[i].Release()
				delete(held, tickets[i])
				tickets = append(tickets[:i], tickets[i+1:]...)
			},
			"": func(*rapid.T) { check() },
		})
		for _, ticket := range tickets {
			ticket.Release()
			ticket.Release() // a second call has no effect
		}
		if used := s.memory.used.Load(); used != 0 || len(s.memory.places) != 0 {
			t.Fatalf("%d in use in the end, by %d places", used, len(s.memory.places))
		}
	})
}

// Requests that wait for memory get it in turn, first those whose place would hold least, and are refused when their
// time is up.
func TestMemoryIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{memory: newMemory(collected * 4 << 20)}
		holder := ticketFrom(s, "127.0.0.1")
		if !holder.Reserve(t.Context(), 1<<20) {
			t.Fatal("an empty memory has no room")
		}
		start := time.Now()
		var order []string
		var mu sync.Mutex
		wait := func(name string, body int) {
			go func() {
				ticket := ticketFrom(s, "127.0.0.1")
				defer ticket.Release()
				got := ticket.Reserve(t.Context(), body)
				mu.Lock()
				defer mu.Unlock()
				if !got {
					name += " refused after " + time.Since(start).String()
				}
				order = append(order, name)
			}()
			synctest.Wait()
		}
		wait("larger", 2<<20)
		wait("large", 3<<19)
		wait("small", 100<<10) // there is room for one
		if got := strings.Join(order, ", "); got != "small" {
			t.Errorf("served at once: %q, want small", got)
		}
		<-time.After(memoryWait / 2)
		holder.Release()
		synctest.Wait()
		if got := strings.Join(order, ", "); got != "small, large, larger" {
			t.Errorf("served: %q, want small, large, larger", got)
		}
		if !holder.Reserve(t.Context(), 2<<20) {
			t.Fatal("no room")
		}
		order, start = nil, time.Now()
		wait("late", 1<<20)
		<-time.After(memoryWait)
		synctest.Wait()
		if got := strings.Join(order, ", "); got != "late refused after "+memoryWait.String() || s.counts.busy.Load() != 1 {
			t.Errorf("%s; %d counted", got, s.counts.busy.Load())
		}
		wait("never", 3<<20) // would not fit even into unused memory, so it does not wait
		if len(order) != 2 {
			t.Error("what can never fit waits")
		}
		holder.Release()
	})
}

// peerless is a connection that records when it is closed.
type peerless struct {
	net.Conn
	closed bool
}

func (p *peerless) Close() error { p.closed = true; return nil }

// Memory held for slow clients is reclaimed for clients that would hold less. It is taken first from the place with the
// most memory, and there from the one that has waited longest. Memory in use is not reclaimed, nor is any for clients
// that would hold more.
func TestTheSlowMakeWay(t *testing.T) {
	s := &Server{memory: newMemory(collected * 8 << 20)}
	slow := func(address string, body int) (*Ticket, *peerless) {
		ticket, raw := ticketFrom(s, address), new(peerless)
		ticket.conn = &conn{raw: raw, stream: new(stream)}
		if !ticket.Reserve(t.Context(), body) {
			t.Fatalf("%s has no room", address)
		}
		ticket.await()
		return ticket, raw
	}
	first, firstRaw := slow("192.0.2.1", 512<<10)
	second, secondRaw := slow("192.0.2.1", 384<<10)
	third, thirdRaw := slow("192.0.2.2", 512<<10)
	busy := ticketFrom(s, "192.0.2.3")
	if !busy.Reserve(t.Context(), 1<<20) {
		t.Fatal("no room for who works")
	}
	rest := ticketFrom(s, "127.0.0.1")
	if !rest.Reserve(t.Context(), (8<<20-2*(512+384+512+1024)<<10)/2) {
		t.Fatal("no room for the rest")
	}
	small := ticketFrom(s, "192.0.2.4")
	if got, want := small.Room(100<<10), 100<<10; got < want {
		t.Errorf("room for %d, want %d", got, want)
	}
	if !firstRaw.closed || secondRaw.closed || thirdRaw.closed {
		t.Errorf("closed: %v %v %v, want the longest waiting of the place with most",
			firstRaw.closed, secondRaw.closed, thirdRaw.closed)
	}
	if first.resume() || first.held != 0 {
		t.Errorf("who made way holds %d", first.held)
	}
	large := ticketFrom(s, "192.0.2.5")
	if got := large.Room(2 << 20); got >= 2<<20 { // the memory that 192.0.2.2 does not hold
		t.Errorf("room for %d by those who hold less", got)
	}
	if got := s.counts.displaced.Load(); got != 1 {
		t.Errorf("%d made way, want 1", got)
	}
	if !second.resume() || !third.resume() {
		t.Error("the others do not hold what they held")
	}
	for _, ticket := range []*Ticket{first, second, third, busy, rest, small, large} {
		ticket.Release()
	}
	if used := s.memory.used.Load(); used != 0 || len(s.memory.places) != 0 || len(s.memory.slow) != 0 {
		t.Errorf("in the end %d bytes, %d places, %d that wait", used, len(s.memory.places), len(s.memory.slow))
	}
}

// Many addresses announce bodies and send none, on both paths: others are answered anyway.
func TestHalfABodyKeepsNobodyOut(t *testing.T) {
	rpc := &counting{}
	s, address := start(t, Config{
		RPC: rpc, Fallback: rpc, MaxMemory: 8 << 20, Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	})
	forwarded := func(i int) string { return "X-Forwarded-For: 192.0.2." + strconv.Itoa(i) }
	for i := range 12 {
		for _, field := range []string{"A: b", odd} {
			dial(t, address).send(sized(400<<10, 1, field, forwarded(i))[:300])
		}
	}
	for _, field := range []string{"A: b", odd} {
		for s.Stats().Memory < 6<<20 {
			runtime.Gosched()
		}
		c := dial(t, address)
		c.send(sized(40<<10, 200<<10, field, forwarded(99)))
		if got := c.read(); got.status != 200 || len(got.body) != 200<<10 {
			t.Errorf("%s: status %d with %d bytes, want 200 with %d", field, got.status, len(got.body), 200<<10)
		}
	}
	if got := s.Stats().Displaced; got == 0 {
		t.Error("nobody made way")
	}
}

// One address that takes its maximum leaves room for others, who do not wait behind it.
func TestOnePlaceLeavesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &Server{memory: newMemory(collected * 16 << 20)}
		greedy, other := ticketFrom(s, "192.0.2.1"), ticketFrom(s, "192.0.2.2")
		if !greedy.Reserve(t.Context(), 2<<20) {
			t.Fatal("no room for a whole share")
		}
		go func() {
			more := ticketFrom(s, "192.0.2.1")
			defer more.Release()
			if more.Reserve(t.Context(), 1<<20) {
				t.Error("a place has more than its share")
			}
		}()
		synctest.Wait()
		if !other.Reserve(t.Context(), 2<<20) {
			t.Error("another place has no room")
		}
		<-time.After(memoryWait)
		synctest.Wait()
		greedy.Release()
		other.Release()
	})
}

// counting answers each body with the number of bytes in its first four, and tracks the bytes in flight beyond the free
// ones.
type counting struct {
	now, most atomic.Int64
}

func (c *counting) add(n int) func() {
	n = max(0, n-FreeBytes)
	now := c.now.Add(int64(n))
	for most := c.most.Load(); now > most && !c.most.CompareAndSwap(most, now); most = c.most.Load() {
	}
	return func() { c.now.Add(-int64(n)) }
}

func (c *counting) AppendTo(
	ctx context.Context, body, dst []byte, _ func([]byte) error,
) ([]byte, error) {
	return c.Append(ctx, body, dst), nil
}

func (c *counting) Append(ctx context.Context, body, dst []byte) []byte {
	defer c.add(len(body))()
	size := int(binary.LittleEndian.Uint32(body))
	if request.Quota(ctx).Room(size) < size {
		return append(dst, "busy"...)
	}
	defer c.add(size)()
	return append(dst, make([]byte, size)...)
}

func (c *counting) Compress(_ context.Context, _, dst []byte) ([]byte, bool) { return dst, false }

func (c *counting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write(c.Append(r.Context(), body, nil))
}

// sized returns a request with a body whose answer has the given size.
func sized(body, answer int, fields ...string) string {
	text := make([]byte, body)
	binary.LittleEndian.PutUint32(text, uint32(answer))
	return post(string(text), fields...)
}

// However many requests arrive on both paths, their total memory stays within the limit, and each is answered or told
// that the server is busy.
func TestRequestsStayWithinTheBound(t *testing.T) {
	const limit = 4 << 20
	rpc := &counting{}
	s, address := start(t, Config{RPC: rpc, Fallback: rpc, MaxMemory: limit})
	var clients sync.WaitGroup
	var whole, busy atomic.Int64
	for i := range 12 {
		field := []string{"A: b", odd}[i%2]
		c := dial(t, address)
		clients.Go(func() {
			for j := range 8 {
				body, answer := (i*37+j*101)%700<<10+4, (i*53+j*71)%900<<10+1
				if _, err := io.WriteString(c.Conn, sized(body, answer, field)); err != nil {
					t.Error(err)
					return
				}
				r, err := http.ReadResponse(c.reader, nil)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(r.Body)
				switch {
				case err != nil || r.StatusCode != 200:
					t.Errorf("got %d, error %v", r.StatusCode, err)
					return
				case len(got) == answer:
					whole.Add(1)
				case string(got) == "busy":
					busy.Add(1)
				default:
					t.Errorf("%d bytes of %d", len(got), answer)
				}
			}
			// After another request is answered, the last one holds nothing.
			c.send(sized(4, 1, field))
			c.read()
		})
	}
	clients.Wait()
	if most := rpc.most.Load(); most > limit {
		t.Errorf("%d bytes at a time, bound %d", most, limit)
	}
	if whole.Load() == 0 || whole.Load()+busy.Load() != 12*8 {
		t.Errorf("%d whole, %d busy", whole.Load(), busy.Load())
	}
	if got := s.Stats(); got.Memory != 0 || got.Busy != uint64(busy.Load()) {
		t.Errorf("%+v, of answers %d", got, busy.Load())
	}
}

// A body without memory is refused on both paths, whether sent with a length or in chunks; a small body never is.
func TestBusy(t *testing.T) {
	rpc := &counting{}
	s, address := start(t, Config{RPC: rpc, Fallback: rpc, MaxMemory: 1 << 20})
	chunked := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, text := range []string{
		sized(600<<10, 0)[:200], sized(600<<10, 0, odd)[:200], chunked, sized(100, 0, "Content-Encoding: gzip"),
	} {
		c := dial(t, address)
		c.send(text)
		got := c.read()
		if got.status != 503 || got.header.Get("Retry-After") != memorySeconds || !strings.Contains(got.body, "busy") ||
			!got.close {
			t.Errorf("%.60q: got %+v", text, got)
		}
		c.ended()
	}
	for _, field := range []string{"A: b", odd} {
		c := dial(t, address)
		c.send(sized(FreeBytes, 10, field))
		if got := c.read(); got.status != 200 || len(got.body) != 10 {
			t.Errorf("got %+v", got)
		}
	}
	if got := s.Stats(); got.Busy != 4 {
		t.Errorf("got %+v", got)
	}
}

// The memory of a request is released together with its connection's buffer.
func TestIdleConnectionsHoldLittle(t *testing.T) {
	s := prepare(t, Config{})
	c := s.accept(&scripted{pieces: []string{post(strings.Repeat("x", 3*FreeBytes))}, now: time.Now()})
	c.loop()
	if cap(c.in) > FreeBytes || s.Stats().Memory != 0 {
		t.Errorf("%d bytes, %+v", cap(c.in), s.Stats())
	}
}

// A compressed body is charged by its uncompressed size.
func TestCompressedBatchesCostTheirCalls(t *testing.T) {
	const calls = 600
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	if _, err := io.WriteString(w, "["+strings.Repeat("{},", calls-1)+"{}]"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	decompressing := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		packed, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		plain, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return // charged for the attempt
		}
		body, err := io.ReadAll(plain)
		if err != nil {
			t.Error(err)
		}
		request.Quota(r.Context()).Charge(bytes.Count(body, []byte("{")))
	})
	for _, test := range []struct {
		body string
		cost float64
	}{{zipped.String(), calls}, {"no gzip", encodedCalls}} {
		s := prepare(t, Config{
			RPC:      echo{},
			Fallback: decompressing,
			Rate:     Rate{1, 1000},
			Proxies:  []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		})
		now := time.Now()
		s.now = func() time.Time { return now }
		c := dial(t, serve(t, s))
		c.send(post(test.body, "Content-Encoding: gzip", "X-Forwarded-For: 192.0.2.1"))
		c.read()
		place := netip.MustParseAddr("192.0.2.1")
		if left := s.buckets.shard(place).byPlace[place].Value.(*addressBucket).tokens; left != 1000-test.cost {
			t.Errorf("it cost %v, want %v", 1000-left, test.cost)
		}
	}
}

// A message's ticket takes its calls from the rate of the connection's client, and counts them separately.
func TestTickets(t *testing.T) {
	s := prepare(t, Config{Rate: Rate{1, 4}})
	now := time.Now()
	s.now = func() time.Time { return now }
	of := request.New(t.Context())
	of.Quota = ticketFrom(s, "192.0.2.1")
	for _, test := range []struct {
		calls int
		wait  time.Duration
	}{{1, 0}, {4, 0}, {1, 2 * time.Second}} { // 4 − 1 − 4 = −1
		ticket := NewTicket(of)
		if wait := ticket.Take(); wait != test.wait {
			t.Errorf("%d calls must wait %v, want %v", test.calls, wait, test.wait)
		}
		ticket.Charge(test.calls)
	}
	if s.Stats().RateLimited != 1 {
		t.Errorf("got %+v", s.Stats())
	}
	first, second := NewTicket(of), NewTicket(of) // −2 are left
	if one, other := first.Owe(), second.Owe(); one != 3*time.Second || other != 4*time.Second {
		t.Errorf("two that owe a call wait %v and %v, want 3 and 4 s", one, other)
	}
	if request.Quota(t.Context()) != nil {
		t.Error("what is no request of a server has a bound")
	}
}

// A request that waits for memory has no turn meanwhile: those that hold the memory may need a turn to continue.
func TestWaitingForMemoryTakesNoTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 8 << 20
		s := &Server{memory: newMemory(limit)}
		short := admission.New(1).Short()
		holder := ticketFrom(s, "127.0.0.1")
		if !holder.Reserve(t.Context(), limit/2/collected) {
			t.Fatal("the memory is not free")
		}
		var waiting sync.WaitGroup
		for range 16 {
			waiting.Go(func() {
				ticket := ticketFrom(s, "127.0.0.1")
				ctx := ticket.context(t.Context())
				if err := short.Run(ctx, func() {
					if ticket.Reserve(ctx, FreeBytes+1) {
						ticket.Release()
					} else {
						t.Error("one that waited got no memory")
					}
				}); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		ran := false
		other := ticketFrom(s, "127.0.0.1")
		if err := short.Run(other.context(t.Context()), func() { ran = true }); err != nil || !ran {
			t.Errorf("beside those who wait another one ran: got %t, error %v", ran, err)
		}
		holder.Release()
		waiting.Wait()
	})
}
