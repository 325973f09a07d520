package rpc

import (
	"cmp"
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

// transactionReader reads transactions of blocks.
type transactionReader struct{ chain transactionStore }

// foundTransaction is a transaction in a block.
type foundTransaction struct {
	id      types.TxID
	tx      types.SignedTransaction
	receipt types.Receipt
	reason  exec.Reason
	place
}

func (r *transactionReader) findIncluded(id types.TxID) (*foundTransaction, error) {
	position, err := r.chain.FindTransaction(id)
	if err != nil {
		return nil, absent(err)
	}
	found, err := r.at(position, nil)
	if err != nil {
		return nil, absent(err)
	}
	return found, nil
}

// unknown returns the error of a look-up without result: nil if the node has all blocks since genesis, which has no
// transactions; otherwise an error that says that the result may be in a pruned block.
func unknown(blocks headers) error {
	oldest := blocks.OldestHeight()
	if oldest <= 1 {
		return nil
	}
	e := withData(api.ErrPruned, "oldestHeight", oldest)
	e.Message = "it is in no block stored on this node"
	return e
}

// at reads the transaction at a position. If neighbour is in the same block, it reuses that block's header.
func (r *transactionReader) at(position chain.Position, neighbour *foundTransaction) (*foundTransaction, error) {
	stored, err := r.chain.Transaction(position)
	if err != nil {
		return nil, err
	}
	found := &foundTransaction{id: stored.ID, tx: stored.Transaction, receipt: stored.Receipt, reason: stored.Reason}
	if neighbour != nil && neighbour.header.Height == position.Height {
		found.place = neighbour.place
	} else {
		header, err := r.chain.Header(position.Height)
		if err != nil {
			return nil, err
		}
		found.header, found.hash = header.Header, header.Header.Hash()
	}
	found.index = position.Index
	return found, nil
}

// receipt renders the receipt of an included transaction. Its cost does not depend on the size of the block.
func (r *transactionReader) receipt(found *foundTransaction) (*api.Receipt, error) {
	first := uint32(0)
	if len(found.receipt.Logs) > 0 {
		var err error
		if first, err = r.chain.FirstLog(chain.Position{Height: found.header.Height, Index: found.index}); err != nil {
			return nil, absent(err)
		}
	}
	receipt := newReceipt(found, first)
	return &receipt, nil
}

// newReceipt renders a transaction's receipt. Its logs are numbered from first.
func newReceipt(found *foundTransaction, first uint32) api.Receipt {
	to, _ := recipient(&found.tx.Transaction)
	price := effectivePrice(&found.tx, found.header)
	receipt := api.Receipt{
		TransactionHash:   found.id,
		BlockHeight:       found.header.Height,
		BlockHash:         found.hash,
		Status:            api.Quantity(found.receipt.Status),
		GasUsed:           api.Quantity(found.receipt.GasUsed),
		ContractAddress:   found.receipt.Contract,
		Logs:              make([]api.Log, len(found.receipt.Logs)),
		TransactionIndex:  found.index,
		EffectiveGasPrice: price,
		Fee:               api.Quantity(found.receipt.GasUsed) * price, // at most gas limit × max fee, which fits
		ReturnData:        found.receipt.Output,
		Error:             trace.Failure(found.reason),
		From:              found.tx.Sender,
		To:                to,
		Payer:             found.tx.Payer,
	}
	for i, log := range found.receipt.Logs {
		receipt.Logs[i] = newLog(log, found.header.Height, first+uint32(i))
	}
	return receipt
}

// receiptBytes bounds the JSON of a receipt without its logs and return data, in bytes.
const receiptBytes = 1024

// receipts renders at most limit receipts of a block from an index on, up to the size of a page but at least one. It
// reads each once, in order.
func (r *transactionReader) receipts(
	ctx context.Context, header types.Header, from uint32, limit int,
) ([]api.Receipt, error) {
	receipts, size, logs, numbered := []api.Receipt{}, 0, uint32(0), false
	found := &foundTransaction{place: place{header: header, hash: header.Hash(), index: from}}
	var failed error
	err := r.chain.TransactionsFrom(chain.Position{Height: header.Height, Index: from}, func(i chain.Included) bool {
		if failed = ctx.Err(); failed != nil {
			return false
		}
		if len(i.Receipt.Logs) > 0 && !numbered {
			logs, failed = r.chain.FirstLog(chain.Position{Height: header.Height, Index: found.index})
			numbered = true
		}
		size += receiptBytes + 2*len(i.Receipt.Output)
		for j := range i.Receipt.Logs {
			size += eventBytes + 2*len(i.Receipt.Logs[j].Data)
		}
		if failed != nil || size > api.MaxPageBytes && len(receipts) > 0 {
			return false
		}
		found.id, found.tx, found.receipt, found.reason = i.ID, i.Transaction, i.Receipt, i.Reason
		receipts = append(receipts, newReceipt(found, logs))
		logs += uint32(len(i.Receipt.Logs))
		found.index++
		return len(receipts) < limit
	})
	return receipts, cmp.Or(failed, err)
}

// transactionBytes bounds the JSON of a transaction without its payload and its policies, in bytes.
const transactionBytes = 2048

// Bounds on the JSON of parts of a transaction, in bytes: of a step without its arguments, and of each encoded byte of a
// policy and its proofs, with the names of their members.
const (
	stepBytes       = 320
	policyByteBytes = 4
)

// sizeOf bounds the JSON of a rendered transaction, in bytes.
func sizeOf(tx *types.SignedTransaction) int {
	size := transactionBytes
	switch p := tx.Payload.(type) {
	case types.Deploy:
		size += 2 * len(p.InitArgs)
	case types.Instantiate:
		size += 2 * len(p.InitArgs)
	case types.Call:
		size += 2 * len(p.Args)
	case types.Batch:
		for _, step := range p.Steps {
			size += stepBytes
			if call, ok := step.Action.(types.Call); ok {
				size += 2*len(call.Args) + 6*len(call.Function) // a function's characters may be escaped
			}
		}
	case types.SetPolicy:
		size += policyByteBytes * len(types.EncodePayload(p))
	}
	for _, w := range []types.Witness{tx.Witness, tx.PayerWitness} {
		if _, is := w.(types.WitnessPolicy); is {
			size += policyByteBytes * types.WitnessBytes(w)
		}
	}
	return size
}

// list renders the transactions at positions up to the size of a page, but at least one. It ends early at a transaction
// that no longer exists.
func (r *transactionReader) list(ctx context.Context, positions []chain.Position) ([]api.Transaction, error) {
	txs, size := make([]api.Transaction, 0, len(positions)), 0
	var last *foundTransaction
	for _, position := range positions {
		if err := grown(ctx, size); err != nil {
			return nil, err
		}
		found, err := r.at(position, last)
		if err != nil {
			return txs, absent(err)
		}
		last = found
		if size += sizeOf(&found.tx); size > api.MaxPageBytes && len(txs) > 0 {
			break
		}
		txs = append(txs, included(found))
	}
	return txs, nil
}

// noncePage is how many rows of an account byNonce reads at a time.
const noncePage = 500

// byNonce searches an account's transactions, newest first, for one that it sent with the given nonce; their nonces
// descend. It returns nil if there is none.
func (r *transactionReader) byNonce(ctx context.Context, account types.Account, nonce uint64) (*api.Transaction, error) {
	var before chain.Position
	var last *foundTransaction
	for range api.MaxNonceSearch / noncePage {
		positions, err := r.chain.ByAccount(account, before, noncePage)
		if err != nil {
			return nil, err
		}
		for _, position := range positions {
			if err := errors.Join(ctx.Err(), admission.Yield(ctx)); err != nil {
				return nil, err
			}
			if last, err = r.at(position, last); err != nil {
				return nil, cmp.Or(absent(err), r.unusedNonce(account, nonce))
			}
			if last.tx.Sender == account && last.tx.Nonce <= nonce {
				if last.tx.Nonce < nonce {
					return nil, nil
				}
				tx := included(last)
				return &tx, nil
			}
		}
		if len(positions) < noncePage {
			return nil, r.unusedNonce(account, nonce)
		}
		before = positions[len(positions)-1]
	}
	return nil, withData(api.ErrOutOfRange, "param", "nonce", "oldestHeight", last.header.Height)
}

// unusedNonce returns the error for a nonce that no stored transaction used: nil if no transaction at all used it.
func (r *transactionReader) unusedNonce(account types.Account, nonce uint64) error {
	record, err := r.chain.Account(r.chain.Head().Header.Height, account)
	if err != nil && !errors.Is(err, chain.ErrNoState) {
		return err
	}
	if err == nil && nonce >= record.Nonce {
		return nil
	}
	return unknown(r.chain)
}
