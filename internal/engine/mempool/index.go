package mempool

import (
	"container/list"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
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
	// executable holds the run of every judged sender that has one, unordered; see [Pool.Best].
	executable [][]*entry
	order      evictionOrder
}

func newIndex() index {
	return index{
		senders:  make(map[types.Account]*sender),
		idle:     make(idle),
		byID:     make(map[types.TxID]*entry),
		arrivals: list.New(),
	}
}

// maxIdle is the number of accounts without transactions that are cached, in about 2 MB.
const maxIdle = 1 << 14

// idle caches accounts without transactions, with their state at the head. Senders tend to return, and reading an
// account takes as long as all other checks of a transaction.
type idle map[types.Account]exec.Sender

// put adds an account, and removes others if there are too many.
func (i idle) put(a types.Account, state exec.Sender) {
	for other := range i {
		if len(i) < maxIdle {
			break
		}
		delete(i, other)
	}
	i[a] = state
}

// enter adds the newest entry. The caller updates its sender's lists.
func (x *index) enter(e *entry) {
	x.sequence++
	e.sequence = x.sequence
	e.arrival = x.arrivals.PushBack(e)
	x.byID[e.tx.ID()] = e
}

// leave removes an entry. The caller updates its sender's lists.
func (x *index) leave(e *entry) {
	x.arrivals.Remove(e.arrival)
	delete(x.byID, e.tx.ID())
}

// publish updates executable after a change of a judged sender.
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

// keep adds a sender with transactions to the index, or moves one without to idle.
func (x *index) keep(s *sender) {
	if len(s.run)+len(s.held) == 0 {
		delete(x.senders, s.account)
		x.idle.put(s.account, s.state)
	} else {
		x.senders[s.account] = s
		delete(x.idle, s.account)
	}
}
