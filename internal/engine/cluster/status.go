package cluster

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// Status is a member's view of its cluster.
type Status struct {
	ID        uint64
	Term      uint64
	Leader    uint64 // 0 if unknown
	Leads     bool   // this member leads, and has applied all that was decided before
	Holding   string // why it would make no block as leader; empty if it would
	Barred    string // why no member with this one's keys would make a block; empty if it would
	Outdated  uint32 // version of a block made now, if this program does not know it; else 0
	Unfit     string // why another member should lead instead; empty if this one can lead
	Change    Change // how the current leader came to lead
	Applied   uint64 // index of the last wholly applied entry
	AppliedAt time.Time
	Last      uint64 // index of the last entry
	Bytes     uint64 // size of the log
	Waiting   int    // sends in progress
	Proposal  bool   // whether a block is decided and not released yet
	Catching  bool   // whether it is catching up with a snapshot
	Peers     []Peer // all members, by ID; after a start also the members that unapplied entries name
	Gone      []Gone
	Former    []Former
}

// Change is a change of leader, as observed by this member.
type Change struct {
	From   uint64        // the previous leader; 0 if unknown
	Silent time.Duration // silence of the previous leader before the change
	Handed bool          // the previous leader handed leadership over
}

// Peer is a member as seen by another one. Fields that only a leader knows are zero on other members.
type Peer struct {
	Record
	Voter  bool
	Active bool   // the leader has heard of it recently
	Match  uint64 // index of the last entry that it is known to have
	Behind uint64 // bytes of the log after Match
}

// Status returns this member's current status.
func (m *Member) Status() Status {
	last, err := m.Log.LastIndex()
	if err != nil {
		last = m.appliedIndex // cannot happen: LastIndex never fails
	}
	return Status{
		ID:        m.self,
		Term:      m.leadership.term,
		Leader:    m.leadership.soft.Lead,
		Leads:     m.leads(),
		Holding:   m.cannotLead(),
		Barred:    m.keyBarred(),
		Outdated:  m.outdated(),
		Unfit:     m.unfit(),
		Change:    m.leadership.change,
		Applied:   m.appliedIndex,
		AppliedAt: m.appliedAt,
		Last:      last,
		Bytes:     m.Log.Bytes(),
		Waiting:   m.sends.live.count,
		Proposal:  m.machine.Proposal() != nil,
		Catching:  m.catching != nil,
		Peers:     m.peers(),
		Gone:      m.members.gone,
		Former:    m.members.former,
	}
}

// peers returns the members, by ID. After a start, it includes all members that the log names until their entries are
// applied: they must be able to connect, or no further entry could be decided.
func (m *Member) peers() []Peer {
	members := m.members.records
	if m.appliedIndex < m.members.named.until {
		members = m.members.named.members
	}
	peers := make([]Peer, len(members))
	for i, r := range members {
		peers[i] = Peer{Record: r, Voter: slices.Contains(m.members.conf.GetVoters(), r.ID)}
	}
	if m.leadership.soft.RaftState != raft.StateLeader {
		return peers
	}
	m.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if i := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == id }); i >= 0 {
			if p.RecentActive || id == m.self { // raft resets RecentActive at each election timeout
				m.members.lastContact[id] = m.env.Now()
			}
			peers[i].Active, peers[i].Match = m.env.Now().Sub(m.members.lastContact[id]) <= silentTime, p.Match
			peers[i].Behind = m.Log.BytesAfter(p.Match)
		}
	})
	return peers
}

// facts returns the member's contribution to its Hello.
func (m *Member) facts() (Facts, error) {
	last, err := m.Log.LastIndex()
	facts := m.own
	facts.Term, facts.Last = m.leadership.term, last
	return facts, err
}

// raftLogger logs raft's warnings and errors only; the rest is in the status.
type raftLogger struct{ log *slog.Logger }

func (raftLogger) Debug(...any)                  {}
func (raftLogger) Debugf(string, ...any)         {}
func (raftLogger) Info(...any)                   {}
func (raftLogger) Infof(string, ...any)          {}
func (l raftLogger) Warning(v ...any)            { l.log.Debug("raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Warningf(f string, v ...any) { l.log.Debug("raft: " + fmt.Sprintf(f, v...)) }
func (l raftLogger) Error(v ...any)              { l.log.Error("raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Errorf(f string, v ...any)   { l.log.Error("raft: " + fmt.Sprintf(f, v...)) }
func (l raftLogger) Fatal(v ...any)              { l.Panic(v...) }
func (l raftLogger) Fatalf(f string, v ...any)   { l.Panicf(f, v...) }
func (l raftLogger) Panic(v ...any)              { panic("raft: " + fmt.Sprint(v...)) }
func (l raftLogger) Panicf(f string, v ...any)   { panic("raft: " + fmt.Sprintf(f, v...)) }
