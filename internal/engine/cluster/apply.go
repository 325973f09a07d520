package cluster

import (
	"fmt"
	"slices"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/storage/raftlog"
	"github.com/cairn-chain/cairn/types"
)

// apply applies decided entries in order, until one of them has to wait for a worker.
func (m *Member) apply() error {
	for !m.applying.working && len(m.applying.messages) > 0 {
		var err error
		batches, all := m.applying.batches()
		switch {
		case len(batches) == 0 || batches[0].GetIndex() <= m.machine.Applied():
			err = m.applyEntry(m.current())
		case all && m.mayGather():
			return nil
		default:
			err = m.applyBatches(batches)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// applyEntry applies an entry or starts to.
func (m *Member) applyEntry(e *raftpb.Entry) error {
	if e.GetIndex() <= m.machine.Applied() { // a snapshot covered it
		return m.nextEntry()
	}
	var entry Entry
	if e.GetType() == raftpb.EntryType_EntryNormal && len(e.GetData()) > 0 {
		var err error
		if entry, err = Decode(e.GetData()); err != nil {
			return diverged(e.GetIndex(), nil, err)
		}
	}
	outcome, err := m.machine.Apply(e.GetIndex(), entry)
	if err != nil {
		return &Diverged{Index: e.GetIndex(), Err: err}
	}
	if m.machine.Base() == e.GetIndex() {
		m.recent = recent{} // no later block names them
	}
	switch entry := entry.(type) {
	case Block:
		m.Clock.advance(entry.Header.Timestamp)
		m.leading.proposed = false
		if outcome == Decided {
			if err := m.decided(m.machine.Proposal()); err != nil {
				return err
			}
		}
	case Release:
		if outcome == Released {
			m.applying.working, m.applying.releasing = true, &entry
			return m.release()
		}
	}
	if e.GetType() != raftpb.EntryType_EntryNormal {
		if err := m.applyChange(e); err != nil {
			return err
		}
	}
	if err := m.applied(e); err != nil {
		return err
	}
	if e.GetType() != raftpb.EntryType_EntryNormal && m.machine.Proposal() == nil {
		m.checkpoints = append(m.checkpoints, m.checkpoint())
	}
	return nil
}

// current returns the entry that is being applied.
func (m *Member) current() *raftpb.Entry { return m.applying.messages[0].GetEntries()[m.applying.next] }

// applied records that an entry is wholly applied.
func (m *Member) applied(e *raftpb.Entry) error {
	m.applying.working = false
	m.appliedIndex, m.appliedAt, m.appliedTerm = e.GetIndex(), m.env.Now(), e.GetTerm()
	m.sends.entryApplied(m, e)
	return m.nextEntry()
}

// nextEntry advances to the next entry. After the last entry of a message it sends the message's responses to raft.
func (m *Member) nextEntry() error {
	message := m.applying.messages[0]
	if m.applying.next++; m.applying.next < len(message.GetEntries()) {
		return nil
	}
	m.applying.messages, m.applying.next, m.applying.since = m.applying.messages[1:], 0, m.env.Now()
	for _, response := range message.GetResponses() {
		if err := m.raw.Step(response); err != nil {
			return err
		}
	}
	return nil
}

// decided starts to derive a proposal, unless this member built it itself or already has the block in its chain.
func (m *Member) decided(decided *Proposal) error {
	c := &proposal{Proposal: decided}
	m.proposal = c
	if err := m.findReleased(c); c.known || err != nil {
		return err
	}
	if d := m.leading.made; d != nil && d.Header().Hash() == c.Header.Hash() {
		c.block, c.proposed, m.leading.made = d, m.leading.madeAt, nil
		return nil
	}
	var log []logEntry
	if decided.Names != nil {
		var err error
		if log, err = m.after(decided.Since, decided.Index-1); err != nil {
			return err
		}
	}
	m.env.Do(Executor, func() Event {
		var d *ledger.PendingBlock
		var encoded []byte // set if this member derives another block
		txs, err := decided.transactions(log)
		if err == nil {
			if d, err = m.derive(decided.Header, txs); err != nil {
				encoded = types.EncodeBlock(types.SignedHeader{Header: decided.Header}, txs)
			}
		}
		return func(m *Member) error {
			if err := m.findReleased(c); err != nil {
				return err
			}
			if err != nil && !c.known {
				return &Diverged{Index: c.Index, Block: encoded, Err: err}
			}
			if !c.known {
				c.block = d
			}
			if m.proposal == c && m.applying.releasing != nil {
				return m.release()
			}
			return nil
		}
	})
	return nil
}

// findReleased checks whether the chain already has a proposal's block: it was released before a restart, or fetched
// with the blocks up to a snapshot. If so, it need not be derived.
func (m *Member) findReleased(c *proposal) error {
	if c.known || c.Header.Height > m.Ledger.Tip().Header.Header.Height {
		return nil
	}
	c.known, c.block = true, nil
	return m.checkKnown(c.Index, c.Header.Height, c.Header.Hash())
}

// derive executes a proposal and checks the result against its header.
func (m *Member) derive(h types.Header, txs []*types.Tx) (*ledger.PendingBlock, error) {
	received, err := ledger.NewProposal(m.Ledger.Network(), h, txs, func(id types.TxID) *types.VerifiedTx {
		tx, _ := m.Pool.Get(id)
		return tx
	})
	if err != nil {
		return nil, err
	}
	return m.Ledger.Derive(received)
}

// checkKnown checks a decided block against the chain's own, which was fetched from another member or released before a
// restart.
func (m *Member) checkKnown(index uint64, height types.Height, hash types.BlockHash) error {
	header, err := m.Ledger.Header(height)
	if err != nil {
		return err
	}
	if has := header.Header.Hash(); has != hash {
		err := fmt.Errorf("%w: block %d is %s and the chain has %s", ErrForged, height, hash, has)
		return &Diverged{Index: index, Err: err}
	}
	return nil
}

// release starts to append the proposal to the chain once its block is derived.
func (m *Member) release() error {
	c, r := m.proposal, *m.applying.releasing
	if c == nil || c.Index != r.Index {
		return fmt.Errorf("entry %d releases proposal %d, which is unknown", m.machine.Applied(), r.Index)
	}
	if err := m.findReleased(c); err != nil || c.block == nil && !c.known {
		return err
	}
	m.applying.releasing = nil
	m.env.Do(Applier, func() Event {
		err := m.append(c, r)
		return func(m *Member) error {
			if err != nil {
				return err
			}
			m.proposal = nil
			if err := m.applied(m.current()); err != nil {
				return err
			}
			m.checkpoints = append(m.checkpoints, m.checkpoint())
			if m.OnRelease != nil && !c.proposed.IsZero() {
				m.OnRelease(m.env.Now().Sub(c.proposed))
			}
			return nil
		}
	})
	return nil
}

// append appends the proposal to the chain and updates the pool.
func (m *Member) append(c *proposal, r Release) error {
	if c.known {
		return m.syncPool(r.Height)
	}
	block, err := m.Ledger.Release(c.block, r.Signature)
	if err != nil {
		return err
	}
	if err := m.Pool.Reset(mempool.HeadOf(m.Ledger), block.Accesses); err != nil {
		return fmt.Errorf("mempool after block %d: %w", r.Height, err)
	}
	if m.OnBlock != nil {
		m.OnBlock(block)
	}
	return nil
}

// syncPool updates the pool with a block that the chain has from before a restart, if the pool is behind it.
func (m *Member) syncPool(height types.Height) error {
	if m.Pool.Height() >= height {
		return nil
	}
	head, err := mempool.HeadAt(m.Ledger, height)
	if err != nil {
		return err
	}
	accesses, err := m.Ledger.Store().Accesses(height)
	if err != nil {
		return err
	}
	return m.Pool.Reset(head, accesses)
}

// place is an index at which the log may be cut, with the state that the log led to there.
type place struct {
	index uint64
	Place
	conf *raftpb.ConfState
}

// checkpoint returns the place of the last applied entry, which must have left no proposal.
func (m *Member) checkpoint() place {
	return place{
		index: m.appliedIndex,
		Place: Place{
			m.machine.Head(), uint64(m.Clock.Now().UnixMilli()), slices.Clone(m.members.records),
			slices.Clone(m.members.gone), m.members.former,
		},
		conf: m.members.conf,
	}
}

// snapshot returns the place as a raft snapshot.
func (p place) snapshot(log *raftlog.Log) (*raftpb.Snapshot, error) {
	term, err := log.Term(p.index)
	if err != nil {
		return nil, err
	}
	index := p.index
	return &raftpb.Snapshot{
		Data:     p.Encode(),
		Metadata: &raftpb.SnapshotMetadata{ConfState: p.conf, Index: &index, Term: &term},
	}, nil
}

// Compaction configures the cutting of the log. Zero fields take their defaults.
type Compaction struct {
	Every uint64 // entries between cuts: 1,024
	Keep  uint64 // entries that are kept for members that are behind: 4,096
	// Bytes is the size beyond which fewer entries are kept: 256 MiB, some seconds of the largest blocks. Beyond twice
	// the size, the log is cut even if a member still needs the entries.
	Bytes uint64
}

func (c Compaction) withDefaults() Compaction {
	for _, f := range []struct {
		field *uint64
		value uint64
	}{{&c.Every, 1 << 10}, {&c.Keep, 4 << 10}, {&c.Bytes, 256 << 20}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return c
}

// compact cuts a log that is too long, once the pool's journal is synced up to then. The chain needs no sync of its
// own: it shares a write-ahead log with the cut.
func (m *Member) compact() {
	if m.compaction || m.applying.working {
		return
	}
	at, long := m.compactAt()
	if !long {
		return
	}
	m.compaction = true
	m.env.Do(Applier, func() Event {
		err := m.Pool.SyncJournal()
		return func(m *Member) error {
			m.compaction = false
			if first, _ := m.Log.FirstIndex(); err != nil || at.index < first {
				return err
			}
			m.checkpoints = slices.DeleteFunc(m.checkpoints, func(p place) bool { return p.index < at.index })
			return m.Log.Cut(at.index, at.conf, at.Encode())
		}
	})
}

// compactAt returns the place at which to cut the log, and whether the log is long enough to be cut. The place must not
// be beyond raft's own applied index. Raft advances that by whole messages, and reads all entries beyond it before it
// campaigns.
func (m *Member) compactAt() (at place, long bool) {
	c := m.Compaction.withDefaults()
	first, err := m.Log.FirstIndex()
	applied := m.appliedIndex
	if err != nil || m.Log.Bytes() < c.Bytes && applied < first+c.Keep+c.Every {
		return place{}, false
	}
	limit := applied - min(applied, c.Keep)
	if m.Log.Bytes() >= c.Bytes {
		limit = m.Log.Within(c.Bytes / 2)
	}
	if m.Log.Bytes() < 2*c.Bytes {
		limit = min(limit, m.minMatched())
	}
	limit = min(limit, m.raw.BasicStatus().Applied)
	for _, p := range slices.Backward(m.checkpoints) {
		if p.index <= limit {
			return p, p.index >= first
		}
	}
	return place{}, false
}

// minMatched returns the highest index that all active voters are known to have. On a member that does not lead it is
// the last applied index.
func (m *Member) minMatched() uint64 {
	least := m.appliedIndex
	if m.leadership.soft.RaftState == raft.StateLeader {
		for _, p := range m.peers() {
			if p.Voter && p.Active {
				least = min(least, p.Match)
			}
		}
	}
	return least
}

// restart resets the member's state to a snapshot, up to which the chain and the pool have caught up.
func (m *Member) restart(s *raftpb.Snapshot) error {
	at, err := DecodePlace(s.GetData())
	if err != nil {
		return &Diverged{Index: s.GetMetadata().GetIndex(), Err: err}
	}
	m.machine, m.recent = StartStateMachine(s.GetMetadata().GetIndex(), at.Head), recent{}
	m.appliedIndex, m.appliedTerm = s.GetMetadata().GetIndex(), s.GetMetadata().GetTerm()
	m.members.conf, m.members.records = s.GetMetadata().GetConfState(), at.Members
	m.members.gone, m.members.former = at.Gone, at.Former
	m.proposal, m.applying.releasing, m.applying.working = nil, nil, false
	m.checkpoints = nil
	m.Clock.advance(at.Time)
	m.sends.retryLost(m, m.appliedIndex)
	return nil
}

// OpenClock returns a log's clock, set to the time at which the log begins.
func OpenClock(log *raftlog.Log) (*Clock, error) {
	c := new(Clock)
	snapshot, err := log.Snapshot()
	if err != nil {
		return nil, err
	}
	at, err := DecodePlace(snapshot.GetData())
	if err != nil {
		return nil, err
	}
	c.advance(at.Time)
	return c, nil
}
