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
	// standTime is the delay before a member that cannot make blocks stands for election, so that others may stand
	// first. It must stand eventually: members whose logs are behind its own cannot be elected.
	standTime = 2 * electionTicks * TickTime
	// failTime is the time for which a member that does not lead counts as unable to sign after a failure to sign.
	failTime = 10 * time.Second
)

// updateFitness determines whether this member can lead, and clears a signing failure that is resolved or old.
func (m *Member) updateFitness() {
	m.unable, m.clockOffset = "", medianOffset(m.env.Offsets())
	if m.Unable != nil {
		m.unable = m.Unable()
	}
	if l := &m.leading; l.signError != nil && (m.Ledger.Tip().Header.Header.Height >= l.failedHeight ||
		!m.leads() && m.env.Now().Sub(l.failedAt) >= failTime) {
		l.signError = nil
	}
}

// unfit returns the reason why another member should lead instead, or "" if this one can lead. It is the only criterion
// by which a member stands for election, accepts and hands over leadership, and is chosen as a successor.
func (m *Member) unfit() string {
	if reason := m.cannotLead(); reason != "" {
		return reason
	}
	switch o := m.clockOffset.Round(time.Second); {
	case m.clockOffset > maxOffset:
		return fmt.Sprintf("clock skew: this member's clock is %.0f s behind the others", o.Seconds())
	case m.clockOffset < -maxOffset:
		return fmt.Sprintf("clock skew: this member's clock is %.0f s ahead of the others", -o.Seconds())
	}
	return ""
}

// cannotLead returns the reason why this member would make no block as leader, or "" if it would.
func (m *Member) cannotLead() string {
	switch l := &m.leading; {
	case len(m.Producers) == 0:
		return "this member has no producer's key"
	case m.keyBarred() != "":
		return m.keyBarred()
	case l.signError != nil:
		return fmt.Sprintf("block %d is not signed: %v", l.failedHeight, l.signError)
	}
	return m.unable
}

// keyBarred returns the reason why no member with this one's keys would make a block, or "" if it would.
func (m *Member) keyBarred() string {
	p := m.Ledger.Tip().Parameters
	switch version := m.outdated(); {
	case version != 0:
		return emergency.UnknownVersion(version, nil).Error()
	case len(m.Producers) > 0 && !slices.Contains(m.Producers, p.Producer):
		return emergency.OtherProducer(p.Producer, m.Producers[0], "member").Error()
	}
	return ""
}

// outdated returns the version that a block made now would have, if this program does not know it, and else 0.
func (m *Member) outdated() uint32 {
	p := m.Ledger.Tip().Parameters
	version := p.Version
	if p.Upgrade != nil {
		version = p.VersionAt(m.nextTime())
	}
	if params.Known(version) {
		return 0
	}
	return version
}

// defersVote reports whether a message requests votes too early. A member that cannot make blocks lets others stand
// first.
func (m *Member) defersVote(message *raftpb.Message) bool {
	return message.GetType() == raftpb.MessageType_MsgPreVote && m.unfit() != "" &&
		m.env.Now().Sub(m.leadership.leaderless) < standTime
}

// transferLeadership transfers leadership to a member that can make blocks, at most once per transferInterval. If there
// is none, this member stays leader.
func (m *Member) transferLeadership(reason string) {
	now := m.env.Now()
	if now.Sub(m.leading.transferTried) < transferInterval {
		return
	}
	if to, there := m.record(m.successor()); there {
		m.leading.transferTried = now
		m.Logger.Info(fmt.Sprintf("transferring leadership to %s: %s", to.Name, reason))
		m.raw.TransferLeader(to.ID)
	}
}

// successor returns the active voter that can make blocks and has most of the log, or 0 if there is none.
func (m *Member) successor() (to uint64) {
	most, unfit := uint64(0), m.env.Unfit()
	for _, p := range m.peers() {
		if p.ID != m.self && p.Voter && p.Active && p.Keyed && unfit[p.ID] == "" && p.Match > most {
			to, most = p.ID, p.Match
		}
	}
	return to
}
