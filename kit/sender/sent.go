package sender

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Sent is one job on its way. Its methods may be called by several goroutines, and again.
type Sent struct {
	s    *Sender
	id   string
	job  *job // nil of one that was done before
	done done
}

// ID is the job's: the caller's, or one that begins with "cairn:".
func (t *Sent) ID() string { return t.id }

// Accepted waits until a node has taken the transaction, and returns its hash; a replacement has another. It fails
// with what the node refused it with, with an error of this package, or with the context's.
func (t *Sent) Accepted(ctx context.Context) (types.TxID, error) {
	if t.job == nil {
		return t.done.hash, nil
	}
	if err := t.wait(ctx, &t.job.accepted); err != nil {
		return types.TxID{}, err
	}
	return t.job.accepted.hash, t.job.accepted.err
}

// Receipt waits until a block has the transaction. That of a transaction that failed is no error: see
// [client.Failure]. It fails as Accepted does. When the context ends first the transaction may get into a block later,
// and another Receipt or Send with the same ID tells.
func (t *Sent) Receipt(ctx context.Context) (api.Receipt, error) {
	if t.job == nil {
		return t.s.client.WaitReceipt(ctx, t.done.hash)
	}
	if err := t.wait(ctx, &t.job.ended); err != nil {
		return api.Receipt{}, err
	}
	return t.job.ended.receipt, t.job.ended.err
}

// Proven is Receipt, and waits until the node has a proof of the block too.
func (t *Sent) Proven(ctx context.Context) (api.Receipt, error) {
	receipt, err := t.Receipt(ctx)
	if err == nil {
		err = t.s.client.WaitProven(ctx, receipt.BlockHeight)
	}
	return receipt, err
}

// Cancel takes the job back, and returns nil once no block can have it any more. Its ID is free again then, and Receipt
// fails with [ErrCancelled]. If a node may have the transaction, a transfer of nothing to oneself takes its nonce. Both
// of that transfer's fees are higher by a tenth at least, and it costs its fee. Cancel fails with [*TooLate] if a block
// had the job first, and else as Receipt does. When the context ends first the job may yet be cancelled or done, and
// another Cancel tells.
func (t *Sent) Cancel(ctx context.Context) error {
	if t.job != nil {
		t.s.unwant(t.job)
	}
	receipt, err := t.Receipt(ctx)
	switch {
	case errors.Is(err, ErrCancelled):
		return nil
	case err != nil:
		return err
	}
	return &TooLate{Receipt: receipt}
}

// wait waits until a promise is decided or the context ends; what is decided counts first.
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
