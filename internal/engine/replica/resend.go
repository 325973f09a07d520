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

// When what waits for a block is sent again.
const (
	// resendPause is the time between two looks whether there is reason to.
	resendPause = time.Second
	// resendLook is how long what may have come into the pool by another way waits for being sent.
	resendLook = 30 * time.Second
	// resendAfter is how long an upstream's word that it has a transaction is trusted while no block has it.
	resendAfter = 2 * time.Minute
)

// resender sends what waits in a pool for a block to nodes that may make it.
type resender struct {
	pool *mempool.Pool
	// send sends a batch to the first node that says what becomes of it.
	send func(ctx context.Context, batch [][]byte) []error
	log  *slog.Logger
	// usedFor is for how much longer than other answers it is trusted that a transaction's nonce is used.
	usedFor time.Duration

	mu sync.Mutex
	at map[types.TxID]time.Time // when transactions were sent that an upstream answered for
}

// note remembers when sending began: what an upstream answered just before it ended may be lost with it, though the
// answer is read later.
func (r *resender) note(id types.TxID, begun time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at[id] = begun
}

// Resend sends what is in the pool and in no block to the upstream in use, until ctx ends. Those are transactions that
// this node took while it made blocks, that its upstream may have lost since it forwarded them, or that it had when it
// ended. Each is sent once after the node has changed to another upstream or lost contact with one even for a moment.
// It is also sent once in a while.
func (f *Forwarder) Resend(ctx context.Context) error {
	var sent, looked time.Time
	for again := 2; ; { // what is being taken while this begins is there the second time
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
			return nil // the context has ended
		}
	}
}

// resendAll sends the pending transactions that are due, the oldest first, and reports whether all got an answer.
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

// due are the pending transactions that were not sent since the session with an upstream began, or long ago. What is
// not pending any more is forgotten.
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

// resend sends some transactions as one batch, and reports whether an upstream decided about all of them. One that it
// refused stays in the pool, whose own rules say when it is to leave.
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
			r.log.Info("a pending transaction is refused by the producer", "transaction", txs[i].ID(), "error", err)
		}
		r.note(txs[i].ID(), at)
	}
	return answered
}
