package mempool

import (
	"cmp"
	"container/heap"

	"github.com/cairn-chain/cairn/types"
)

// evictionOrder orders the senders by what each would lose next: its last held transaction, or else the last of its
// run. Held ones come before executable ones, then the lower tip, then the later arrival. Only last ones are evicted,
// so that no gap is made; a run counts as its lowest tip, because a builder gets no further.
//
// A tip is min(max_priority_fee, max_fee − base_fee), so the lowest tip of all is the lowest priority fee or belongs to
// the lowest max fee. A heap by each of them finds it at any base fee: a block changes nothing in the order.
type evictionOrder [2]evictionHeap

// The heaps of the order.
const (
	byPriority = iota
	byMaxFee
)

// The ranks of what a sender would lose, in the order of evictions.
const (
	rankHeld = iota
	rankExecutable
	rankNothing // all of it is planned to go already, or it is protected
)

// evictionHeap is a heap of senders, with what they are compared by.
type evictionHeap struct {
	which int // of the heaps
	slots []evictionSlot
}

type evictionSlot struct {
	rank     int
	fee      types.Amount
	sequence uint64
	sender   *sender
}

// everything is a number of planned evictions that leaves a sender nothing to lose.
const everything = 1 << 30

// victim is what s would lose next, nil if nothing.
func (s *sender) victim() *entry {
	i := len(s.run) + len(s.held) - 1 - s.planned
	switch {
	case i < 0:
		return nil
	case i < len(s.run):
		return s.run[i]
	default:
		return s.held[i-len(s.run)]
	}
}

// first is the sender that loses something first at a base fee, and what; nil when there is nothing to evict.
func (o *evictionOrder) first(baseFee types.Amount) (*sender, *entry) {
	if len(o[byPriority].slots) == 0 || o[byPriority].slots[0].rank == rankNothing {
		return nil, nil
	}
	first, other := o[byPriority].slots[0].sender, o[byMaxFee].slots[0].sender
	a, b := first.victim(), other.victim() // of the same rank
	if c := cmp.Compare(a.floor.tip(baseFee), b.floor.tip(baseFee)); c > 0 || c == 0 && a.sequence < b.sequence {
		return other, b
	}
	return first, a
}

// plan goes one transaction further at a sender.
func (o *evictionOrder) plan(s *sender) {
	s.planned++
	o.update(s)
}

// protect leaves a sender out of planning; it may be one that the pool does not know yet.
func (o *evictionOrder) protect(s *sender) {
	s.planned = everything
	o.update(s)
}

// release ends planning.
func (o *evictionOrder) release(senders []*sender) {
	for _, s := range senders {
		s.planned = 0
		o.update(s)
	}
}

// update follows a change of a sender: one without transactions is not in the order.
func (o *evictionOrder) update(s *sender) {
	for which := range o {
		h := &o[which]
		h.which = which
		at := s.orderIndex[which]
		switch empty := len(s.run)+len(s.held) == 0; {
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
	e := s.victim()
	if e == nil {
		return evictionSlot{rank: rankNothing, sender: s}
	}
	slot := evictionSlot{rank: rankExecutable, fee: e.floor.maxPriority, sequence: e.sequence, sender: s}
	if e.held {
		slot.rank = rankHeld
	}
	if h.which == byMaxFee {
		slot.fee = e.floor.maxFee
	}
	return slot
}

// Len implements heap.Interface.
func (h *evictionHeap) Len() int { return len(h.slots) }

// Less implements heap.Interface.
func (h *evictionHeap) Less(i, j int) bool {
	a, b := &h.slots[i], &h.slots[j]
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	if a.fee != b.fee {
		return a.fee < b.fee
	}
	return a.sequence > b.sequence
}

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
