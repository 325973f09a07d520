package replica

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/pause"
	"github.com/cairn-chain/cairn/types"
)

// Timing of resending.
const (
	// resendPause is the time between two checks whether to resend.
	resendPause = time.Second
	// resendLook bounds how long transactions that entered the pool by other ways wait to be sent.
	resendLook = 30 * time.Second
	// resendAfter is the time for which an upstream's claim to have a transaction is trusted while no block includes
	// it.
	resendAfter = 2 * time.Minute
)

// resender sends a pool's pending transactions to nodes that may include them in blocks.
type resender struct {
	pool *mempool.Pool
	// send sends a batch to the first node that decides about it.
	send func(ctx context.Context, batch [][]byte) []error
	log  *slog.Logger
	// usedFor further delays the next resend of a transaction after the answer that its nonce is used.
	usedFor time.Duration

	mu sync.Mutex
	at map[types.TxID]time.Time // when the transactions that an upstream answered for were sent
}

// note records when sending began rather than when the answer was read: an upstream may answer, then end and lose the
// transaction before the answer is read.
func (r *resender) note(id types.TxID, begun time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[id] = begun
}

// Resend sends the pool's pending transactions to the upstream in use until ctx ends. These are transactions that this
// node took while it made blocks, that its upstream may have lost after they were forwarded, or that were pending when
// this node ended. Each is resent whenever the node has changed its upstream or lost contact with one even briefly, and
// otherwise periodically.
func (f *Forwarder) Resend(ctx context.Context) error {
	var sent, looked time.Time
	for again := 2; ; { // transactions arriving during the first pass are in the pool by the second
		if session := f.replica.session(); again > 0 || session.After(sent) || time.Since(looked) >= resendLook {
			looked = time.Now()
			if f.resendAll(ctx, session) {
				sent = looked
				again = max(0, again-1)
			} else {
				again = 1
			}
		}
		if pause.For(ctx, resendPause) != nil {
			return nil // ctx has ended
		}
	}
}

// resendAll sends the pending transactions that are due, oldest first, and reports whether all got an answer.
func (r *resender) resendAll(ctx context.Context, session time.Time) bool {
	due := r.due(session)
	for len(due) > 0 {
		n, size := 0, 0
		for n < len(due) && n < forwardItems && (n == 0 || size+len(due[n].Encoded()) <= forwardBytes) {
			size += len(due[n].Encoded())
			n++
		}
		if !r.resend(ctx, due[:n]) {
			return false
		}
		due = due[n:]
	}
	return true
}

// due returns the pending transactions that were last sent before the session with an upstream began or too long ago.
// It forgets transactions that are no longer pending.
func (r *resender) due(session time.Time) (due []*types.VerifiedTx) {
	pending := r.pool.Pending(r.pool.Stats().Count)
	r.mu.Lock()
	defer r.mu.Unlock()
	at := make(map[types.TxID]time.Time, len(pending))
	for _, p := range slices.Backward(pending) {
		id := p.Tx.ID()
		sent, was := r.at[id]
		if was {
			at[id] = sent
		}
		if !was || sent.Before(session) || time.Since(sent) >= resendAfter {
			due = append(due, p.Tx)
		}
	}
	r.at = at
	return due
}

// resend sends some transactions as one batch, and reports whether an upstream decided about all of them. A refused
// transaction stays in the pool; the pool's own rules decide when it leaves.
func (r *resender) resend(ctx context.Context, txs []*types.VerifiedTx) bool {
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	batch := make([][]byte, len(txs))
	for i, tx := range txs {
		batch[i] = tx.Encoded()
	}
	answered, begun := true, time.Now()
	for i, err := range r.send(ctx, batch) {
		refused := refusal(err)
		at := begun
		switch {
		case err == nil || refused != nil && refused.Why == RefusedKnown:
		case refused != nil && refused.Why == RefusedUsed:
			at = begun.Add(r.usedFor)
		case refused == nil || slices.Contains([]RefusalKind{RefusedBusy, RefusedFull, RefusedReadOnly}, refused.Why):
			answered = false
			continue
		default:
			r.log.Info("the producer refused a pending transaction", "transaction", txs[i].ID(), "error", err)
		}
		r.note(txs[i].ID(), at)
	}
	return answered
}

// Drain sends the transactions in a pool to nodes that may make blocks, or that forward to one that does, until ctx
// ends. It does so only while holds reports that this node neither follows a chain nor makes blocks. No block removes
// transactions from the pool then, so each one is resent until a node reports that its nonce is used.
func Drain(ctx context.Context, pool *mempool.Pool, sources []Source, holds func() bool, log *slog.Logger) {
	r := resender{pool: pool, log: log, at: make(map[types.TxID]time.Time), usedFor: forever}
	r.send = func(ctx context.Context, batch [][]byte) []error { return sendToAny(ctx, sources, batch) }
	for pause.For(ctx, resendPause) == nil {
		if holds() {
			r.resendAll(ctx, time.Time{})
		}
	}
}

// forever is longer than any process lives.
const forever = 100 * 365 * 24 * time.Hour

// sendToAny sends a batch to the first source that decides about it, skipping those that take no transactions.
func sendToAny(ctx context.Context, sources []Source, batch [][]byte) (errs []error) {
	for _, s := range sources {
		if errs = s.Send(ctx, batch); !unanswered(errs) && !isReadOnly(errs) {
			break
		}
	}
	return errs
}

// isReadOnly reports whether the node takes no transactions at all.
func isReadOnly(errs []error) bool {
	return slices.ContainsFunc(errs, func(err error) bool {
		refused := refusal(err)
		return refused != nil && refused.Why == RefusedReadOnly
	})
}
