package front

import (
	"container/heap"
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairn-chain/cairn/internal/server/admission"
)

const (
	// FreeBytes of a body and of an answer are not counted: every connection may use them at any time.
	FreeBytes = 8 << 10
	// collected is the number of bytes that the process takes at most for each byte held: the heap grows by no more than
	// is in use, or by 64 MiB, before the collector runs (machine.BoundHeapGrowth).
	collected = 2
	// decompressing is the memory for decompressing a body, beyond its output: the window of zstd (RFC 9659).
	decompressing = 8 << 20
	// answerStep is the least increment of memory for a growing answer.
	answerStep = 256 << 10
	// placeShare bounds the memory of one place to 1/placeShare of the total.
	placeShare = 4
	// memoryWait bounds the wait for memory; memorySeconds is the Retry-After of a request that got none.
	memoryWait    = 5 * time.Second
	memorySeconds = "5"
)

// memory is the shared budget of the larger bodies and answers. Requests whose place would hold least are served first.
// Memory that a place holds only because its client is slow is reclaimed for a place that would hold less, so an
// unfinished body or an unread answer keeps nobody out. A place with a limit of its own first waits for its own share,
// so that it does not block others.
type memory struct {
	limit  int64
	used   atomic.Int64 // written under mu
	mu     sync.Mutex
	places map[netip.Addr]*placeMemory
	asking memoryQueue
	slow   slow
}

// placeMemory is one place's share of memory. It exists while a ticket of the place uses it.
type placeMemory struct {
	*semaphore.Weighted
	tickets int
	held    int64        // bytes
	waits   int64        // bytes of held whose tickets wait for their clients
	waiting link[Ticket] // list of these tickets, the longest waiting first
	index   int          // in slow, if waits is positive
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, places: map[netip.Addr]*placeMemory{}}
}

func (m *memory) share() int64 { return m.limit / placeShare }

// join returns the share of a place; the caller must call leave when done.
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

// tryAcquire takes memory for n bytes, and the same from the place's share unless p is nil. It does not wait.
func (m *memory) tryAcquire(p *placeMemory, n int64) bool {
	n *= collected
	if p != nil && !p.TryAcquire(n) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.take(&memoryRequest{place: p, bytes: n, total: n + p.holds()}) {
		return true
	}
	if p != nil {
		p.Release(n)
	}
	return false
}

// acquire is like tryAcquire but waits for up to memoryWait. It gives up the turn that ctx carries meanwhile: the
// requests that hold the memory need turns to release it.
func (m *memory) acquire(ctx context.Context, p *placeMemory, n int64) bool {
	if m.tryAcquire(p, n) {
		return true
	}
	n *= collected
	if n > m.limit || p != nil && n > m.share() {
		return false // the wait would be in vain, and block others
	}
	acquired := false
	err := admission.Wait(ctx, func() error {
		ctx, cancel := context.WithTimeout(ctx, memoryWait)
		defer cancel()
		if p != nil && p.Acquire(ctx, n) != nil {
			return nil
		}
		if acquired = m.wait(ctx, p, n); !acquired && p != nil {
			p.Release(n)
		}
		return nil
	})
	if acquired && err != nil {
		m.release(p, n/collected)
		return false
	}
	return acquired
}

