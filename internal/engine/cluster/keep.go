package cluster

import (
	"time"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/types"
)

// Until when a follower's decided batches wait for others. Its pool takes them together then, which verifies many
// signatures for little more than half of what few cost each.
const (
	holdTime  = TickTime
	holdBytes = 256 << 10 // of them all: some 1,000 transfers
)

// add adds a message of decided entries.
func (a *applying) add(message *raftpb.Message, now time.Time) {
	if len(a.messages) == 0 {
		a.since = now
	}
	a.messages = append(a.messages, message)
}

// batches are the decided batches that are to be applied next. It tells whether nothing else is decided, and not so
// much that it should wait no more.
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

// mayHold tells whether decided batches may wait: a follower's, of which nobody here waits to hear.
func (m *Member) mayHold() bool {
	return m.standing.soft.RaftState == raft.StateFollower && m.standing.soft.Lead != raft.None && m.catching == nil &&
		len(m.sends.behind) == 0 && len(m.sends.flying) == 0 && m.world.Now().Sub(m.applying.since) < holdTime
}

// keep has the pool take what was decided. Of what this member proposed it has what the entry says.
func (m *Member) keep(entries []*raftpb.Entry) error {
	decided := make([]mempool.Decided, len(entries))
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
			_, err = m.decisions.machine.Apply(e.GetIndex(), entry)
		}
		if err != nil {
			return &Diverged{Index: e.GetIndex(), Err: err}
		}
		batch := entry.(TxBatch)
		m.Clock.advance(batch.Time)
		decided[i] = mempool.Decided{Index: e.GetIndex(), At: m.Clock.Now(), Transactions: batch.Transactions}
	}
	m.applying.working = true
	m.world.Do(Applier, func() Event {
		results, err := m.Pool.Keep(decided, func(id types.TxID) *types.VerifiedTx { return verified[id] })
		return func(m *Member) error {
			for i, e := range entries {
				if err == nil {
					m.sends.kept(e, results[i])
					err = m.applied(e)
				}
			}
			return err
		}
	})
	return nil
}
