package rpc

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/trace"
	"github.com/cairn-chain/cairn/types"
)

type traceHandlers struct {
	transactions *transactionReader
	ledger       Ledger
	engines      Engines
	traces       *admission.Lane // lane of traces; each executes as much as a block
	unsent       *submitHandlers
}

func (h *traceHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.TraceTransaction, h.traceTransaction).in(h.traces),
		bind(e, api.TraceUnsent, h.traceUnsent).in(h.traces),
	}
}

// traceUnsent runs a transaction as svc_call does, or its call as svc_viewCall does, and returns a trace.
func (h *traceHandlers) traceUnsent(ctx context.Context, p api.TraceUnsentParams) (_ *api.Trace, err error) {
	m, err := h.unsent.simulate(ctx, p.Transaction)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.state.Close()) }()
	t := trace.New()
	if m.how.View = p.View; p.Places {
		noting, shut, failed := h.noting(t, m.tx.Payload)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, shut()) }()
		m.how.Engine = noting
	}
	gas, _ := h.unsent.gasOf(&m)
	outcome, err := m.run(ctx, gas, t)
	if err != nil {
		return nil, h.unsent.callRefusal(&m, err)
	}
	return t.Trace(outcome.GasUsed, outcome.Reason), nil
}

func (h *traceHandlers) traceTransaction(ctx context.Context, p api.TraceParams) (_ *api.Trace, err error) {
	found, err := h.transactions.findIncluded(p.Hash)
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, unknown(h.transactions.chain)
	}
	r, t, engine := request.Of(ctx), trace.New(), h.engines.Views
	if p.Places {
		noting, shut, failed := h.noting(t, found.tx.Payload)
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, shut()) }()
		engine = noting
	}
	position := chain.Position{Height: found.header.Height, Index: found.index}
	err = h.ledger.Trace(position, h.engines.Views, engine, t, func() error { return r.Stop(ctx) })
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil // undone meanwhile
	}
	if err != nil {
		return nil, err
	}
	return t.Trace(found.receipt.GasUsed, found.reason), nil
}

// noting creates an engine for one transaction that reports to a tracer the places of failed calls. The engine's code
// is discarded with it. A deploy's code is compiled without those notes unless noting loads it first.
func (h *traceHandlers) noting(t *trace.Tracer, p types.Payload) (engine vm.Engine, shut func() error, err error) {
	engine, shut, err = h.engines.Noting(t.Stopped)
	deploy, ok := p.(types.Deploy)
	if err != nil || !ok {
		return engine, shut, err
	}
	_, err = engine.Module(sha256.Sum256(deploy.Code), func() ([]byte, error) { return deploy.Code, nil })
	if refused := new(vm.Refused); err != nil && !errors.As(err, &refused) { // the trace contains the refusal
		return nil, nil, errors.Join(err, shut())
	}
	return engine, shut, nil
}
