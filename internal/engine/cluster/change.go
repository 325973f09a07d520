package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"
)

const (
	// nearBytes of the log and nearTime are what a learner may lack, and for how long it must have lacked no more,
	// before it becomes a voter.
	nearBytes = 1 << 20
	nearTime  = 5 * time.Second
	// silentTime is how long a member may not be heard of until it counts as away.
	silentTime = 2 * electionTicks * TickTime
)

// Why the members are not changed.
var (
	// ErrChanging says that another change is under way, or that leadership is.
	ErrChanging = errors.New("another change of the cluster's members is under way")
	// ErrUnknownMember says that there is no member of the ID.
	ErrUnknownMember = errors.New("the cluster has no such member")
	// ErrMemberExists says that there is a member of the ID or the name.
	ErrMemberExists = errors.New("the cluster has such a member already")
	// ErrGone says that the member was removed before. Its ID is not used again.
	ErrGone = errors.New("the directory is that of a member that was removed: begin with a new one, by cairn cluster join")
	// ErrThin says that what would be left has no majority that answers.
	ErrThin = errors.New("the voters that would be left and answer are no majority")
	// ErrLeads says that the member leads: hand leadership on first.
	ErrLeads = errors.New("the member leads the cluster: have another one lead first, by cairn cluster transfer")
)

// change is a change of members on its way, whose outcome is told once.
type change struct {
	term     uint64
	proposal *raftpb.ConfChangeV2
	fate     fate
	tell     func(error)
}

// fate is what raft has made of a change. It takes none before it knows that the one before is applied everywhere in
// its own books: instead of the change it writes an empty entry then, and says nothing.
type fate int

const (
	proposed fate = iota
	logged        // it is in the log
	dropped       // an empty entry is there instead: it is to be proposed again
)

// Add is the event of an operator's wish for a new member. It is a learner, and becomes a voter by itself once it is
// near. tell is told once: nil when it was decided and applied here.
func Add(r Record, tell func(error)) Event {
	return func(m *Member) error {
		for _, other := range m.members.records {
			if other.ID == r.ID || other.Name == r.Name {
				tell(fmt.Errorf("%w: %s, %x", ErrMemberExists, other.Name, other.ID))
				return nil
			}
		}
		if slices.ContainsFunc(m.members.gone, func(g Gone) bool { return g.ID == r.ID }) {
			tell(fmt.Errorf("%w: %s", ErrGone, r.Name))
			return nil
		}
		if _, err := DecodeRecord(r.Encode()); err != nil || len(m.members.records) >= maxRecords {
			tell(fmt.Errorf("%w: %d members, %w", ErrRecord, len(m.members.records), err))
			return nil
		}
		return m.proposeChange(raftpb.ConfChangeType_ConfChangeAddLearnerNode, r, tell)
	}
}

// Remove is the event of an operator's wish to be rid of a member, for good.
func Remove(id uint64, tell func(error)) Event {
	return func(m *Member) error {
		r, there := m.record(id)
		switch {
		case !there:
			tell(fmt.Errorf("%w: %x", ErrUnknownMember, id))
			return nil
		case id == m.self && m.leads():
			tell(ErrLeads)
			return nil
		}
		voters, active := 0, 0
		for _, p := range m.peers() {
			if p.ID == id || !p.Voter {
				continue
			}
			if voters++; p.Active {
				active++
			}
		}
		if m.leads() && 2*active <= voters {
			tell(fmt.Errorf("%w: %d of %d", ErrThin, active, voters))
			return nil
		}
		return m.proposeChange(raftpb.ConfChangeType_ConfChangeRemoveNode, r, tell)
	}
}

// proposeChange proposes one change; raft takes one at a time.
func (m *Member) proposeChange(kind raftpb.ConfChangeType, r Record, tell func(error)) error {
	if !m.leads() {
		tell(ErrNotLeader)
		return nil
	}
	if m.changing() {
		tell(ErrChanging)
		return nil
	}
	m.members.wanted = &change{
		term: m.standing.term,
		tell: tell,
		proposal: &raftpb.ConfChangeV2{
			Changes: []*raftpb.ConfChangeSingle{{Type: &kind, NodeId: &r.ID}},
			Context: r.Encode(),
		},
	}
	return m.proposeWanted()
}

