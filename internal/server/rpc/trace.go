package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/jsonrpc"
)

type traceHandlers struct {
	transactions *transactionReader
	ledger       Ledger
	engine       vm.Engine
	traces       *jsonrpc.Slots // each executes as much as a block
}

func (h *traceHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.TraceTransaction, h.traceTransaction).in(h.traces),
	}
}

func (h *traceHandlers) traceTransaction(ctx context.Context, p api.TransactionParams) (*api.Trace, error) {
	found, err := h.transactions.findIncluded(p.Hash)
	if found == nil || err != nil {
		return nil, err
	}
	r, t := request.Of(ctx), trace.New()
	position := chain.Position{Height: found.header.Height, Index: found.index}
	err = h.ledger.Trace(position, h.engine, t, func() error { return r.Stop(ctx) })
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil // undone meanwhile
	}
	if err != nil {
		return nil, err
	}
	return t.Trace(found.receipt.GasUsed, found.reason), nil
}
