package mempool

import (
	"container/list"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// index finds what is pending: by account, by ID, by arrival, what is executable, and what would be evicted.
type index struct {
	senders  map[types.Account]*sender
	idle     idle
	byID     map[types.TxID]*entry
	arrivals *list.List // of *entry, oldest first
	mixed    bool       // some arrivals are after later ones, which occurs only if a log decides them
	sequence uint64     // of the newest entry
	// executable is the run of every judged sender that has one, in no order; see [Pool.Best].
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

// maxIdle is how many accounts without transactions are remembered: 2 MB.
const maxIdle = 1 << 14

// idle are accounts without transactions as they are at the head. Who sends once sends again, and reading an account
// takes as long as all else that is asked of its transaction.
type idle map[types.Account]exec.Sender

// put remembers an account; another one makes way if there are too many.
func (i idle) put(a types.Account, state exec.Sender) {
	for other := range i {
		if len(i) < maxIdle {
			break
		}
		delete(i, other)
	}
	i[a] = state
}

// enter enters a new entry, the newest; its sender's lists are the caller's.
func (x *index) enter(e *entry) {
	x.sequence++
	e.sequence = x.sequence
	e.arrival = x.arrivals.PushBack(e)
	x.byID[e.tx.ID()] = e
}

// leave takes an entry out, except from its sender's lists.
func (x *index) leave(e *entry) {
	x.arrivals.Remove(e.arrival)
	delete(x.byID, e.tx.ID())
}

// publish follows a change of a sender that was judged.
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

// keep has the index know the sender as long as it has transactions.
func (x *index) keep(s *sender) {
	if len(s.run)+len(s.held) == 0 {
		delete(x.senders, s.account)
		x.idle.put(s.account, s.state)
	} else {
		x.senders[s.account] = s
		delete(x.idle, s.account)
	}
}
