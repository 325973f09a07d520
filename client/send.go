package client

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// The pauses between polls for a receipt grow by half from the first to the longest.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// Run runs a transaction on the latest state without sending it, and returns its output. Fees and nonce are not
// checked, and a gas limit of 0 means the most that the node allows.
func (c *Client) Run(ctx context.Context, tx types.Transaction) ([]byte, error) {
	return Invoke(ctx, c, api.Call, api.RawTransactionParams{Transaction: tx.EncodeUnsigned()})
}

// EstimateGas returns the gas limit that a transaction needs on the latest state. It counts witnesses as large as the
// given ones of the sender and, unless nil, the payer.
func (c *Client) EstimateGas(ctx context.Context, tx types.Transaction, sender, payer Party) (types.Gas, error) {
	gas, err := Invoke(ctx, c, api.EstimateGas, api.RawTransactionParams{Transaction: EncodeForEstimate(tx, sender, payer)})
	return types.Gas(gas), err
}

// EncodeForEstimate returns a transaction as svc_estimateGas takes it: with samples of witnesses, or unsigned, which is
// priced as if keys signed.
func EncodeForEstimate(tx types.Transaction, sender, payer Party) []byte {
	signed := types.SignedTransaction{Transaction: tx, Witness: sender.Sample(tx.Payload, AsSender)}
	_, byKey := signed.Witness.(types.WitnessKey)
	if payer != nil {
		signed.PayerWitness = payer.Sample(tx.Payload, AsPayer)
		_, payerByKey := signed.PayerWitness.(types.WitnessKey)
		byKey = byKey && payerByKey
	}
	if byKey {
		return tx.EncodeUnsigned()
	}
	return signed.Encode()
}

// Send submits a transaction to the mempool and returns as soon as the node has accepted it.
func (c *Client) Send(ctx context.Context, tx types.SignedTransaction) (types.TxID, error) {
	id, err := Invoke(ctx, c, api.SendRawTransaction, api.RawTransactionParams{Transaction: tx.Encode()})
	if err == nil {
		c.sent(tx.Transaction)
	}
	return id, err
}

// SendAndWait submits a transaction, which the node may already know, and waits for its receipt. When the context ends,
// the error wraps [api.ErrTimeUp] and the context's error. It returns [api.ErrDisplaced] once a block has another
// transaction with the same nonce, [api.ErrExpired] once its valid_until is over and no block has it, and
// [api.ErrDropped] once the node's mempool has dropped it. The receipt of a failed transaction is not an error: see
// [Failure].
func (c *Client) SendAndWait(ctx context.Context, tx types.SignedTransaction) (api.Receipt, error) {
	receipt, err := Invoke(ctx, c, api.SendRawTransactionSync, api.RawTransactionParams{Transaction: tx.Encode()})
	switch {
	case err == nil:
		c.sent(tx.Transaction)
		c.saw(receipt.BlockHeight)
		return receipt, nil
	case ctx.Err() != nil:
		return api.Receipt{}, timeUp(tx.ID(), ctx.Err())
	case errors.Is(err, errNoMethod):
		if _, err := c.Send(ctx, tx); err != nil && !errors.Is(err, api.ErrAlreadyKnown) {
			return api.Receipt{}, err
		}
	case !errors.Is(err, api.ErrTimeUp):
		return api.Receipt{}, err
	}
	return c.waitReceipt(ctx, tx.ID(), &place{tx.Sender, tx.Nonce, tx.ValidUntil})
}

// errNoMethod matches the error of a node that does not have the method.
var errNoMethod = &Error{Code: jsonrpc.CodeMethodNotFound}

// WaitReceipt polls, with growing pauses, for the receipt of a transaction. When the context ends, the error wraps
// [api.ErrTimeUp] and the context's error. It returns [api.ErrDisplaced] once a block has another transaction with the
// same nonce, [api.ErrExpired] once its valid_until is over and no block has it, and [api.ErrDropped] once the node's
// mempool has dropped it. It also waits for a transaction that the node does not know.
func (c *Client) WaitReceipt(ctx context.Context, id types.TxID) (api.Receipt, error) {
	return c.waitReceipt(ctx, id, nil)
}

// place is the sender and nonce of a transaction, and the end of its validity.
type place struct {
	sender     types.Account
	nonce      uint64
	validUntil *uint64
}

// waitReceipt is WaitReceipt for a transaction at a place, or nil if the place is not known.
func (c *Client) waitReceipt(ctx context.Context, id types.TxID, at *place) (api.Receipt, error) {
	for pause := firstPause; ; pause = min(pause*3/2, longestPause) {
		receipt, err := c.Receipt(ctx, id)
		switch {
		case receipt != nil:
			c.saw(receipt.BlockHeight)
			return *receipt, nil
		case ctx.Err() != nil:
			return api.Receipt{}, timeUp(id, ctx.Err())
		case err != nil && !errors.Is(err, api.ErrPruned): // ErrPruned: in no block that the node keeps, or not yet
			return api.Receipt{}, err
		}
		if at, err = c.gone(ctx, id, at); err != nil {
			return api.Receipt{}, err
		}
		if err := c.wait(ctx, pause); err != nil {
			return api.Receipt{}, timeUp(id, err)
		}
	}
}

