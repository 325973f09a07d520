package replica

import (
	"context"
	"slices"
	"sync"
	"time"

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

// sentTimes is when transactions were sent that an upstream answered for.
type sentTimes struct {
	mu sync.Mutex
	at map[types.TxID]time.Time
}

// note remembers when sending began: what an upstream answered just before it ended may be lost with it, though the
// answer is read later.
func (s *sentTimes) note(id types.TxID, begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[id] = begun
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
func (f *Forwarder) resendAll(ctx context.Context, session time.Time) bool {
	due := f.due(session)
	for len(due) > 0 {
		n, size := 0, 0
		for n < len(due) && n < forwardItems && (n == 0 || size+len(due[n].Encoded()) <= forwardBytes) {
			size += len(due[n].Encoded())
			n++
		}
		if !f.resend(ctx, due[:n]) {
			return false
		}
		due = due[n:]
	}
	return true
}

// due are the pending transactions that were not sent since the session with an upstream began, or long ago. What is
// not pending any more is forgotten.
func (f *Forwarder) due(session time.Time) (due []*types.VerifiedTx) {
	pending := f.pool.Pending(f.pool.Stats().Count)
	f.sent.mu.Lock()
	defer f.sent.mu.Unlock()
	at := make(map[types.TxID]time.Time, len(pending))
	for _, p := range slices.Backward(pending) {
		id := p.Tx.ID()
		sent, was := f.sent.at[id]
		if was {
			at[id] = sent
		}
		if !was || sent.Before(session) || time.Since(sent) >= resendAfter {
			due = append(due, p.Tx)
		}
	}
	f.sent.at = at
	return due
}

// resend sends some transactions as one batch, and reports whether an upstream decided about all of them. One that it
// refused stays in the pool, whose own rules say when it is to leave.
func (f *Forwarder) resend(ctx context.Context, txs []*types.VerifiedTx) bool {
	ctx, cancel := context.WithTimeout(ctx, forwardTime)
	defer cancel()
	batch := make([][]byte, len(txs))
	for i, tx := range txs {
		batch[i] = tx.Encoded()
	}
	answered, begun := true, time.Now()
	for i, err := range f.send(ctx, batch) {
		refused := refusal(err)
		switch {
		case err == nil || refused != nil && refused.Why == RefusedKnown:
		case refused == nil || slices.Contains([]RefusalKind{RefusedBusy, RefusedFull, RefusedReadOnly}, refused.Why):
			answered = false
			continue
		default:
			f.replica.config.Log.Info(
				"a pending transaction is refused by the producer", "transaction", txs[i].ID(), "error", err,
			)
		}
		f.sent.note(txs[i].ID(), begun)
	}
	return answered
}
