package front

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-chain/cairn/internal/server/request"
)

const (
	// FreeBytes of a body, and as many of an answer, are not counted: every connection may have them at any time.
	FreeBytes = 32 << 10
	// decompressing is what decompressing a body takes beside what comes out: the window of zstd (RFC 9659).
	decompressing = 8 << 20
	// answerStep is by how many bytes room for a growing answer is taken at least.
	answerStep = 256 << 10
	// placeShare is the part of all memory, one in so many, that one place may hold.
	placeShare = 4
	// memoryWait bounds how long a request waits for memory; memorySeconds is when it should come again after that.
	memoryWait    = 5 * time.Second
	memorySeconds = "5"
)

// memory is what the larger bodies and answers of all requests may take together. Who comes first is served first, even
// if it needs much. A place with a limit of its own waits in its own line for its own share first, so that it does not
// keep others waiting.
type memory struct {
	limit  int64
	all    *semaphore.Weighted
	used   atomic.Int64
	mu     sync.Mutex
	places map[netip.Addr]*placeMemory
}

// placeMemory is one place's share of memory, while someone there has or wants some.
type placeMemory struct {
	*semaphore.Weighted
	tickets int
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, all: semaphore.NewWeighted(limit), places: map[netip.Addr]*placeMemory{}}
}

func (m *memory) share() int64 { return m.limit / placeShare }

// join returns the share of a place; leave gives it back.
func (m *memory) join(place netip.Addr) *placeMemory {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.places[place]
	if p == nil {
		p = &placeMemory{Weighted: semaphore.NewWeighted(m.share())}
		m.places[place] = p
	}
	p.tickets++
	return p
}

func (m *memory) leave(place netip.Addr) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if p := m.places[place]; p.tickets == 1 {
		delete(m.places, place)
	} else {
		p.tickets--
	}
}

// tryAcquire takes n bytes, of the place's share too unless that is nil.
func (m *memory) tryAcquire(p *placeMemory, n int64) bool {
	if p != nil && !p.TryAcquire(n) {
		return false
	}
	if !m.all.TryAcquire(n) {
		if p != nil {
			p.Release(n)
		}
		return false
	}
	m.used.Add(n)
	return true
}

// acquire is tryAcquire that waits.
func (m *memory) acquire(ctx context.Context, p *placeMemory, n int64) bool {
	if n > m.limit || p != nil && n > m.share() {
		return false // it would wait in vain, and keep others waiting
	}
	if m.tryAcquire(p, n) {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, memoryWait)
	defer cancel()
	if p != nil && p.Acquire(ctx, n) != nil {
		return false
	}
	if m.all.Acquire(ctx, n) != nil {
		if p != nil {
			p.Release(n)
		}
		return false
	}
	m.used.Add(n)
	return true
}

func (m *memory) release(p *placeMemory, n int64) {
	m.used.Add(-n)
	m.all.Release(n)
	if p != nil {
		p.Release(n)
	}
}

// Ticket is a request or a message that was let in: what it has cost, and what memory it holds. It is for one
// goroutine.
type Ticket struct {
	server *Server
	who    client
	calls  int          // that were charged
	held   int64        // bytes
	answer int64        // bytes of held that are for the answer
	place  *placeMemory // nil where the place has no limit, or before it is needed
}

// NewTicket returns a ticket for a message on the connection that a request became: of the same client.
func NewTicket(of *request.Request) *Ticket {
	t := of.Quota.(*Ticket) // as every request that a Server hands to its fallback has
	return &Ticket{server: t.server, who: t.who}
}

// Take takes the calls of a message from its client's rate. It takes none and returns how long to wait where there is
// none left.
func (t *Ticket) Take(body []byte) time.Duration {
	wait := t.server.take(t.who, t.server.now())
	if wait > 0 {
		t.server.counts.rateLimited.Add(1)
		return wait
	}
	t.Charge(body)
	return 0
}

// Charge takes from the rate what a body costs by what is in it.
func (t *Ticket) Charge(body []byte) {
	var m meter
	m.add(body)
	t.charge(m.calls())
}

// charge makes what was charged for so many calls in all. The first was taken when the client was let in.
func (t *Ticket) charge(calls int) {
	if t.calls = max(1, t.calls); calls > t.calls {
		t.server.spend(t.who, calls-t.calls)
		t.calls = calls
	}
}

// Reserve takes memory for a body of so many bytes and an answer of as many, and reports whether there was some within
// a bounded time. It is called once, where the body is larger than FreeBytes.
func (t *Ticket) Reserve(ctx context.Context, body int) bool {
	return t.reserve(ctx, int64(body), 0)
}

// reserve is Reserve with extra bytes.
func (t *Ticket) reserve(ctx context.Context, body, extra int64) bool {
	if body <= FreeBytes && extra == 0 {
		return true
	}
	t.joinPlace()
	need := 2*body + extra
	if !t.server.memory.acquire(ctx, t.place, need) {
		t.server.counts.busy.Add(1)
		return false
	}
	t.held, t.answer = need, body
	return true
}

// Shrink gives back what a body takes less than was reserved for it.
func (t *Ticket) Shrink(body int) {
	if surplus := t.held - 2*int64(body); t.held > 0 && surplus > 0 {
		t.server.memory.release(t.place, surplus)
		t.held, t.answer = t.held-surplus, int64(body)
	}
}

func (t *Ticket) joinPlace() {
	if t.place == nil && !t.who.free {
		t.place = t.server.memory.join(t.who.place)
	}
}

// Room makes room for an answer of so many bytes and returns how large it may become. It does not wait: what is made
// already takes memory while it waits.
func (t *Ticket) Room(bytes int) int {
	have := max(FreeBytes, t.answer)
	more := max(int64(bytes)-have, 0)
	if more == 0 {
		return int(have)
	}
	t.joinPlace()
	for _, n := range []int64{max(more, answerStep), more} {
		if t.server.memory.tryAcquire(t.place, n) {
			t.held += n
			t.answer = have + n
			return int(t.answer)
		}
	}
	t.server.counts.busy.Add(1)
	return int(have)
}

// Release gives back what the ticket holds.
func (t *Ticket) Release() {
	if t.held > 0 {
		t.server.memory.release(t.place, t.held)
	}
	if t.place != nil {
		t.server.memory.leave(t.who.place)
	}
	t.held, t.answer, t.place = 0, 0, nil
}