// gone reports why waiting for a transaction without a receipt is pointless: it returns [api.ErrExpired],
// [api.ErrDropped], or [api.ErrDisplaced] if a block has another transaction at its place. It also returns the place
// once it is known. Errors of the node are ignored, as the caller polls again.
func (c *Client) gone(ctx context.Context, id types.TxID, at *place) (*place, error) {
	if at != nil && at.validUntil != nil && c.isExpired(ctx, id, *at.validUntil) {
		return at, &Error{
			Code: api.ErrExpired.Code, Message: fmt.Sprintf("%s has expired (valid_until), and is not in a block", id),
			Data: map[string]any{"reason": api.ErrExpired.Data["reason"], "hash": id},
		}
	}
	status, err := Invoke(ctx, c, api.GetTransactionStatus, api.TransactionParams{Hash: id})
	switch {
	case err == nil && status.Status == api.StatusPending && at != nil:
		return at, nil
	case err == nil && status.Status == api.StatusDropped && status.Error != nil && *status.Error != replaced:
		message := fmt.Sprintf("%s was dropped from the mempool, and is not in a block: %s. Send it again unchanged", id, *status.Error)
		return at, &Error{Code: api.ErrDropped.Code, Message: message, Data: map[string]any{
			"reason": api.ErrDropped.Data["reason"], "hash": id, "cause": *status.Error,
		}}
	case at == nil:
		pending, err := c.Transaction(ctx, id)
		if err != nil || pending == nil {
			return nil, nil
		}
		return &place{pending.From, uint64(pending.Nonce), pending.ValidUntil}, nil
	}
	used, err := c.Nonce(ctx, at.sender, api.NonceRef{})
	if err != nil || used <= at.nonce {
		return at, nil
	}
	other, err := Invoke(ctx, c, api.GetTransactionByNonce, api.TransactionByNonceParams{
		Account: at.sender.String(), Nonce: api.LooseQuantity(at.nonce),
	})
	if err != nil || other == nil || other.BlockHash == nil || other.Hash == id {
		return at, nil
	}
	message := fmt.Sprintf("%s can never be included in a block: %s has used its nonce; if that is not its "+
		"replacement, sign it again with a new nonce", id, other.Hash)
	return at, &Error{Code: api.ErrDisplaced.Code, Message: message, Data: map[string]any{
		"reason": api.ErrDisplaced.Data["reason"], "hash": id, "by": other.Hash,
	}}
}

// isExpired reports whether a block is later than a transaction's valid_until, and neither it nor one before has the
// transaction: then none ever will.
func (c *Client) isExpired(ctx context.Context, id types.TxID, validUntil uint64) bool {
	var b Batch // the head first: the receipt is looked for in its block too
	headCall := Add(&b, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: api.Latest(), HeadersOnly: true})
	receiptCall := Add(&b, api.GetTransactionReceipt, api.TransactionParams{Hash: id})
	if err := b.SendOnce(ctx, c); err != nil || b.Divided() {
		return false
	}
	head, err := headCall.Result()
	if err != nil || head == nil || head.TimestampMs <= validUntil {
		return false
	}
	receipt, err := receiptCall.Result()
	return err == nil && receipt == nil
}

// replaced is the error in the status of a transaction whose nonce another pending transaction has; a block decides
// between them.
const replaced = "replaced"

// timeUp returns [api.ErrTimeUp] for a transaction, joined with the context's error.
func timeUp(id types.TxID, ended error) error {
	e := &Error{Code: api.ErrTimeUp.Code, Message: "the transaction is not in a block yet", Data: map[string]any{
		"reason": api.ErrTimeUp.Data["reason"], "hash": id,
	}}
	return fmt.Errorf("%w: %w", e, ended)
}

// Failure returns nil for the receipt of a successful transaction. Otherwise it returns [api.ErrExecutionFailed] with
// the receipt's reason, hash, gas and revert data in the error's data.
func Failure(receipt api.Receipt) error {
	if types.ReceiptStatus(receipt.Status) == types.StatusSuccess {
		return nil
	}
	reason := "unknown"
	if receipt.Error != nil {
		reason = *receipt.Error
	}
	message := "the transaction is in a block and failed: " + api.FailureText(reason, receipt.ReturnData)
	return &Error{Code: api.CodeExecutionFailed, Message: message, Data: map[string]any{
		"reason": reason, "hash": receipt.TransactionHash, "blockHeight": receipt.BlockHeight,
		"gasUsed": receipt.GasUsed, "revertData": receipt.ReturnData,
	}}
}
