package cluster

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"

	"github.com/cairn-chain/cairn/types"
)

const (
	// transferTime is roughly the time that a new leader needs before it can make a block. A transfer that fits between
	// two blocks delays neither.
	transferTime = 150 * time.Millisecond
	// patience is the longest wait for a moment between two blocks.
	patience = time.Second
)

// Errors of a leadership transfer.
var (
	// ErrUnfit is returned if the member cannot make blocks.
	ErrUnfit = errors.New("the member cannot make blocks")
	// ErrNoSuccessor is returned if no other member can make blocks.
	ErrNoSuccessor = errors.New("no other reachable voter can make blocks: see cairn cluster status")
)

// passing is a requested leadership transfer, which waits for a moment between two blocks.
type passing struct {
	term  uint64
	to    uint64
	after types.Height // the head at the time of the request
	until time.Time
	reply func(error)
}

// Transfer returns an event that hands leadership to a member, or to the one that has most of the log if to is 0. The
// transfer takes place between two blocks, so that it delays none. The event calls reply once.
func Transfer(to uint64, reply func(error)) Event {
	return func(m *Member) error {
		if !m.leads() {
			reply(ErrNotLeader)
			return nil
		}
		if to == 0 {
			if to = m.successor(); to == 0 {
				reply(ErrNoSuccessor)
				return nil
			}
		}
		if reason := m.env.Unfit()[to]; reason != "" {
			reply(fmt.Errorf("%w: %s", ErrUnfit, reason))
			return nil
		}
		if i := slices.Index(m.members.conf.GetVoters(), to); i < 0 {
			reply(fmt.Errorf("%w: no voter %x", ErrUnknownMember, to))
			return nil
		}
		if m.leading.passing != nil {
			reply(ErrChanging)
			return nil
		}
		m.leading.passing = &passing{m.leadership.term, to, m.machine.Head().Height, m.env.Now().Add(patience), reply}
		return nil
	}
}

// carryOutTransfer carries out a requested transfer if a block has just been released, the next one is not due soon, or
// patience has run out.
func (m *Member) carryOutTransfer() {
	p, now := m.leading.passing, m.env.Now()
	if p == nil || p.term != m.leadership.term || now.Before(p.until) && !m.betweenBlocks(p.after) {
		return
	}
	m.leading.passing = nil
	if to, there := m.record(p.to); there {
		m.Logger.Info(fmt.Sprintf("transferring leadership to %s: requested by the operator", to.Name))
	}
	m.raw.TransferLeader(p.to)
	p.reply(nil)
}

// betweenBlocks reports whether no block is in progress, and either the head is above after or enough time is left
// until the next block. It also reports true if this member would make no block.
func (m *Member) betweenBlocks(after types.Height) bool {
	if m.cannotLead() != "" {
		return true
	}
	left := m.leading.last.Add(m.BlockTime).Sub(m.env.Now())
	return !m.makingBlock() && (m.machine.Head().Height > after || left >= min(m.BlockTime/2, transferTime))
}

// endTransfer ends a requested transfer after this member has lost leadership.
func (m *Member) endTransfer() {
	if p := m.leading.passing; p != nil && (p.term != m.leadership.term || !m.leads()) {
		m.leading.passing = nil
		p.reply(ErrNotLeader)
	}
}

// recallForwarded queues the sends that a former leader has not answered, for another try with the current leader, if
// there is one. The former leader may have stopped.
func (s *sends) recallForwarded(leader uint64) {
	if leader == raft.None {
		return
	}
	for _, send := range s.all {
		if send.reply != nil && send.asked != 0 && send.asked != leader {
			send.asked = 0
			s.requeue(send)
		}
	}
}
