package mempool

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/types"
)

// Screened is what became of one transaction of [Pool.Screen].
type Screened struct {
	Tx       *types.Tx         // also if it was refused; nil if it was not decoded
	Verified *types.VerifiedTx // nil if it was refused
	Err      error
}

// Screen is all of [Pool.AddMany] except that nothing is taken: the pool of a cluster's leader says what may be
// proposed, and [Pool.Keep] takes what was decided.
func (p *Pool) Screen(ctx context.Context, encoded [][]byte, source string) []Screened {
	b := p.examine(ctx, encoded, source)
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

// decided is what the pool of a cluster's member knows of the log.
type decided struct {
	through uint64       // the last entry of which it has taken the transactions
	out     []types.TxID // pushed out for want of room, of which the journal is to be told
}

// Keep takes the transactions of an entry on which a cluster has decided: a function of what the pool holds, of its
// limits and of Options.Moment, and so the same on every member. known returns those whose signature was verified
// before, nil for others. The results are those of [Pool.AddMany]; the journal is not synced. An error is a fault of
// this node, after which its pool may differ from the others'.
//
// A member that was started anew is told again of what was decided since its log was cut. What the journal has gives no
// results: by the state of now it would be judged otherwise than it was. Of the rest, what had expired by the newest
// block is not taken: every pool dropped it at that block, and here it would keep others out until the next one.
func (p *Pool) Keep(index uint64, txs []*types.Tx, known func(types.TxID) *types.VerifiedTx) ([]Result, error) {
	now := p.opts.Moment()
	p.mu.Lock()
	if index <= p.decided.through {
		p.mu.Unlock()
		return nil, nil
	}
	expired := !now.Add(p.opts.Expiry).After(p.head.reached)
	p.mu.Unlock()
	b := &batch{candidates: make([]*candidate, len(txs))}
	for i, tx := range txs {
		b.candidates[i] = &candidate{tx: tx, added: now, verified: known(tx.ID())}
		if expired {
			b.candidates[i].err = errExpired
		}
	}
	results, err := p.keep(b)
	if err == nil {
		err = p.keptThrough(index, b)
	}
	return results, err
}

// keptThrough notes that an entry was taken, and tells the journal of it and of what is not pending though the journal
// has it: what was refused at last, and what had to make way.
func (p *Pool) keptThrough(index uint64, b *batch) error {
	p.journal.writing.RLock()
	defer p.journal.writing.RUnlock()
	p.mu.Lock()
	p.decided.through = index
	gone := p.decided.out
	p.decided.out = nil
	for _, c := range b.candidates {
		if c.err != nil {
			gone = append(gone, c.tx.ID())
		}
	}
	gone = slices.DeleteFunc(gone, func(id types.TxID) bool { return p.index.byID[id] != nil })
	p.mu.Unlock()
	if p.journal.file == nil {
		return nil
	}
	records := make([][]byte, 0, len(gone)+1)
	for _, id := range gone {
		records = append(records, encodeDropped(id))
	}
	return p.appendToJournal(append(records, through{p.opts.Cluster, index}.encode())...)
}

// pushOut is forget of what has to make way for others, which the journal would bring back.
func (p *Pool) pushOut(e *entry) {
	if !e.gone && p.opts.decided && p.journal.file != nil {
		p.decided.out = append(p.decided.out, e.tx.ID())
	}
	p.forget(e)
}

// Taken is a transaction that another pool holds.
type Taken struct {
	Tx    *types.Tx
	Added time.Time
}

// Restore has the pool hold what that of another member of a cluster holds at the same head, which has taken what the
// log decided until an entry, and nothing else: what this one held before, the others have dropped by their later time.
// It returns when the journal, on disk, says the same.
func (p *Pool) Restore(index uint64, taken []Taken) error {
	b := &batch{candidates: make([]*candidate, len(taken))}
	ids := make(map[types.TxID]bool, len(taken))
	for i, t := range taken {
		b.candidates[i] = &candidate{tx: t.Tx, added: t.Added, restored: true}
		ids[t.Tx.ID()] = true
	}
	p.retain(ids)
	_, err := p.keep(b)
	p.mu.Lock()
	p.decided = decided{through: index}
	p.mu.Unlock()
	if err != nil || p.journal.file == nil {
		return err
	}
	return p.rewriteJournal()
}

// retain drops all transactions but these.
func (p *Pool) retain(ids map[types.TxID]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var dropped []*entry
	for at := p.index.arrivals.Front(); at != nil; at = at.Next() {
		if e := at.Value.(*entry); !ids[e.tx.ID()] {
			dropped = append(dropped, e)
		}
	}
	for _, e := range dropped {
		p.forget(e)
	}
	for _, e := range dropped {
		p.settle(e.sender)
	}
	p.enforceHeldShare()
	p.filling.updatePressure(&p.opts)
}

// All are the pending transactions in the order of their arrival, and the height of the head by which they are pending.
func (p *Pool) All() (types.Height, []Taken) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]Taken, 0, len(p.index.byID))
	for e := p.index.arrivals.Front(); e != nil; e = e.Next() {
		entry := e.Value.(*entry)
		all = append(all, Taken{entry.tx.Tx(), entry.added})
	}
	return p.head.Height, all
}

// keep takes candidates without asking whom they come from.
func (p *Pool) keep(b *batch) ([]Result, error) {
	p.mu.Lock()
	env := p.head.Env
	p.mu.Unlock()
	for _, c := range b.pending() {
		c.err = c.checkStatic(env)
	}
	p.screen(b) // what is known already was verified
	verifyTogether(b.pending())
	if err := p.commit(b); err != nil {
		return nil, err
	}
	p.counts.add(b.candidates)
	results := make([]Result, len(b.candidates))
	for i, c := range b.candidates {
		if c.err != nil && !errors.Is(c.err, errExpired) && refusalOf(c.err) == refusedOther {
			return nil, c.err
		}
		results[i] = Result{c.tx, c.err}
		p.tellAccepted(c)
	}
	return results, nil
}

// verifyTogether verifies the signatures of candidates that are not verified yet, on all cores.
func verifyTogether(candidates []*candidate) {
	unverified := slices.DeleteFunc(candidates, func(c *candidate) bool { return c.verified != nil })
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

// Limits is a digest of the settings by which the pool judges: pools with the same one that keep the same transactions
// at the same heads hold the same.
func (p *Pool) Limits() [32]byte {
	var b []byte
	for _, n := range []uint64{
		uint64(p.opts.MaxTransactions), uint64(p.opts.MaxBytes), uint64(p.opts.Expiry), uint64(p.opts.HeldPerSender),
		p.opts.NonceWindow,
	} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return sha256.Sum256(b)
}
