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
	// transferTime is about what a new leader needs until it may make a block: what fits between two blocks delays none.
	transferTime = 150 * time.Millisecond
	// patience is how long it is waited for the time between two blocks.
	patience = time.Second
)

// Why leadership is not handed on.
var (
	// ErrUnfit says that the member cannot make blocks.
	ErrUnfit = errors.New("the member cannot make blocks")
	// ErrNoSuccessor says that no other member can make blocks.
	ErrNoSuccessor = errors.New("no other voter that answers can make blocks: cairn cluster status says why")
)

// passing is leadership that is to be handed on between two blocks.
type passing struct {
	term  uint64
	to    uint64
	after types.Height // the head when it was asked for
	until time.Time
	tell  func(error)
}

// Transfer is the event of an operator's wish that another member leads; 0 for the one that has most of the log. It is
// handed on between two blocks, so that none is late for it. tell is told once.
func Transfer(to uint64, tell func(error)) Event {
	return func(m *Member) error {
		if !m.leads() {
			tell(ErrNotLeader)
			return nil
		}
		if to == 0 {
			if to = m.successor(); to == 0 {
				tell(ErrNoSuccessor)
				return nil
			}
		}
		if reason := m.world.Unfit()[to]; reason != "" {
			tell(fmt.Errorf("%w: %s", ErrUnfit, reason))
			return nil
		}
		if i := slices.Index(m.members.conf.GetVoters(), to); i < 0 {
			tell(fmt.Errorf("%w: no voter %x", ErrUnknownMember, to))
			return nil
		}
		if m.leading.passing != nil {
			tell(ErrChanging)
			return nil
		}
		m.leading.passing = &passing{m.standing.term, to, m.decisions.machine.Head().Height, m.world.Now().Add(patience), tell}
		return nil
	}
}

// passOn hands leadership on if that is wished and a block has just been released, or the next is not due soon.
func (m *Member) passOn() {
	p, now := m.leading.passing, m.world.Now()
	if p == nil || p.term != m.standing.term || now.Before(p.until) && !m.between(p.after) {
		return
	}
	m.leading.passing = nil
	if to, there := m.record(p.to); there {
		m.Logger.Info(fmt.Sprintf("leadership goes to %s: it was asked for", to.Name))
	}
	m.raw.TransferLeader(p.to)
	p.tell(nil)
}

// between tells whether it is the time between two blocks, with enough left of it unless one was released after a
// height.
func (m *Member) between(after types.Height) bool {
	if m.holding() != "" {
		return true
	}
	left := m.leading.last.Add(m.BlockTime).Sub(m.world.Now())
	return !m.makes() && (m.decisions.machine.Head().Height > after || left >= min(m.BlockTime/2, transferTime))
}

// keepOn ends a wish that another leader is not to have heard of.
func (m *Member) keepOn() {
	if p := m.leading.passing; p != nil && (p.term != m.standing.term || !m.leads()) {
		m.leading.passing = nil
		p.tell(ErrNotLeader)
	}
}

// recall has what another leader has not answered wait for the one that leads now, if there is one: the other may have
// stopped.
func (s *sends) recall(leader uint64) {
	if leader == raft.None {
		return
	}
	for _, send := range s.all {
		if send.reply != nil && send.asked != 0 && send.asked != leader {
			send.asked = 0
			s.again(send)
		}
	}
}