// wait takes n bytes when their turn comes, and reports whether it did before ctx ended.
func (m *memory) wait(ctx context.Context, p *placeMemory, n int64) bool {
	m.mu.Lock()
	a := &memoryRequest{place: p, bytes: n, total: n + p.holds(), granted: make(chan struct{})}
	if m.take(a) {
		m.mu.Unlock()
		return true
	}
	heap.Push(&m.asking, a)
	m.mu.Unlock()
	select {
	case <-a.granted:
		return true
	case <-ctx.Done():
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if a.index < 0 {
		return true // granted meanwhile
	}
	heap.Remove(&m.asking, a.index)
	m.serve()
	return false
}

// take takes memory for a, unless an ask with a smaller or equal total waits. The caller must hold the lock.
func (m *memory) take(a *memoryRequest) bool {
	return (len(m.asking.list) == 0 || a.total < m.asking.list[0].total) && m.fit(a)
}

// fit takes memory for a if it is free or can be freed by displacing slow tickets. The caller must hold the lock.
func (m *memory) fit(a *memoryRequest) bool {
	for m.used.Load()+a.bytes > m.limit {
		if len(m.slow) == 0 || m.slow[0].waits <= a.total {
			return false
		}
		m.displace(m.slow[0].waiting.first())
	}
	m.used.Add(a.bytes)
	if a.place != nil {
		a.place.held += a.bytes
	}
	return true
}

// serve grants waiting asks in order while they fit. The caller must hold the lock.
func (m *memory) serve() {
	for len(m.asking.list) > 0 && m.fit(m.asking.list[0]) {
		close(heap.Pop(&m.asking).(*memoryRequest).granted)
	}
}

func (m *memory) release(p *placeMemory, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free(p, n*collected)
	m.serve()
}

// free returns bytes of a place to the budget. The caller must hold the lock.
func (m *memory) free(p *placeMemory, bytes int64) {
	m.used.Add(-bytes)
	if p != nil {
		p.held -= bytes
		p.Release(bytes)
	}
}

// await marks a ticket as waiting for its client: until resume, others may take its memory.
func (m *memory) await(t *Ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t.slow.owner = t
	t.place.waiting.add(&t.slow)
	m.recount(t.place, t.held*collected)
	m.serve()
}

// resume ends the wait that await began, and reports whether the ticket still holds its memory.
func (m *memory) resume(t *Ticket) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.displaced {
		return false
	}
	t.slow.unlink()
	m.recount(t.place, -t.held*collected)
	return true
}

// displace takes a ticket's memory and ends its connection. The caller must hold the lock.
func (m *memory) displace(t *Ticket) {
	t.slow.unlink()
	m.recount(t.place, -t.held*collected)
	m.free(t.place, t.held*collected)
	t.displaced = true
	t.server.counts.displaced.Add(1)
	if t.conn != nil {
		_ = t.conn.raw.Close() // its reader or writer notices
	}
}

// recount adds by to the bytes of a place whose tickets wait. The caller must hold the lock.
func (m *memory) recount(p *placeMemory, by int64) {
	before := p.waits
	p.waits += by
	switch {
	case before == 0:
		heap.Push(&m.slow, p)
	case p.waits == 0:
		heap.Remove(&m.slow, p.index)
	default:
		heap.Fix(&m.slow, p.index)
	}
}

// holds returns the bytes that a place holds; 0 for a place without a limit, which is not counted.
func (p *placeMemory) holds() int64 {
	if p == nil {
		return 0
	}
	return p.held
}

// memoryRequest is a request for memory.
type memoryRequest struct {
	place   *placeMemory
	bytes   int64
	total   int64 // bytes that the place would hold
	number  int
	granted chan struct{}
	index   int // in memoryQueue; -1 once granted
}

// memoryQueue is a heap of waiting requests, the smallest total first and, among equals, the earliest.
type memoryQueue struct {
	list []*memoryRequest
	last int // last number given
}

func (q *memoryQueue) Len() int { return len(q.list) }

func (q *memoryQueue) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	return a.total < b.total || a.total == b.total && a.number < b.number
}

func (q *memoryQueue) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.list[i].index, q.list[j].index = i, j
}

// Push implements heap.Interface.
func (q *memoryQueue) Push(x any) {
	a := x.(*memoryRequest)
	q.last++
	a.number, a.index = q.last, len(q.list)
	q.list = append(q.list, a)
}

// Pop implements heap.Interface.
func (q *memoryQueue) Pop() any {
	last := len(q.list) - 1
	a := q.list[last]
	q.list[last], q.list = nil, q.list[:last]
	a.index = -1
	return a
}

// slow is a heap of the places whose tickets wait for their clients, the one with most waiting bytes first.
type slow []*placeMemory

func (s slow) Len() int           { return len(s) }
func (s slow) Less(i, j int) bool { return s[i].waits > s[j].waits }

func (s slow) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *slow) Push(x any) {
	p := x.(*placeMemory)
	p.index = len(*s)
	*s = append(*s, p)
}

// Pop implements heap.Interface.
func (s *slow) Pop() any {
	last := len(*s) - 1
	p := (*s)[last]
	(*s)[last], *s = nil, (*s)[:last]
	return p
}
