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
	// A learner becomes a voter after it has lacked at most nearBytes of the log for nearTime.
	nearBytes = 1 << 20
	nearTime  = 5 * time.Second
	// silentTime is the silence after which a member counts as inactive.
	silentTime = 2 * electionTicks * TickTime
)

// Errors of membership changes.
var (
	// ErrChanging is returned while another change or a leadership transfer is in progress.
	ErrChanging = errors.New("another change of the cluster's members is in progress")
	// ErrUnknownMember is returned if no member has the ID.
	ErrUnknownMember = errors.New("the cluster has no such member")
	// ErrMemberExists is returned if a member already has the ID or the name.
	ErrMemberExists = errors.New("the cluster already has this member")
	// ErrGone is returned for a removed member's ID, which cannot be reused.
	ErrGone = errors.New("the directory belongs to a removed member: create a new one with cairn cluster join")
	// ErrThin is returned if the remaining active voters would be no majority.
	ErrThin = errors.New("the cluster would lose its quorum: too few of the remaining voters are reachable")
	// ErrLeads is returned if the member to be removed leads: transfer leadership first.
	ErrLeads = errors.New("the member is the leader: first transfer leadership to another one with cairn cluster " +
		"transfer")
)

// change is a membership change in progress. Its outcome is reported once.
type change struct {
	term     uint64
	proposal *raftpb.ConfChangeV2
	state    changeState
	reply    func(error)
}

// changeState is raft's treatment of a proposed change. Raft accepts a change only after the previous one was applied
// according to its own records. Until then it silently appends an empty entry in place of the change.
type changeState int

const (
	proposed changeState = iota
	logged               // the change is in the log
	dropped              // an empty entry was appended instead: the change must be proposed again
)

// Add returns an event that adds a member. The member starts as a learner, and becomes a voter once it has nearly
// caught up. The event calls reply once, with nil if the change was decided and applied here.
func Add(r Record, reply func(error)) Event {
	return func(m *Member) error {
		for _, other := range m.members.records {
			if other.ID == r.ID || other.Name == r.Name {
				reply(fmt.Errorf("%w: %s, %x", ErrMemberExists, other.Name, other.ID))
				return nil
			}
		}
		if slices.ContainsFunc(m.members.gone, func(g Gone) bool { return g.ID == r.ID }) {
			reply(fmt.Errorf("%w: %s", ErrGone, r.Name))
			return nil
		}
		if _, err := DecodeRecord(r.Encode()); err != nil || len(m.members.records) >= maxRecords {
			reply(fmt.Errorf("%w: %d members, %w", ErrRecord, len(m.members.records), err))
			return nil
		}
		return m.proposeChange(raftpb.ConfChangeType_ConfChangeAddLearnerNode, r, reply)
	}
}

// Remove returns an event that removes a member permanently. It calls reply once, like [Add].
func Remove(id uint64, reply func(error)) Event {
	return func(m *Member) error {
		r, there := m.record(id)
		switch {
		case !there:
			reply(fmt.Errorf("%w: %x", ErrUnknownMember, id))
			return nil
		case id == m.self && m.leads():
			reply(ErrLeads)
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
			reply(fmt.Errorf("%w: %d of %d", ErrThin, active, voters))
			return nil
		}
		return m.proposeChange(raftpb.ConfChangeType_ConfChangeRemoveNode, r, reply)
	}
}

// proposeChange proposes a change, if none is in progress.
func (m *Member) proposeChange(kind raftpb.ConfChangeType, r Record, reply func(error)) error {
	if !m.leads() {
		reply(ErrNotLeader)
		return nil
	}
	if m.changing() {
		reply(ErrChanging)
		return nil
	}
	m.members.wanted = &change{
		term:  m.leadership.term,
		reply: reply,
		proposal: &raftpb.ConfChangeV2{
			Changes: []*raftpb.ConfChangeSingle{{Type: &kind, NodeId: &r.ID}},
			Context: r.Encode(),
		},
	}
	return m.proposeWanted()
}

// proposeWanted proposes the wanted change to raft.
func (m *Member) proposeWanted() error {
	w := m.members.wanted
	w.state = proposed
	err := m.raw.ProposeConfChange(w.proposal)
	if errors.Is(err, raft.ErrProposalDropped) { // a transfer is in progress, or too much is uncommitted
		m.members.wanted = nil
		w.reply(ErrChanging)
		return nil
	}
	return err
}

// recordAppended records the entry that was appended for the proposed change. The only other empty entry of a term is
// its first one, which precedes all changes.
func (s *membership) recordAppended(entries []*raftpb.Entry) {
	w := s.wanted
	for _, e := range entries {
		switch {
		case w == nil || w.state != proposed:
			return
		case e.GetTerm() != w.term:
		case e.GetType() == raftpb.EntryConfChangeV2:
			w.state = logged
		case e.GetType() == raftpb.EntryNormal && len(e.GetData()) == 0:
			w.state = dropped
		}
	}
}

// changing reports whether a change is in progress.
func (m *Member) changing() bool {
	return m.members.wanted != nil && m.members.wanted.term == m.leadership.term
}

// applyChange applies a membership change.
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
			gone := Gone{single.GetNodeId(), before.Name, m.machine.Head().Height}
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
	if w := m.members.wanted; w != nil && w.term == e.GetTerm() && w.state == logged {
		m.members.wanted = nil
		w.reply(nil)
	}
	return nil
}

// abandonChange ends a change after this member has lost leadership. The outcome of the change is unknown.
func (m *Member) abandonChange() {
	if w := m.members.wanted; w != nil && (!m.changing() || m.leadership.soft.RaftState != raft.StateLeader) {
		m.members.wanted = nil
		w.reply(ErrNoLeader)
	}
}

// retryChange proposes a change again after raft dropped it.
func (m *Member) retryChange() error {
	if w := m.members.wanted; w != nil && w.state == dropped && m.leads() {
		return m.proposeWanted()
	}
	return nil
}

// promoteLearner proposes to make a voter of the first learner that has been near for nearTime.
func (m *Member) promoteLearner() error {
	now := m.env.Now()
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
