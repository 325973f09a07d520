package cluster

import (
	"errors"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/types"
)

const (
	// handTime is between two tries to hand leadership on.
	handTime = 2 * time.Second
	// snapshotTime is how long a leader waits for a member that it has sent a snapshot, before it sends another.
	snapshotTime = 5 * time.Second
	// maxOffset is how far a leader's clock may be from the middle of all, before it hands leadership on.
	maxOffset = 5 * time.Second
)

// leading is what a leader is about.
type leading struct {
	term      uint64        // of which the rest is
	drafting  bool          // a block is being made
	proposed  bool          // a block is on its way to be applied
	made      *ledger.Draft // that block
	madeAt    time.Time
	finishing uint64 // the proposal that is being signed, or whose Release is on its way
	failed    refused

	last      time.Time // when the last block was due; zero: this leader has made none, and one is due
	passing   *passing
	handed    time.Time // when leadership was handed on
	snapshots map[uint64]time.Time
	told      map[uint64]uint64 // the commit of which each member was told last
}

// refused is the last signature that was not made.
type refused struct {
	err    error // nil: the next one was made, or it was long ago
	height types.Height
	at     time.Time    // when it was tried last
	told   types.Height // the block of which the log was told
}

// lead does what a leader has to do now: it finishes the proposal, or else makes one. It never proposes a block beside
// a proposal.
func (m *Member) lead() error {
	if !m.leads() {
		m.sends.giveBack()
		return nil
	}
	if l := &m.leading; l.term != m.standing.term {
		l.term, l.proposed, l.made, l.finishing, l.last = m.standing.term, false, nil, 0, time.Time{}
		l.snapshots = make(map[uint64]time.Time)
		m.sends.last = 0
		m.sends.route(m)
	}
	if err := m.sends.propose(m); err != nil {
		return err
	}
	m.passOn()
	if m.Sign == nil {
		return nil
	}
	if m.decisions.machine.Proposal() != nil {
		return m.finish()
	}
	return m.begin()
}

// begin begins the next block when it is due.
func (m *Member) begin() error {
	l, now, tip := &m.leading, m.world.Now(), m.Ledger.Tip()
	if l.drafting || l.proposed || m.decisions.proposal != nil || tip.Hash != m.decisions.machine.Head().Hash ||
		now.Sub(l.last) < m.BlockTime || m.barred() != "" || m.raw.BasicStatus().LeadTransferee != raft.None {
		return nil
	}
	l.last = sequencer.NextTick(l.last, now, m.BlockTime)
	l.drafting = true
	at := max(tip.Header.Header.Timestamp, uint64(max(0, m.fairTime().Unix())))
	term := m.standing.term
	m.world.Do(Executor, func() Event {
		d, encoded, err := m.draft(at)
		return func(m *Member) error {
			l.drafting = false
			if !m.leads() || m.standing.term != term || m.decisions.machine.Proposal() != nil {
				return nil // also of an error: the head may have become another one before
			}
			if err != nil {
				return err
			}
			err := m.raw.Propose(Encode(Block{d.Header(), encoded}))
			if errors.Is(err, raft.ErrProposalDropped) { // leadership is being handed on, or too much is under way
				return nil
			}
			l.proposed, l.made = true, d
			l.madeAt = m.world.Now()
			return err
		}
	})
	return nil
}

// wait is how long it is until a leader's next block is due, if it waits for that.
func (m *Member) wait() (time.Duration, bool) {
	if l := &m.leading; !m.leads() || m.makes() || l.last.IsZero() {
		return 0, false
	}
	wait := m.leading.last.Add(m.BlockTime).Sub(m.world.Now())
	return wait, wait > 0
}

// makes tells whether a block is under way.
func (m *Member) makes() bool {
	return m.leading.drafting || m.leading.proposed || m.decisions.proposal != nil
}

// draft makes the block of a time, in Unix seconds.
func (m *Member) draft(at uint64) (*ledger.Draft, []byte, error) {
	picked := m.Picker.Pick(m.BlockTime)
	d, err := m.Ledger.Draft(picked.At(at))
	if err != nil {
		return nil, nil, err
	}
	return d, d.Encode(), m.Picker.Judge(picked)
}

// finish signs the proposal of the applied log, once this member has come to the same block, and proposes its Release.
func (m *Member) finish() error {
	c, l := m.decisions.proposal, &m.leading
	if c == nil || l.finishing == c.Index {
		return nil
	}
	if err := m.look(c); err != nil || c.draft == nil && !c.known {
		return err
	}
	if !c.known && !slices.Contains(m.Producers, c.Header.Producer) {
		return nil
	}
	l.finishing = c.Index
	if c.known { // with its signature
		header, err := m.Ledger.Header(c.Header.Height)
		if err != nil {
			return err
		}
		return m.proposeRelease(c, header.Signature)
	}
	m.world.Do(Executor, func() Event {
		signature, err := m.sign(c.Header)
		return func(m *Member) error {
			if err != nil {
				l.failed.err, l.failed.height, l.failed.at = err, c.Header.Height, m.world.Now()
				if l.failed.told != c.Header.Height { // once, though it is tried again and again
					l.failed.told = c.Header.Height
					m.Logger.Error("a block that the cluster decided on cannot be signed", "height", c.Header.Height, "error", err)
				}
				return nil
			}
			l.failed.err = nil
			if !m.leads() || m.decisions.proposal != c {
				return nil
			}
			return m.proposeRelease(c, signature)
		}
	})
	return nil
}

var errOtherKey = errors.New("the signature is not the producer's")

// sign signs a header, and verifies that: what the log has is not taken back.
func (m *Member) sign(h types.Header) (types.Signature, error) {
	signature, err := m.Sign(h)
	if err == nil && !(types.SignedHeader{Header: h, Signature: signature}).VerifySignature() {
		err = errOtherKey
	}
	return signature, err
}

func (m *Member) proposeRelease(c *proposal, signature types.Signature) error {
	err := m.raw.Propose(Encode(Release{c.Index, c.Header.Height, c.Header.Hash(), signature}))
	if errors.Is(err, raft.ErrProposalDropped) {
		m.leading.finishing = 0
		return nil
	}
	return err
}

// tend does what a leader does at each tick.
func (m *Member) tend() error {
	m.sends.route(m)
	if !m.leads() {
		return nil
	}
	if reason := m.unfit(); reason != "" {
		m.handOver(reason)
	}
	if l := &m.leading; l.failed.err != nil && m.world.Now().Sub(l.failed.at) >= handTime {
		l.finishing, l.failed.at = 0, m.world.Now() // nobody took over: it is tried again
	}
	m.resendSnapshots()
	return m.promote()
}

// resendSnapshots has raft send another snapshot to members of whom nothing was heard since the last one.
func (m *Member) resendSnapshots() {
	l, now := &m.leading, m.world.Now()
	var silent []uint64
	m.raw.WithProgress(func(id uint64, _ raft.ProgressType, p tracker.Progress) {
		since, there := l.snapshots[id]
		switch {
		case p.State != tracker.StateSnapshot:
			delete(l.snapshots, id)
		case !there:
			l.snapshots[id] = now
		case now.Sub(since) >= snapshotTime:
			delete(l.snapshots, id)
			silent = append(silent, id)
		}
	})
	for _, id := range silent {
		m.raw.ReportSnapshot(id, raft.SnapshotFailure)
	}
}
