package cluster

import (
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/protocol/params"
)

const (
	// standTime is how long a member that cannot make blocks lets others stand for election, before it does: a member
	// that lags behind it cannot be elected.
	standTime = 2 * electionTicks * TickTime
	// failTime is how long a member that does not lead counts as unable to sign, after it could not.
	failTime = 10 * time.Second
)

// fitness is what was found out at the last tick about whether this member can do a leader's work.
type fitness struct {
	unable string        // what the machine lacks
	offset time.Duration // how far the middle of all clocks is ahead of this one's
}

// examine looks at this machine and its clock, and forgets a signature that was not made long ago.
func (m *Member) examine() {
	m.fitness = fitness{offset: middle(m.world.Offsets())}
	if m.Unable != nil {
		m.fitness.unable = m.Unable()
	}
	if f := &m.leading.failed; f.err != nil && (m.Ledger.Tip().Header.Header.Height >= f.height ||
		!m.leads() && m.world.Now().Sub(f.at) >= failTime) {
		f.err = nil
	}
}

// unfit is why another member should lead instead of this one; empty if this one can do a leader's work. It is the one
// rule by which a member stands for election, takes leadership, hands it on, and is chosen by others.
func (m *Member) unfit() string {
	if reason := m.holding(); reason != "" {
		return reason
	}
	switch o := m.fitness.offset.Round(time.Second); {
	case m.fitness.offset > maxOffset:
		return fmt.Sprintf("this member's clock is %.0f s behind the others", o.Seconds())
	case m.fitness.offset < -maxOffset:
		return fmt.Sprintf("this member's clock is %.0f s ahead of the others", -o.Seconds())
	}
	return ""
}

// holding is why this member would make no block though it led; empty if it would.
func (m *Member) holding() string {
	switch f := m.leading.failed; {
	case len(m.Producers) == 0:
		return "this member has no key"
	case m.barred() != "":
		return m.barred()
	case f.err != nil:
		return fmt.Sprintf("block %d is not signed: %v", f.height, f.err)
	}
	return m.fitness.unable
}

// barred is why no member with this one's keys would make a block; empty if it would.
func (m *Member) barred() string {
	switch p := m.Ledger.Tip().Parameters; {
	case !params.Known(p.Version):
		return emergency.UnknownVersion(p.Version, nil).Error()
	case len(m.Producers) > 0 && !slices.Contains(m.Producers, p.Producer):
		return emergency.OtherProducer(p.Producer, m.Producers[0], "member").Error()
	}
	return ""
}

// defers tells whether a message asks for votes too early: a member that cannot make blocks lets others stand first.
func (m *Member) defers(message *raftpb.Message) bool {
	return message.GetType() == raftpb.MessageType_MsgPreVote && m.unfit() != "" &&
		m.world.Now().Sub(m.standing.lost) < standTime
}

// handOver hands leadership on to a member that can do the work, now and then. While there is none this one stays.
func (m *Member) handOver(reason string) {
	now := m.world.Now()
	if now.Sub(m.leading.handed) < handTime {
		return
	}
	if to, there := m.record(m.successor()); there {
		m.leading.handed = now
		m.Logger.Info(fmt.Sprintf("leadership goes to %s: %s", to.Name, reason))
		m.raw.TransferLeader(to.ID)
	}
}

// successor is the voter that can make blocks, has most of the log and was heard of lately; 0 if there is none.
func (m *Member) successor() (to uint64) {
	most, unfit := uint64(0), m.world.Unfit()
	for _, p := range m.peers() {
		if p.ID != m.self && p.Voter && p.Active && p.Keyed && unfit[p.ID] == "" && p.Match > most {
			to, most = p.ID, p.Match
		}
	}
	return to
}