// proposeWanted proposes the change that is wanted.
func (m *Member) proposeWanted() error {
	w := m.members.wanted
	w.fate = proposed
	err := m.raw.ProposeConfChange(w.proposal)
	if errors.Is(err, raft.ErrProposalDropped) { // leadership is being handed on, or too much is under way
		m.members.wanted = nil
		w.tell(ErrChanging)
		return nil
	}
	return err
}

// noted notes what came into the log for the change that was proposed. Other empty entries are of the beginning of a
// term, before any change.
func (s *membership) noted(entries []*raftpb.Entry) {
	w := s.wanted
	for _, e := range entries {
		switch {
		case w == nil || w.fate != proposed:
			return
		case e.GetTerm() != w.term:
		case e.GetType() == raftpb.EntryConfChangeV2:
			w.fate = logged
		case e.GetType() == raftpb.EntryNormal && len(e.GetData()) == 0:
			w.fate = dropped
		}
	}
}

// changing tells whether a change is on its way.
func (m *Member) changing() bool {
	return m.members.wanted != nil && m.members.wanted.term == m.standing.term
}

// applyChange applies a change of members.
func (m *Member) applyChange(e *raftpb.Entry) error {
	var c raftpb.ConfChangeV2
	if e.GetType() != raftpb.EntryType_EntryConfChangeV2 {
		return &Diverged{Index: e.GetIndex(), Err: fmt.Errorf("%w: of type %d", ErrEntry, e.GetType())}
	}
	if err := proto.Unmarshal(e.GetData(), &c); err != nil {
		return &Diverged{Index: e.GetIndex(), Err: fmt.Errorf("%w: %w", ErrEntry, err)}
	}
	m.members.conf = m.raw.ApplyConfChange(&c)
	for _, single := range c.GetChanges() {
		before, _ := m.record(single.GetNodeId())
		m.members.records = slices.DeleteFunc(slices.Clone(m.members.records), func(r Record) bool {
			return r.ID == single.GetNodeId()
		})
		if single.GetType() == raftpb.ConfChangeType_ConfChangeRemoveNode {
			gone := Gone{single.GetNodeId(), before.Name, m.decisions.machine.Head().Height}
			m.members.gone = newest(append(slices.Clone(m.members.gone), gone), maxGone)
			if delete(m.members.learners, gone.ID); gone.ID == m.self {
				return ErrRemoved
			}
			continue
		}
		r, err := DecodeRecord(c.GetContext())
		if err != nil {
			return &Diverged{Index: e.GetIndex(), Err: err}
		}
		m.members.records = append(m.members.records, r)
		slices.SortFunc(m.members.records, func(a, b Record) int { return cmp.Compare(a.ID, b.ID) })
	}
	if w := m.members.wanted; w != nil && w.term == e.GetTerm() && w.fate == logged {
		m.members.wanted = nil
		w.tell(nil)
	}
	return nil
}

// forsake tells that it is not known what became of a change that an earlier leader had proposed.
func (m *Member) forsake() {
	if w := m.members.wanted; w != nil && (w.term != m.standing.term || m.standing.soft.RaftState != raft.StateLeader) {
		m.members.wanted = nil
		w.tell(ErrNoLeader)
	}
}

// insist proposes a change again that raft has dropped.
func (m *Member) insist() error {
	if w := m.members.wanted; w != nil && w.fate == dropped && m.leads() {
		return m.proposeWanted()
	}
	return nil
}

// promote makes a voter of the learner that has been near for a while.
func (m *Member) promote() error {
	now := m.world.Now()
	for _, p := range m.peers() {
		if p.Voter {
			delete(m.members.learners, p.ID)
			continue
		}
		since, near := m.members.learners[p.ID]
		switch {
		case !p.Active || p.Behind > nearBytes:
			delete(m.members.learners, p.ID)
		case !near:
			m.members.learners[p.ID] = now
		case now.Sub(since) >= nearTime && !m.changing():
			return m.proposeChange(raftpb.ConfChangeType_ConfChangeAddNode, p.Record, func(error) {})
		}
	}
	return nil
}
