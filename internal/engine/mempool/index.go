package mempool

import (
	"cmp"
	"container/heap"
	"container/list"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// index finds pending transactions by account, ID or arrival, and the executable and next evicted ones.
type index struct {
	senders  map[types.Account]*sender
	idle     idle
	byID     map[types.TxID]*entry
	arrivals *list.List // *entry, oldest first
	mixed    bool       // some arrivals are older than their predecessors, which a cluster's log can cause
	sequence uint64     // sequence of the newest entry
	// executable holds the run of every validated sender that has one, unordered; see [Pool.Best].
	executable [][]*entry
	order      evictionOrder
	deadlines  deadlines
	// recovering holds the accounts with a recovery that has begun, whose authority changes with time alone.
	recovering map[*sender]struct{}
}

func newIndex() index {
	return index{
		senders:  make(map[types.Account]*sender),
		idle:     make(idle),
		byID:     make(map[types.TxID]*entry),
		arrivals: list.New(),

		recovering: make(map[*sender]struct{}),
	}
}

// maxIdle is the number of accounts without transactions that are cached, in about 2 MB.
const maxIdle = 1 << 14

// idle caches accounts without transactions, with their state at the head. Senders tend to return, and reading an
// account takes as long as all other checks of a transaction.
type idle map[types.Account]state.Account

// put adds an account, and removes others if there are too many.
func (i idle) put(a types.Account, record state.Account) {
	for other := range i {
		if len(i) < maxIdle {
			break
		}
		delete(i, other)
	}
	i[a] = record
}

// enter adds the newest entry. The caller updates its sender's lists.
func (x *index) enter(e *entry) {
	x.sequence++
	e.sequence = x.sequence
	e.arrival = x.arrivals.PushBack(e)
	x.byID[e.tx.ID()] = e
	x.deadlines.add(e)
}

// leave removes an entry. The caller updates its sender's lists.
func (x *index) leave(e *entry) {
	x.arrivals.Remove(e.arrival)
	delete(x.byID, e.tx.ID())
	x.deadlines.remove(e)
}

// publish updates executable after a change of a validated sender.
func (x *index) publish(s *sender) {
	switch {
	case len(s.run) == 0 && s.runIndex >= 0:
		last := len(x.executable) - 1
		x.executable[s.runIndex] = x.executable[last]
		x.executable[s.runIndex][0].sender.runIndex = s.runIndex
		x.executable[last] = nil
		x.executable = x.executable[:last]
		s.runIndex = -1
	case len(s.run) > 0 && s.runIndex < 0:
		s.runIndex = len(x.executable)
		x.executable = append(x.executable, s.run)
	case len(s.run) > 0:
		x.executable[s.runIndex] = s.run
	}
}

// keep adds an account with transactions to the index, or moves one without to idle.
func (x *index) keep(s *sender) {
	if !s.busy() {
		delete(x.senders, s.account)
		delete(x.recovering, s)
		x.idle.put(s.account, s.state)
		return
	}
	x.senders[s.account] = s
	delete(x.idle, s.account)
	if s.state.Pending != nil {
		x.recovering[s] = struct{}{}
	} else {
		delete(x.recovering, s)
	}
}

// deadlines is a heap of the entries with an end, the earliest first.
type deadlines []*entry

// end returns the timestamp of the last block that may include the entry, which must have one.
func (e *entry) end() uint64 { return *e.tx.Signed().ValidUntil }

func (d *deadlines) add(e *entry) {
	e.due = -1
	if e.tx.Signed().ValidUntil != nil {
		heap.Push(d, e)
	}
}

func (d *deadlines) remove(e *entry) {
	if e.due >= 0 {
		heap.Remove(d, e.due)
	}
}

// Len implements heap.Interface.
func (d deadlines) Len() int { return len(d) }

// Less implements heap.Interface.
func (d deadlines) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(d[i].end(), d[j].end()), cmp.Compare(d[i].sequence, d[j].sequence)) < 0
}

// Swap implements heap.Interface.
func (d deadlines) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].due, d[j].due = i, j
}

// Push implements heap.Interface.
func (d *deadlines) Push(x any) {
	e := x.(*entry)
	e.due = len(*d)
	*d = append(*d, e)
}

// Pop implements heap.Interface.
func (d *deadlines) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	e.due = -1
	return e
}
