package sender

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Sent is a job that was sent. It is safe for concurrent use.
type Sent struct {
	s    *Sender
	id   string
	job  *job // nil for one that was done earlier
	done done
}

// ID returns the job's ID: the caller's, or one that begins with "cairn:".
func (t *Sent) ID() string { return t.id }

// Accepted waits until a node has accepted the transaction, and returns its hash; a replacement has another hash. It
// returns the node's refusal, an error of this package, or the context's error.
func (t *Sent) Accepted(ctx context.Context) (types.TxID, error) {
	if t.job == nil {
		return t.done.hash, nil
	}
	if err := t.wait(ctx, &t.job.accepted); err != nil {
		return types.TxID{}, err
	}
	return t.job.accepted.hash, t.job.accepted.err
}

// Receipt waits until a block has the transaction. The receipt of a failed transaction is not an error: see
// [client.Failure]. It returns the errors of Accepted. If the context ends first, the transaction may still be included
// later; call Receipt again, or Send with the same ID, to find out.
func (t *Sent) Receipt(ctx context.Context) (api.Receipt, error) {
	if t.job == nil {
		return t.s.client.WaitReceipt(ctx, t.done.hash)
	}
	if err := t.wait(ctx, &t.job.ended); err != nil {
		return api.Receipt{}, err
	}
	return t.job.ended.receipt, t.job.ended.err
}

// Proven is like Receipt, but also waits until the node has a proof of the block.
func (t *Sent) Proven(ctx context.Context) (api.Receipt, error) {
	receipt, err := t.Receipt(ctx)
	if err == nil {
		err = t.s.client.WaitProven(ctx, receipt.BlockHeight)
	}
	return receipt, err
}

// Cancel cancels the job, and returns nil once no block can include it. Then its ID is free again, and Receipt returns
// [ErrCancelled], or [api.ErrExpired] if its time was over before. If a node may have the transaction, a zero transfer to
// oneself takes its nonce, with both fees at least 10 % higher; this transfer costs its fee. Cancel returns [*TooLate] if a block had the job first, and otherwise
// the errors of Receipt. If the context ends first, the job may still be cancelled or done; call Cancel again to find
// out.
func (t *Sent) Cancel(ctx context.Context) error {
	if t.job != nil {
		t.s.unwant(t.job)
	}
	receipt, err := t.Receipt(ctx)
	switch {
	case errors.Is(err, ErrCancelled), errors.Is(err, api.ErrExpired):
		return nil
	case err != nil:
		return err
	}
	return &TooLate{Receipt: receipt}
}

// wait waits until a promise is resolved or the context ends. A resolved promise takes precedence.
func (t *Sent) wait(ctx context.Context, p *promise) error {
	if p.isDecided() {
		return nil
	}
	select {
	case <-p.decided:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%s is under way: %w", t.id, ctx.Err())
	}
}
