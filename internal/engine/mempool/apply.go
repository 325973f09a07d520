package mempool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/types"
)

// Checked is the outcome of one transaction of [Pool.CheckBatch] or [Pool.Verify].
type Checked struct {
	Tx       *types.Tx         // nil only if it could not be decoded
	Verified *types.VerifiedTx // nil if it was refused
	Err      error
}

// CheckBatch is like [Pool.AddMany], but does not add the transactions. The leader of a cluster calls it to find which
// ones to propose, and [Pool.ApplyBatches] adds those that were committed.
func (p *Pool) CheckBatch(ctx context.Context, encoded [][]byte, source string) []Checked {
	return p.checked(p.examine(ctx, encoded, source, false))
}

// checked returns the outcomes of candidates without adding them, and counts the refusals.
func (p *Pool) checked(b *batch) []Checked {
	var refused []*candidate
	screened := make([]Checked, len(b.candidates))
	for i, c := range b.candidates {
		screened[i] = Checked{Tx: c.tx, Err: c.err}
		if c.err == nil {
			screened[i].Verified = c.verified
		} else {
			refused = append(refused, c)
		}
	}
	p.counts.add(refused)
	return screened
}

// CommittedBatch is a committed entry of a cluster's log with transactions.
type CommittedBatch struct {
	Index        uint64    // index in the log
	At           time.Time // arrival time, on the log's clock
	Transactions []*types.Tx
}

// ApplyBatches adds the transactions of committed entries in order, and verifies all their signatures together. The
// effect depends only on the pool's content and limits, so it is the same on every member, however the entries are
// grouped. known returns transactions whose witnesses are already verified, or nil; one with other witnesses is not
// used. The results are as from [Pool.AddMany] for each entry; the journal is not synced. An error is a fault of this
// node, after which its pool may differ from the others'.
//
// A restarted member calls ApplyBatches again for entries after the last cut of its log. For entries that the pool has
// already taken, the result is nil.
func (p *Pool) ApplyBatches(committed []CommittedBatch, known func(types.TxID) *types.VerifiedTx) ([][]Result, error) {
	p.moving.Lock()
	defer p.moving.Unlock()
	batches := make([]*batch, len(committed))
	var all []*candidate
	for i, d := range committed {
		if d.Index <= p.appliedIndex {
			continue
		}
		batches[i] = &batch{candidates: make([]*candidate, len(d.Transactions))}
		for j, tx := range d.Transactions {
			c := &candidate{tx: tx, added: d.At, verified: sameBytes(known(tx.ID()), tx)}
			if c.verified == nil {
				c.verified = p.verifiedAs(tx)
			}
			batches[i].candidates[j] = c
		}
		all = append(all, batches[i].candidates...)
	}
	if len(committed) == 0 || committed[len(committed)-1].Index <= p.appliedIndex {
		return make([][]Result, len(committed)), nil
	}
	p.verifyTogether(all)
	results := make([][]Result, len(committed))
	for i, b := range batches {
		if b == nil {
			continue
		}
		var err error
		if results[i], err = p.applyBatch(b); err != nil {
			return nil, err
		}
		p.appliedIndex = committed[i].Index
		var refused []types.TxID // the journal has them
		for _, c := range b.candidates {
			if c.err != nil {
				refused = append(refused, c.tx.ID())
			}
		}
		// Note the position after each entry: the next one may add a transaction that this one refused or evicted.
		if err := p.notePosition(refused...); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// applyBatch adds candidates with verified signatures, without a source.
func (p *Pool) applyBatch(b *batch) ([]Result, error) {
	rules := p.rules()
	for _, c := range b.pending() {
		c.err = c.checkStatic(rules)
	}
	if err := p.commit(b); err != nil {
		return nil, err
	}
	p.counts.add(b.candidates)
	results := make([]Result, len(b.candidates))
	for i, c := range b.candidates {
		if c.err != nil && refusalOf(c.err) == refusedOther {
			return nil, c.err
		}
		results[i] = Result{c.tx, c.err}
		p.notifyAccepted(c)
	}
	return results, nil
}

// sameBytes returns verified if it is tx with the same witnesses, and otherwise nil: an ID does not cover the
// witnesses.
func sameBytes(verified *types.VerifiedTx, tx *types.Tx) *types.VerifiedTx {
	if verified == nil || !bytes.Equal(verified.Encoded(), tx.Encoded()) {
		return nil
	}
	return verified
}

// verifiedAs returns the pending transaction with exactly these bytes, or nil.
func (p *Pool) verifiedAs(tx *types.Tx) *types.VerifiedTx {
	pending, _ := p.Get(tx.ID())
	return sameBytes(pending, tx)
}

// verifyTogether verifies the signatures of candidates that are not verified yet, on all cores.
func (p *Pool) verifyTogether(candidates []*candidate) {
	var unverified []*candidate
	for _, c := range candidates {
		if c.verified == nil {
			unverified = append(unverified, c)
		}
	}
	batches := slices.Collect(slices.Chunk(unverified, batchSize))
	parallel.Run(len(batches), func(i int) {
		txs := make([]*types.Tx, len(batches[i]))
		for j, c := range batches[i] {
			txs[j] = c.tx
		}
		for j, v := range types.VerifyWitnesses(p.opts.network, txs) {
			if batches[i][j].verified = v; v == nil {
				batches[i][j].err = ErrBadSignature
			}
		}
	})
}

// SyncJournal makes the journal durable. Without a journal it does nothing.
func (p *Pool) SyncJournal() error {
	if p.journal == nil {
		return nil
	}
	return p.journal.Sync()
}

// rulesVersion must change with the eviction rules: members with different rules would have different pools.
const rulesVersion = 4

// Limits returns a digest of the pool's settings and rules. Pools with equal digests that keep the same transactions at
// the same heads have the same content.
func (p *Pool) Limits() [32]byte {
	var b []byte
	for _, n := range []uint64{
		uint64(p.opts.MaxTransactions), uint64(p.opts.MaxBytes), uint64(p.opts.Expiry), uint64(p.opts.HeldPerSender),
		p.opts.NonceWindow, uint64(p.opts.PerPayer), rulesVersion,
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return sha256.Sum256(b)
}
