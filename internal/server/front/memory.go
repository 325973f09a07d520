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
	// FreeBytes of a body, and as many of an answer, are not counted: every connection may have them at any time.
	FreeBytes = 8 << 10
	// collected is how many bytes the process takes for each that is held: the garbage collector lets the heap grow to
	// twice what is in use (GOGC).
	collected = 2
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

// memory is what the larger bodies and answers of all requests may take together. Who would hold least is served first,
// and what a place holds only because its client is slow makes way for whoever would hold less: half a body, and an
// answer that nobody reads, must keep nobody out. A place with a limit of its own waits in its own line for its own
// share first, so that it does not keep others waiting.
type memory struct {
	limit  int64
	used   atomic.Int64 // changes under mu
	mu     sync.Mutex
	places map[netip.Addr]*placeMemory
	asking asking
	slow   slow
}

// placeMemory is one place's share of memory, while someone there has or wants some.
type placeMemory struct {
	*semaphore.Weighted
	tickets int
	held    int64        // bytes
	waits   int64        // bytes of held, whose tickets wait for their clients
	waiting link[Ticket] // a list of these, the longest waiting first
	index   int          // in slow, where it waits
}

func newMemory(limit int64) *memory {
	return &memory{limit: limit, places: map[netip.Addr]*placeMemory{}}
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

// tryAcquire takes memory for n bytes, of the place's share too unless that is nil.
func (m *memory) tryAcquire(p *placeMemory, n int64) bool {
	n *= collected
	if p != nil && !p.TryAcquire(n) {
		return false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.take(&ask{place: p, bytes: n, total: n + p.holds()}) {
		return true
	}
	if p != nil {
		p.Release(n)
	}
	return false
}

// acquire is tryAcquire that waits, up to memoryWait. A turn that ctx has ends meanwhile: others hold the memory, and need
// turns to give it back.
func (m *memory) acquire(ctx context.Context, p *placeMemory, n int64) bool {
	if m.tryAcquire(p, n) {
		return true
	}
	n *= collected
	if n > m.limit || p != nil && n > m.share() {
		return false // it would wait in vain, and keep others waiting
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

// wait takes n bytes of all memory when it is its turn.
func (m *memory) wait(ctx context.Context, p *placeMemory, n int64) bool {
	m.mu.Lock()
	a := &ask{place: p, bytes: n, total: n + p.holds(), granted: make(chan struct{})}
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
		return true // meanwhile
	}
	heap.Remove(&m.asking, a.index)
	m.serve()
	return false
}

// take takes what is asked for, unless someone waits who would hold no more. The lock is held.
func (m *memory) take(a *ask) bool {
	return (len(m.asking.list) == 0 || a.total < m.asking.list[0].total) && m.fit(a)
}

// fit takes what is asked for if there is so much, or the slow make way. The lock is held.
func (m *memory) fit(a *ask) bool {
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

// serve gives those who wait what there is. The lock is held.
func (m *memory) serve() {
	for len(m.asking.list) > 0 && m.fit(m.asking.list[0]) {
		close(heap.Pop(&m.asking).(*ask).granted)
	}
}

func (m *memory) release(p *placeMemory, n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free(p, n*collected)
	m.serve()
}

// free gives back bytes of a place. The lock is held.
func (m *memory) free(p *placeMemory, bytes int64) {
	m.used.Add(-bytes)
	if p != nil {
		p.held -= bytes
		p.Release(bytes)
	}
}

// await notes that a ticket waits for its client from now on: until resume others may take what it holds.
func (m *memory) await(t *Ticket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t.slow.owner = t
	t.place.waiting.add(&t.slow)
	m.recount(t.place, t.held*collected)
	m.serve()
}

// resume ends that, and reports whether the ticket still holds what it held.
func (m *memory) resume(t *Ticket) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.displaced {
		return false
	}
	t.slow.untie()
	m.recount(t.place, -t.held*collected)
	return true
}

// displace takes from a ticket what it holds, and ends its connection. The lock is held.
func (m *memory) displace(t *Ticket) {
	t.slow.untie()
	m.recount(t.place, -t.held*collected)
	m.free(t.place, t.held*collected)
	t.displaced = true
	t.server.counts.displaced.Add(1)
	if t.conn != nil {
		_ = t.conn.raw.Close() // who reads or writes there notices
	}
}

// recount follows a place whose tickets wait with so much more, or less. The lock is held.
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

// holds is how many bytes a place holds; one without a limit has no count.
func (p *placeMemory) holds() int64 {
	if p == nil {
		return 0
	}
	return p.held
}

// ask is what someone wants.
type ask struct {
	place   *placeMemory
	bytes   int64
	total   int64 // that the place would hold
	number  int
	granted chan struct{}
	index   int // in asking; -1 when it is granted
}

// asking is a heap of those who wait: first who would hold least, of these who came first.
type asking struct {
	list []*ask
	last int // number
}

func (q *asking) Len() int { return len(q.list) }

func (q *asking) Less(i, j int) bool {
	a, b := q.list[i], q.list[j]
	return a.total < b.total || a.total == b.total && a.number < b.number
}

func (q *asking) Swap(i, j int) {
	q.list[i], q.list[j] = q.list[j], q.list[i]
	q.list[i].index, q.list[j].index = i, j
}

// Push implements heap.Interface.
func (q *asking) Push(x any) {
	a := x.(*ask)
	q.last++
	a.number, a.index = q.last, len(q.list)
	q.list = append(q.list, a)
}

// Pop implements heap.Interface.
func (q *asking) Pop() any {
	last := len(q.list) - 1
	a := q.list[last]
	q.list[last], q.list = nil, q.list[:last]
	a.index = -1
	return a
}

// slow is a heap of the places whose tickets wait for their clients: first the one with most.
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
