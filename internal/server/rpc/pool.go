package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

type poolHandlers struct {
	pool    Pool
	chain   transactionStore
	network types.Network
}

func (h *poolHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetPendingTransactions, h.getPendingTransactions),
		bind(e, api.GetMempoolStats, h.getMempoolStats),
	}
}

func (h *poolHandlers) getPendingTransactions(
	ctx context.Context, p api.PendingTransactionsParams,
) ([]api.PendingTransaction, error) {
	count, err := memberLimit("filter", p.Filter.Limit, api.DefaultPending, api.MaxPending)
	if err != nil {
		return nil, err
	}
	if err := heavy(ctx, count); err != nil {
		return nil, err
	}
	var pending []mempool.Pending
	if p.Filter.Sender == "" {
		pending = h.pool.Pending(count)
	} else {
		sender, err := parseAccount(h.network, p.Filter.Sender)
		if err != nil {
			return nil, err
		}
		pending = h.pool.BySender(sender)
	}
	list := []api.PendingTransaction{}
	for i := range min(count, len(pending)) {
		// The pool reaches a new head a moment after the chain.
		if _, err := h.chain.FindTransaction(pending[i].Tx.ID()); err == nil {
			continue
		} else if !errors.Is(err, chain.ErrNotFound) {
			return nil, err
		}
		tx := pending[i].Tx.Signed()
		to, _ := recipient(&tx.Transaction)
		list = append(list, api.PendingTransaction{
			Hash:                 pending[i].Tx.ID(),
			From:                 tx.Sender,
			To:                   to,
			Nonce:                api.Quantity(tx.Nonce),
			Type:                 tx.Payload.Kind().String(),
			Value:                amountOf(&tx.Transaction),
			GasLimit:             api.Quantity(tx.GasLimit),
			MaxFeePerGas:         api.Quantity(tx.MaxFeePerGas),
			MaxPriorityFeePerGas: api.Quantity(tx.MaxPriorityFeePerGas),
			Payer:                tx.Payer,
			ValidUntil:           tx.ValidUntil,
			Executable:           pending[i].Executable,
		})
	}
	return list, nil
}

func (h *poolHandlers) getMempoolStats(context.Context, api.NoParams) (api.MempoolStats, error) {
	stats := h.pool.Stats()
	result := api.MempoolStats{
		PendingCount:       uint64(stats.Count),
		TotalGas:           stats.Gas,
		BackpressureActive: stats.BackPressure,
		OldestTxAgeSecs:    uint64(stats.Oldest.Seconds()),
		HeldCount:          uint64(stats.Held),
	}
	for _, class := range stats.Classes {
		result.Classes = append(result.Classes, api.MempoolClass{
			Class: string(class.Class), Refused: class.Refused, Displaced: class.Displaced, Refusing: class.Refusing,
		})
	}
	return result, nil
}
