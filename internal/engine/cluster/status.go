package cluster

import (
	"fmt"
	"log/slog"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"
)

// Status is what a member knows of its cluster at a moment.
type Status struct {
	ID        uint64
	Term      uint64
	Leader    uint64 // 0: none is known
	Leads     bool   // this member leads, and has applied what was decided before
	Holding   string // why it would make no block though it leads; empty if it would
	Barred    string // why no member with this one's keys would make a block; empty if it would
	Unfit     string // why another member should lead instead; empty if this one can do the work
	Change    Change // how the present leader came to lead
	Applied   uint64 // index of the last entry that is wholly applied
	AppliedAt time.Time
	Last      uint64 // index of the last entry
	Bytes     uint64 // of the log
	Waiting   int    // sends that are under way
	Proposal  bool   // whether a block is decided and not released yet
	Catching  bool   // whether blocks are fetched from another member
	Peers     []Peer // all members, by ID; after a start also whom the log names until that is applied
	Gone      []Gone
	Former    []Former
}

// Change is how a leader came to lead, as this member saw it.
type Change struct {
	From   uint64        // who led before, as far as is known; else 0
	Silent time.Duration // how long nothing had been heard of that one
	Handed bool          // that one handed leadership on
}

// Peer is a member as another one knows it. What only a leader knows is zero elsewhere.
type Peer struct {
	Record
	Voter  bool
	Active bool   // the leader has heard of it lately
	Match  uint64 // the last entry that it is known to have
	Behind uint64 // bytes of the log that it is not known to have
}

// Status is what this member knows now.
func (m *Member) Status() Status {
	last, err := m.Log.LastIndex()
	if err != nil {
		last = m.decisions.done // the log's is never an error
	}
	return Status{
		ID:        m.self,
		Term:      m.standing.term,
		Leader:    m.standing.soft.Lead,
		Leads:     m.leads(),
		Holding:   m.holding(),
		Barred:    m.barred(),
		Unfit:     m.unfit(),
		Change:    m.standing.change,
		Applied:   m.decisions.done,
		AppliedAt: m.decisions.doneAt,
		Last:      last,
		Bytes:     m.Log.Bytes(),
		Waiting:   m.sends.live.count,
		Proposal:  m.decisions.machine.Proposal() != nil,
		Catching:  m.catching != nil,
		Peers:     m.peers(),
		Gone:      m.members.gone,
		Former:    m.members.former,
	}
}

// peers are the members, by ID. Until a member that starts has applied what its log says of them it goes by the whole
// log. The others must be able to reach it, or nothing more is decided.
func (m *Member) peers() []Peer {
	members := m.members.records
	if m.decisions.done < m.members.named.until {
		members = m.members.named.members
	}
	peers := make([]Peer, len(members))
	for i, r := range members {
		peers[i] = Peer{Record: r, Voter: slices.Contains(m.members.conf.GetVoters(), r.ID)}
	}
	if m.standing.soft.RaftState != raft.StateLeader {
		return peers
	}
	m.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		if i := slices.IndexFunc(peers, func(p Peer) bool { return p.ID == id }); i >= 0 {
			if p.RecentActive || id == m.self { // raft looks anew whom it hears, at each election timeout
				m.members.heard[id] = m.world.Now()
			}
			peers[i].Active, peers[i].Match = m.world.Now().Sub(m.members.heard[id]) <= silentTime, p.Match
			peers[i].Behind = m.Log.BytesAfter(p.Match)
		}
	})
	return peers
}

// facts are what the member says of itself to another one.
func (m *Member) facts() (Facts, error) {
	last, err := m.Log.LastIndex()
	facts := m.own
	facts.Term, facts.Last = m.standing.term, last
	return facts, err
}

// raftLogger hands on what raft says of faults; the rest is in the status.
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
