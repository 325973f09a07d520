package rpc

import (
	"context"
	"errors"
	"math"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

func (h *transactionHandlers) getTransactionsByAddress(
	ctx context.Context, p api.GetTransactionsByAddressParams,
) ([]api.Transaction, error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return nil, err
	}
	count, err := memberLimit("page", p.Page.Limit, api.DefaultTransactionsPage, api.MaxTransactionsPage)
	if err != nil {
		return nil, err
	}
	var before chain.Position
	if p.Page.Before != "" {
		if before, err = parseCursor(p.Page.Before); err != nil {
			return nil, err
		}
	}
	positions, err := h.chain.ByAccount(account, before, count)
	if err != nil {
		return nil, err
	}
	txs, err := h.list(ctx, positions)
	for i := range txs {
		txs[i].Cursor = cursor(positions[i])
	}
	return txs, err
}

// noncePage is how many rows of an account are read at a time in search of a nonce.
const noncePage = 500

// getTransactionByNonce looks through an account's transactions, newest first: its own have descending nonces.
func (h *transactionHandlers) getTransactionByNonce(
	ctx context.Context, p api.TransactionByNonceParams,
) (*api.Transaction, error) {
	account, err := parseAccount(h.network, p.Account)
	if err != nil {
		return nil, err
	}
	var before chain.Position
	var last *foundTransaction
	for range api.MaxNonceSearch / noncePage {
		positions, err := h.chain.ByAccount(account, before, noncePage)
		if err != nil {
			return nil, err
		}
		for _, position := range positions {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if last, err = h.at(position, last); err != nil {
				return nil, absent(err)
			}
			if nonce := api.LooseQuantity(last.tx.Nonce); last.tx.Sender == account && nonce <= p.Nonce {
				if nonce < p.Nonce {
					return nil, nil
				}
				tx := included(&last.tx, last.receipt, last.reason, last.place)
				return &tx, nil
			}
		}
		if len(positions) < noncePage {
			return nil, nil
		}
		before = positions[len(positions)-1]
	}
	return nil, withData(api.ErrOutOfRange, "param", "nonce", "oldestHeight", last.header.Height)
}

func (h *transactionHandlers) getBlockTransactions(
	ctx context.Context, p api.GetBlockTransactionsParams,
) ([]api.Transaction, error) {
	count, err := memberLimit("page", p.Page.Limit, api.DefaultTransactionsPage, api.MaxTransactionsPage)
	if err != nil {
		return nil, err
	}
	head := h.chain.Head().Header.Height
	height := p.Block.Resolve(head)
	if height > head || p.Page.From > math.MaxUint32 {
		return []api.Transaction{}, nil
	}
	if _, err := h.chain.Header(height); err != nil && !errors.Is(err, chain.ErrNotFound) {
		return nil, err // no page of a block that is no longer kept looks like the end of the list
	}
	positions := make([]chain.Position, 0, count)
	for index := p.Page.From; index < p.Page.From+uint64(count) && index <= math.MaxUint32; index++ {
		positions = append(positions, chain.Position{Height: height, Index: uint32(index)})
	}
	return h.list(ctx, positions)
}

func (h *transactionHandlers) listRecentTransactions(
	ctx context.Context, p api.ListRecentTransactionsParams,
) ([]api.Transaction, error) {
	count, err := limit("limit", p.Limit, api.DefaultRecentTransactions, api.MaxRecentTransactions)
	if err != nil {
		return nil, err
	}
	positions, err := h.chain.Recent(count)
	if err != nil {
		return nil, err
	}
	return h.list(ctx, positions)
}

// transactionBytes bounds the JSON of a transaction without the arguments of its payload, in bytes.
const transactionBytes = 2048

// list renders the transactions at positions up to the size of a page, but at least one. It ends early at one that is
// not there any more.
func (r *transactionReader) list(ctx context.Context, positions []chain.Position) ([]api.Transaction, error) {
	txs, size := make([]api.Transaction, 0, len(positions)), 0
	var last *foundTransaction
	for _, position := range positions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := r.at(position, last)
		if err != nil {
			return txs, absent(err)
		}
		last = found
		tx := included(&found.tx, found.receipt, found.reason, found.place)
		size += transactionBytes
		if tx.Input != nil && tx.Input.Args != nil {
			size += 2 * len(*tx.Input.Args)
		}
		if size > api.MaxPageBytes && len(txs) > 0 {
			break
		}
		txs = append(txs, tx)
	}
	return txs, nil
}
