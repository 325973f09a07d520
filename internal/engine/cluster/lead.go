package cluster

import (
	"errors"
	"slices"
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/tracker"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

const (
	// transferInterval is the interval between attempts to hand leadership over, and between attempts to sign.
	transferInterval = 2 * time.Second
	// snapshotTime is the time that a leader waits for a member to take a snapshot before it sends another.
	snapshotTime = 5 * time.Second
	// maxOffset is the deviation from the median of all clocks beyond which a leader hands leadership over.
	maxOffset = 5 * time.Second
)

// leading is the state of a leader.
type leading struct {
	term      uint64               // term of the other fields
	building  bool                 // a block is being built
	proposed  bool                 // a block is proposed but not applied yet
	made      *ledger.PendingBlock // that block
	madeAt    time.Time
	finishing uint64 // index of the proposal that is being signed, or whose Release is proposed

	// The last failure to sign:
	signError    error // nil if the next attempt succeeded or the failure is old
	failedHeight types.Height
	failedAt     time.Time    // last attempt
	loggedHeight types.Height // height of the failure that was logged last

	last          time.Time            // when the last block was due; zero if this leader has made none, so one is due now
	passing       *passing             // the requested leadership transfer, or nil
	transferTried time.Time            // last attempt to hand leadership over
	snapshots     map[uint64]time.Time // when each member that is being sent a snapshot was seen in that state
	sentCommit    map[uint64]uint64    // last commit index sent to each member
}

// lead performs a leader's duties: it releases the proposal or, if there is none, makes one. It never proposes a block
// while there is a proposal.
func (m *Member) lead() error {
	if !m.leads() {
		m.sends.requeueUnplaced()
		return nil
	}
	if l := &m.leading; l.term != m.leadership.term {
		l.term, l.proposed, l.made, l.finishing, l.last = m.leadership.term, false, nil, 0, time.Time{}
		l.snapshots = make(map[uint64]time.Time)
		m.sends.last = 0
		m.sends.route(m)
	}
	if err := m.sends.propose(m); err != nil {
		return err
	}
	m.carryOutTransfer()
	if m.Sign == nil {
		return nil
	}
	if m.machine.Proposal() != nil {
		return m.finish()
	}
	return m.startBlock()
}

// startBlock starts the next block if it is due.
func (m *Member) startBlock() error {
	l, now, tip := &m.leading, m.env.Now(), m.Ledger.Tip()
	if l.building || l.proposed || m.proposal != nil || tip.Hash != m.machine.Head().Hash ||
		now.Sub(l.last) < m.BlockTime || m.keyBarred() != "" || m.raw.BasicStatus().LeadTransferee != raft.None {
		return nil
	}
	at := m.nextTime()
	if !params.Known(tip.Parameters.VersionAt(at)) { // the clock has just reached an upgrade
		return nil
	}
	l.last = sequencer.NextTick(l.last, now, m.BlockTime)
	l.building = true
	term := m.leadership.term
	since, log, err := m.unreleased()
	if err != nil {
		return err
	}
	m.env.Do(Executor, func() Event {
		d, entry, err := m.buildBlock(at, since, log)
		return func(m *Member) error {
			l.building = false
			if !m.leads() || m.leadership.term != term || m.machine.Proposal() != nil {
				return nil // even after an error: the block may have been for an earlier head
			}
			if err != nil {
				return err
			}
			err := m.raw.Propose(entry)
			if errors.Is(err, raft.ErrProposalDropped) { // a transfer is in progress, or too much is uncommitted
				return nil
			}
			l.proposed, l.made = true, d
			l.madeAt = m.env.Now()
			return err
		}
	})
	return nil
}

// untilDue returns the time until the leader's next block or batch is due. It reports false if the member is not waiting
// for one.
func (m *Member) untilDue() (wait time.Duration, waits bool) {
	if !m.leads() {
		return 0, false
	}
	if m.sends.canPropose() {
		wait = m.untilGathered()
	}
	if !m.makingBlock() && !m.leading.last.IsZero() {
		block := m.leading.last.Add(m.BlockTime).Sub(m.env.Now())
		if wait <= 0 || block > 0 && block < wait {
			wait = block
		}
	}
	return wait, wait > 0
}

// makingBlock reports whether a block is in progress.
func (m *Member) makingBlock() bool {
	return m.leading.building || m.leading.proposed || m.proposal != nil
}

// unreleased returns the entries of the log after the entry since, whose transactions the next block names.
func (m *Member) unreleased() (since uint64, log []logEntry, err error) {
	since = max(m.machine.Base(), m.Log.Within(maxNamed))
	log, err = m.after(since, m.machine.Applied())
	return since, log, err
}

// buildBlock builds a block with the given timestamp, in milliseconds, and its entry. It may name the transactions of
// log, which follows the entry since.
func (m *Member) buildBlock(at, since uint64, log []logEntry) (*ledger.PendingBlock, []byte, error) {
	picked := m.Selector.Select(m.BlockTime)
	d, err := m.Ledger.Propose(picked.At(at))
	if err != nil {
		return nil, nil, err
	}
	return d, Encode(newBlock(d.Header(), d.Transactions(), since, log)), m.Selector.HandleSkipped(picked)
}

// finish signs the proposal, once this member has derived the same block, and proposes its Release.
func (m *Member) finish() error {
	c, l := m.proposal, &m.leading
	if c == nil || l.finishing == c.Index {
		return nil
	}
	if err := m.findReleased(c); err != nil || c.block == nil && !c.known {
		return err
	}
	if !c.known && !slices.Contains(m.Producers, c.Header.Producer) {
		return nil
	}
	l.finishing = c.Index
	if c.known { // the chain has the signature
		header, err := m.Ledger.Header(c.Header.Height)
		if err != nil {
			return err
		}
		return m.proposeRelease(c, header.Seal.Signature)
	}
	m.env.Do(Executor, func() Event {
		signature, err := m.sign(c.Header)
		return func(m *Member) error {
			if err != nil {
				l.signError, l.failedHeight, l.failedAt = err, c.Header.Height, m.env.Now()
				if l.loggedHeight != c.Header.Height { // log once per height, although it is retried
					l.loggedHeight = c.Header.Height
					m.Logger.Error("cannot sign a block that the cluster has committed", "height", c.Header.Height, "error", err)
				}
				return nil
			}
			l.signError = nil
			if !m.leads() || m.proposal != c {
				return nil
			}
			return m.proposeRelease(c, signature)
		}
	})
	return nil
}

var errOtherKey = errors.New("the signature is not the producer's")

// sign signs a header, and verifies the signature, because a signature in the log cannot be undone.
func (m *Member) sign(h types.Header) (types.Signature, error) {
	signature, err := m.Sign(h)
	if err == nil && !(types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}).VerifySeal() {
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

// tick performs the periodic duties of a leader, and routes waiting sends on any member.
func (m *Member) tick() error {
	m.sends.route(m)
	if !m.leads() {
		return nil
	}
	if reason := m.unfit(); reason != "" {
		m.transferLeadership(reason)
	}
	if l := &m.leading; l.signError != nil && m.env.Now().Sub(l.failedAt) >= transferInterval {
		l.finishing, l.failedAt = 0, m.env.Now() // no other member took over: try again
	}
	m.resendSnapshots()
	return m.promoteLearner()
}

// resendSnapshots makes raft send another snapshot to each member that did not finish the last one within snapshotTime.
func (m *Member) resendSnapshots() {
	l, now := &m.leading, m.env.Now()
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
