package cluster

import (
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

// Bounds up to which a follower holds back decided batches. Its pool then takes them together: verifying many
// signatures at once costs little more than half as much per signature as verifying a few.
const (
	holdTime  = 2 * TickTime // from when the first was appended
	holdBytes = 1 << 20      // for all batches: some 4,000 transfers
)

// appended notes the time of entries that were appended to a log that is applied up to an index.
func (a *applying) appended(entries []*raftpb.Entry, applied uint64, now time.Time) {
	if len(entries) > 0 && entries[0].GetIndex() == applied+1 {
		a.since = now
	}
}

// batches returns the batches at the front of the queue. It also reports whether they are the whole queue and are
// smaller than holdBytes, so that they may be held back.
func (a *applying) batches() (next []*raftpb.Entry, all bool) {
	size, from := 0, a.next
	for _, message := range a.messages {
		for _, e := range message.GetEntries()[from:] {
			if size >= holdBytes || !isTxBatch(e) {
				return next, false
			}
			next, size = append(next, e), size+len(e.GetData())
		}
		from = 0
	}
	return next, size < holdBytes
}

func isTxBatch(e *raftpb.Entry) bool {
	return e.GetType() == raftpb.EntryType_EntryNormal && len(e.GetData()) > 0 && kind(e.GetData()[0]) == kindTxBatch
}

// mayGather reports whether decided batches may be held back: on a follower, while no caller here waits for one.
func (m *Member) mayGather() bool {
	return m.catching == nil &&
		m.leadership.soft.RaftState == raft.StateFollower && m.leadership.soft.Lead != raft.None &&
		len(m.sends.behind) == 0 && len(m.sends.flying) == 0 && m.env.Now().Sub(m.applying.since) < holdTime
}

// applyBatches adds decided batches to the pool. For a batch that this member proposed, it uses the decoded batch and
// the verified transactions that it still has. In other batches, it does not verify transactions again that this member
// forwarded.
func (m *Member) applyBatches(entries []*raftpb.Entry) error {
	decided := make([]mempool.CommittedBatch, len(entries))
	verified := make(map[types.TxID]*types.VerifiedTx)
	for i, e := range entries {
		var entry Entry
		var err error
		if p := m.sends.flying[e.GetIndex()]; p != nil && p.term == e.GetTerm() {
			entry = p.batch
			for _, s := range p.items {
				verified[s.verified.ID()] = s.verified
			}
		} else {
			entry, err = Decode(e.GetData())
		}
		if err == nil {
			_, err = m.machine.Apply(e.GetIndex(), entry)
		}
		if err != nil {
			return &Diverged{Index: e.GetIndex(), Err: err}
		}
		batch := entry.(TxBatch)
		m.Clock.advance(batch.Time)
		m.recent.add(e, batch.Transactions)
		for _, tx := range batch.Transactions {
			if v := m.sends.forwarded[tx.ID()]; v != nil {
				verified[tx.ID()] = v
			}
		}
		decided[i] = mempool.CommittedBatch{Index: e.GetIndex(), At: m.Clock.Now(), Transactions: batch.Transactions}
	}
	m.applying.working = true
	m.env.Do(Applier, func() Event {
		results, err := m.Pool.ApplyBatches(decided, func(id types.TxID) *types.VerifiedTx { return verified[id] })
		return func(m *Member) error {
			for i, e := range entries {
				if err == nil {
					m.sends.batchApplied(e, results[i])
					err = m.applied(e)
				}
			}
			return err
		}
	})
	return nil
}
