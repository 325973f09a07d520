package mempool

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// evictionOrder finds the sender that would lose a transaction next. Only a sender's last held transaction or the last
// of its run is evicted, so that no gap is made. There is a heap of senders for each criterion:
//
//   - most held transactions;
//   - gap open for longest;
//   - longest run;
//   - run with the lowest tip. A run counts as its lowest tip, because a builder gets no further. A tip is
//     min(max_priority_fee, max_fee − base_fee), so the lowest of all has the lowest priority fee or the lowest
//     max fee. Two heaps, by each of these, find it at any base fee: a block does not change their order.
//
// Ties are broken by arrival, latest first.
//
// Most transactions come and leave while there is room, so a change of a sender is only noted, and the heaps learn of it
// before the next search.
type evictionOrder struct {
	heaps [heaps]evictionHeap
	noted []*sender // changed since the last refresh
	limit int       // length of noted at which senders without transactions leave it
}

// leastNoted is the least limit.
const leastNoted = 1 << 10

// The heaps of an evictionOrder.
const (
	byHeld = iota
	byGap
	byLength
	byPriority
	byMaxFee
	heaps
)

// The parts of a sender's transactions. An eviction removes the last one of a part.
const (
	partHeld = iota
	partRun
	parts
)

// partOf is the part of a sender that each heap orders.
var partOf = [heaps]int{byHeld: partHeld, byGap: partHeld, byLength: partRun, byPriority: partRun, byMaxFee: partRun}

// evictionHeap is a heap of senders with their sort keys.
type evictionHeap struct {
	which int // index of the heap in evictionOrder
	slots []evictionSlot
}

type evictionSlot struct {
	key      int64 // lowest first
	since    int64 // lowest first among equal keys
	sequence uint64
	sender   *sender
}

func (a *evictionSlot) before(b *evictionSlot) bool {
	return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.since, b.since), cmp.Compare(b.sequence, a.sequence)) < 0
}

// everything is a number of planned evictions that covers all of a sender's transactions.
const everything = 1 << 30

// left returns a part of s without its planned evictions.
func (s *sender) left(part int) []*entry {
	all := s.run
	if part == partHeld {
		all = s.held
	}
	return all[:max(0, len(all)-s.planned[part])]
}

// victim returns the next eviction from a nonempty part of s.
func (s *sender) victim(part int) *entry {
	left := s.left(part)
	return left[len(left)-1]
}

// gapSince returns the arrival of the oldest held transaction in nanoseconds, or MaxInt64 if there is none.
func (s *sender) gapSince() int64 {
	since := int64(math.MaxInt64)
	for _, e := range s.left(partHeld) {
		since = min(since, e.added.UnixNano())
	}
	return since
}

// top returns the first sender of a heap, or nil.
func (o *evictionOrder) top(which int) *sender {
	if len(o.heaps[which].slots) == 0 {
		return nil
	}
	return o.heaps[which].slots[0].sender
}

// lowestTip returns the sender of the run with the lowest tip at a base fee, or nil.
func (o *evictionOrder) lowestTip(baseFee types.Amount) *sender {
	s, other := o.top(byPriority), o.top(byMaxFee)
	if s == other {
		return s
	}
	a, b := s.victim(partRun), other.victim(partRun)
	if c := cmp.Compare(a.floor.tip(baseFee), b.floor.tip(baseFee)); c > 0 || c == 0 && a.sequence < b.sequence {
		return other
	}
	return s
}

// maxLooks bounds the longest runs that longestUnder examines. If all of them pay the base fee, the run with the lowest
// tip is evicted from instead.
const maxLooks = 64

// longestUnder returns the sender of the longest run whose last transaction is under a base fee. It returns nil if none
// of the maxLooks longest runs is.
func (o *evictionOrder) longestUnder(baseFee types.Amount) *sender {
	h := &o.heaps[byLength]
	next := frontier{heap: h}
	if len(h.slots) > 0 {
		heap.Push(&next, 0)
	}
	for looks := 0; looks < maxLooks && next.Len() > 0; looks++ {
		at := heap.Pop(&next).(int)
		if s := h.slots[at].sender; s.victim(partRun).floor.tip(baseFee) < 0 {
			return s
		}
		for child := 2*at + 1; child <= 2*at+2 && child < len(h.slots); child++ {
			heap.Push(&next, child)
		}
	}
	return nil
}

// plan plans the eviction of the last transaction in a part of a sender.
func (o *evictionOrder) plan(s *sender, part int) {
	s.planned[part]++
	o.update(s)
}

