package mempool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/types"
)

// Screened is what became of one transaction of [Pool.Screen] or [Pool.Verify].
type Screened struct {
	Tx       *types.Tx         // also if it was refused; nil if it was not decoded
	Verified *types.VerifiedTx // nil if it was refused
	Err      error
}

// Screen is all of [Pool.AddMany] except that nothing is taken: the pool of a cluster's leader says what may be
// proposed, and [Pool.Keep] takes what was decided.
func (p *Pool) Screen(ctx context.Context, encoded [][]byte, source string) []Screened {
	return p.screened(p.examine(ctx, encoded, source))
}

// screened tells what became of candidates that the pool does not take now, and counts those that were refused.
func (p *Pool) screened(b *batch) []Screened {
	var refused []*candidate
	screened := make([]Screened, len(b.candidates))
	for i, c := range b.candidates {
		screened[i] = Screened{Tx: c.tx, Err: c.err}
		if c.err == nil {
			screened[i].Verified = c.verified
		} else {
			refused = append(refused, c)
		}
	}
	p.counts.add(refused)
	return screened
}

// Decided is an entry of transactions on which a cluster has decided.
type Decided struct {
	Index        uint64    // in the log
	At           time.Time // when they arrive, by the log
	Transactions []*types.Tx
}

// Keep adds the transactions of entries on which a cluster has decided, one entry after the other, with the signatures
// of all verified together. It is a function of what the pool holds and of its limits, so it does the same on every
// member, however many entries come at a time. known returns those whose signature was verified before, nil for others.
// The results are those of [Pool.AddMany] for each entry; the journal is not synced. An error is a fault of this node,
// after which its pool may differ from the others'.
//
// A member that was started anew is told again of what was decided since its log was cut. What its pool has taken
// before gives no results.
func (p *Pool) Keep(decided []Decided, known func(types.TxID) *types.VerifiedTx) ([][]Result, error) {
	p.decided.moving.Lock()
	defer p.decided.moving.Unlock()
	batches := make([]*batch, len(decided))
	var all []*candidate
	for i, d := range decided {
		if d.Index <= p.decided.through {
			continue
		}
		batches[i] = &batch{candidates: make([]*candidate, len(d.Transactions))}
		for j, tx := range d.Transactions {
			c := &candidate{tx: tx, added: d.At, verified: known(tx.ID())}
			if c.verified == nil {
				c.verified, _ = p.Get(tx.ID())
			}
			batches[i].candidates[j] = c
		}
		all = append(all, batches[i].candidates...)
	}
	if len(decided) == 0 || decided[len(decided)-1].Index <= p.decided.through {
		return make([][]Result, len(decided)), nil
	}
	verifyTogether(all)
	results := make([][]Result, len(decided))
	for i, b := range batches {
		if b == nil {
			continue
		}
		var err error
		if results[i], err = p.keep(b); err != nil {
			return nil, err
		}
		p.decided.through = decided[i].Index
		var refused []types.TxID // which the journal has
		for _, c := range b.candidates {
			if c.err != nil {
				refused = append(refused, c.tx.ID())
			}
		}
		// Of each entry by itself: the next one may bring again what this one has refused or pushed out.
		if err := p.notePosition(refused...); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// keep takes candidates whose signatures were verified, without asking whom they come from.
func (p *Pool) keep(b *batch) ([]Result, error) {
	p.mu.Lock()
	env := p.head.Env
	p.mu.Unlock()
	for _, c := range b.pending() {
		c.err = c.checkStatic(env)
	}
	p.screen(b)
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
		p.tellAccepted(c)
	}
	return results, nil
}

// verifyTogether verifies the signatures of candidates that are not verified yet, on all cores.
func verifyTogether(candidates []*candidate) {
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
		for j, v := range types.VerifySignatures(txs) {
			if batches[i][j].verified = v; v == nil {
				batches[i][j].err = ErrBadSignature
			}
		}
	})
}

// SyncJournal returns when what the journal holds is on disk; at once without one.
func (p *Pool) SyncJournal() error {
	if p.journal.file == nil {
		return nil
	}
	return p.journal.file.Sync()
}

// rulesVersion changes with the rules of what makes way: members of a cluster with other rules would hold other pools.
const rulesVersion = 2

// Limits is a digest of the settings and rules by which the pool judges. Pools with the same one that keep the same
// transactions at the same heads hold the same.
func (p *Pool) Limits() [32]byte {
	var b []byte
	for _, n := range []uint64{
		uint64(p.opts.MaxTransactions), uint64(p.opts.MaxBytes), uint64(p.opts.Expiry), uint64(p.opts.HeldPerSender),
		p.opts.NonceWindow, rulesVersion,
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return sha256.Sum256(b)
}
