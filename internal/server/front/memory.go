package front

import (
	"context"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
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

// tryAcquire takes memory for n bytes, of the place's share too unless that is nil.
func (m *memory) tryAcquire(p *placeMemory, n int64) bool {
	n *= collected
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
	if m.tryAcquire(p, n) {
		return true
	}
	n *= collected
	if n > m.limit || p != nil && n > m.share() {
		return false // it would wait in vain, and keep others waiting
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
	n *= collected
	m.used.Add(-n)
	m.all.Release(n)
	if p != nil {
		p.Release(n)
	}
}