// protect excludes a sender from planning. The pool need not know the sender yet.
func (o *evictionOrder) protect(s *sender) {
	s.planned = [parts]int{everything, everything}
	o.update(s)
}

// release cancels all planned evictions.
func (o *evictionOrder) release(senders []*sender) {
	for _, s := range senders {
		s.planned = [parts]int{}
		o.update(s)
	}
}

// changed notes a change of a sender. It keeps noted within twice the number of senders with transactions.
func (o *evictionOrder) changed(s *sender) {
	if s.noted {
		return
	}
	s.noted = true
	if o.noted = append(o.noted, s); len(o.noted) < o.limit {
		return
	}
	o.noted = slices.DeleteFunc(o.noted, func(s *sender) bool {
		if s.noted = len(s.run)+len(s.held) > 0; !s.noted {
			o.update(s)
		}
		return !s.noted
	})
	o.limit = max(leastNoted, 2*len(o.noted))
}

// refresh updates the heaps for the changed senders. It must be called before a search.
func (o *evictionOrder) refresh() {
	for _, s := range o.noted {
		s.noted = false
		o.update(s)
	}
	clear(o.noted)
	o.noted = o.noted[:0]
}

// update updates the heaps after a change of a sender, which is in the heaps of its nonempty parts.
func (o *evictionOrder) update(s *sender) {
	for which := range o.heaps {
		h := &o.heaps[which]
		h.which = which
		at := s.orderIndex[which]
		switch empty := len(s.left(partOf[which])) == 0; {
		case empty && at >= 0:
			heap.Remove(h, at)
		case empty:
		case at < 0:
			heap.Push(h, h.slotOf(s))
		default:
			if slot := h.slotOf(s); slot != h.slots[at] {
				h.slots[at] = slot
				heap.Fix(h, at)
			}
		}
	}
}

func (h *evictionHeap) slotOf(s *sender) evictionSlot {
	e := s.victim(partOf[h.which])
	slot := evictionSlot{sequence: e.sequence, sender: s}
	switch h.which {
	case byHeld:
		slot.key, slot.since = -int64(len(s.left(partHeld))), s.gapSince()
	case byGap:
		slot.key = s.gapSince()
	case byLength:
		slot.key = -int64(len(s.left(partRun)))
	case byPriority:
		slot.key = int64(e.floor.maxPriority) // it fits: see [feeCaps.tip]
	case byMaxFee:
		slot.key = int64(e.floor.maxFee)
	}
	return slot
}

// Len implements heap.Interface.
func (h *evictionHeap) Len() int { return len(h.slots) }

// Less implements heap.Interface.
func (h *evictionHeap) Less(i, j int) bool { return h.slots[i].before(&h.slots[j]) }

// Swap implements heap.Interface.
func (h *evictionHeap) Swap(i, j int) {
	h.slots[i], h.slots[j] = h.slots[j], h.slots[i]
	h.slots[i].sender.orderIndex[h.which], h.slots[j].sender.orderIndex[h.which] = i, j
}

// Push implements heap.Interface.
func (h *evictionHeap) Push(x any) {
	slot := x.(evictionSlot)
	slot.sender.orderIndex[h.which] = len(h.slots)
	h.slots = append(h.slots, slot)
}

// Pop implements heap.Interface.
func (h *evictionHeap) Pop() any {
	last := len(h.slots) - 1
	slot := h.slots[last]
	h.slots[last] = evictionSlot{}
	h.slots = h.slots[:last]
	slot.sender.orderIndex[h.which] = -1
	return slot
}

// frontier is a heap of indexes into an evictionHeap whose parents were examined: the candidates for the next in order.
type frontier struct {
	heap   *evictionHeap
	places []int
}

// Len implements heap.Interface.
func (f *frontier) Len() int { return len(f.places) }

// Less implements heap.Interface.
func (f *frontier) Less(i, j int) bool { return f.heap.Less(f.places[i], f.places[j]) }

// Swap implements heap.Interface.
func (f *frontier) Swap(i, j int) { f.places[i], f.places[j] = f.places[j], f.places[i] }

// Push implements heap.Interface.
func (f *frontier) Push(x any) { f.places = append(f.places, x.(int)) }

// Pop implements heap.Interface.
func (f *frontier) Pop() any {
	last := len(f.places) - 1
	place := f.places[last]
	f.places = f.places[:last]
	return place
}
