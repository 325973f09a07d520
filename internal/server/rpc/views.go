package rpc

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// maxExecutions bounds the executions in progress, each of which takes 16 MiB of memory and 18 MiB of stacks. A client
// may have half of them.
const maxExecutions = 8

// executions runs and counts executions of contracts outside blocks.
type executions struct {
	lane           *admission.Lane // lane of the requests that execute
	ended, stopped atomic.Uint64
	took           atomic.Int64 // nanoseconds
}

func newExecutions(s *admission.Scheduler) *executions {
	return &executions{lane: s.Short().Kind(maxExecutions, maxExecutions/2)}
}

// run calls f, which executes contracts for a request, with a function that reports whether to stop. If the request
// must stop already, run does not call f.
func (e *executions) run(ctx context.Context, r *request.Request, f func(stop func() error)) error {
	if err := r.Stop(ctx); err != nil {
		return err
	}
	began := time.Now()
	f(func() error {
		err := r.Stop(ctx)
		if err != nil {
			e.stopped.Add(1)
		}
		return err
	})
	e.took.Add(int64(time.Since(began)))
	e.ended.Add(1)
	return nil
}

// Stats counts executions outside blocks, by svc_viewCall, svc_batchViewCall, svc_call and svc_estimateGas.
type Stats struct {
	Running int           // requests executing now
	Ended   uint64        // executions since the start; each run of an estimate counts
	Stopped uint64        // executions stopped because their time was up or nobody waited
	Took    time.Duration // total time of ended executions
}

func (e *executions) stats() Stats {
	return Stats{
		Running: e.lane.Running(), Ended: e.ended.Load(), Stopped: e.stopped.Load(), Took: time.Duration(e.took.Load()),
	}
}

// viewHandlers implements view calls.
type viewHandlers struct {
	*liveness
	*simulator
	chain  stateStore
	errors *clientErrors
}

func (h *viewHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.ViewCall, h.viewCall).in(h.executions.lane),
		bind(e, api.BatchViewCall, h.batchViewCall).in(h.executions.lane),
	}
}

// viewer makes view calls on one state.
type viewer struct {
	by         *viewHandlers
	state      *chain.State
	header     types.Header
	parameters types.Parameters
}

// view opens the state after a block for view calls. The caller must close it.
func (h *viewHandlers) view(block api.BlockRef) (*viewer, error) {
	if err := h.live(block); err != nil {
		return nil, err
	}
	head := h.chain.Head().Header.Height
	height := block.Resolve(head)
	after, err := h.chain.StateAt(height)
	if err = aboveHead(err, head); err != nil {
		return nil, err
	}
	v := &viewer{by: h, state: after}
	header, err := h.chain.Header(height)
	if err == nil {
		v.header = header.Header
		v.parameters, err = exec.ReadParameters(after)
	}
	if err != nil {
		return nil, errors.Join(err, after.Close())
	}
	return v, nil
}

// aboveHead converts a chain.ErrAboveHead into the client's error for a block parameter.
func aboveHead(err error, head types.Height) error {
	if errors.Is(err, chain.ErrAboveHead) {
		return withData(api.ErrAboveHead, "param", "block", "max", head)
	}
	return err
}

func (v *viewer) close() error { return v.state.Close() }

// call makes a view call.
func (v *viewer) call(ctx context.Context, contract types.ContractID, function string, args []byte) ([]byte, error) {
	outcome, err := v.run(ctx, v.state, contract, types.Call{Function: function, Args: args})
	switch {
	case err != nil:
		return nil, err
	case outcome.Reason == exec.Success:
		return outcome.Output, nil
	default:
		return nil, failed(outcome)
	}
}

// run executes a call in view context; reads gives access to the viewer's state. The outcome is never [exec.OutOfGas]:
// the gas limit of a view is not a rule of the chain, so exceeding it is an error.
func (v *viewer) run(
	ctx context.Context, reads state.Reader, contract types.ContractID, call types.Call,
) (exec.Outcome, error) {
	r := request.Of(ctx)
	tx := types.SignedTransaction{
		Transaction: types.Transaction{Target: types.Account(contract), ChainID: v.by.chainID, Payload: call},
	}
	intrinsic := fees.IntrinsicGas(&tx) // nobody pays for an entry of the zero account
	allowed := min(v.by.gas, v.parameters.GasLimit-min(v.parameters.GasLimit, intrinsic))
	reserved := r.TakeGas(allowed)
	if reserved == 0 {
		return exec.Outcome{}, withData(api.ErrRequestGas, "limit", request.Gas)
	}
	tx.GasLimit = intrinsic + reserved
	var outcome exec.Outcome
	var err error
	over := v.by.executions.run(ctx, r, func(stop func() error) {
		how := exec.Simulation{Machine: v.by.machine(), Network: v.by.network, View: true, Stop: stop}
		outcome, err = exec.Call(v.parameters, reads, v.header, tx, how)
	})
	if over != nil || err != nil {
		r.GiveBack(reserved)
		return exec.Outcome{}, errors.Join(over, v.by.errors.public(err))
	}
	r.GiveBack(tx.GasLimit - outcome.GasUsed)
	switch {
	case outcome.Reason == exec.OutOfGas && reserved < allowed:
		return exec.Outcome{}, withData(api.ErrRequestGas, "limit", request.Gas)
	case outcome.Reason == exec.OutOfGas:
		return exec.Outcome{}, withData(api.ErrViewGas, "limit", reserved)
	}
	return outcome, nil
}

func (h *viewHandlers) viewCall(ctx context.Context, p api.ViewCallParams) (result api.Data, err error) {
	v, err := h.view(p.Block)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	return v.call(ctx, p.Contract, p.Function, p.Args)
}

func (h *viewHandlers) batchViewCall(
	ctx context.Context, p api.BatchViewCallParams,
) (results []api.ViewResult, err error) {
	if len(p.Calls) > api.MaxViewCalls {
		return nil, api.ErrViewCalls
	}
	v, err := h.view(p.Block)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	return viewAll(ctx, v, p.Calls)
}

// viewAll makes view calls in parallel: in the caller's turn, and in as many others as can begin at once. A call that
// fails has its error in its result; the returned error is the node's.
func viewAll(ctx context.Context, v *viewer, calls []api.ViewCallItem) ([]api.ViewResult, error) {
	results, faults := make([]api.ViewResult, len(calls)), make([]error, len(calls))
	var next atomic.Int64
	work := func(ctx context.Context) {
		for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
			results[i], faults[i] = v.result(ctx, calls[i])
		}
	}
	var helpers sync.WaitGroup
	for range min(len(calls), machine.Cores(), maxExecutions) - 1 {
		helpers.Go(func() { v.by.executions.lane.TryRun(ctx, work) })
	}
	work(ctx)
	helpers.Wait()
	return results, errors.Join(faults...)
}

func (v *viewer) result(ctx context.Context, call api.ViewCallItem) (api.ViewResult, error) {
	output, err := v.call(ctx, call.Contract, call.Function, call.Args)
	var failure *jsonrpc.Error
	switch {
	case err == nil:
		return api.ViewResult{Success: true, Result: output}, nil
	case errors.As(err, &failure):
		data, _ := failure.Data["revertData"].(api.Data)
		return api.ViewResult{Result: data, Error: failure}, nil
	default:
		return api.ViewResult{}, err
	}
}
