package rpc

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

const (
	// requestGas and requestTime bound what the calls of one HTTP request that are not sent may take together.
	requestGas  types.Gas = 1_000_000_000
	requestTime           = 5 * time.Second
)

// budget is what the calls of one request may still use.
type budget struct {
	gas      atomic.Int64
	deadline time.Time
}

type budgetKey struct{}

func withBudget(ctx context.Context) context.Context {
	b := &budget{deadline: time.Now().Add(requestTime)}
	b.gas.Store(int64(requestGas))
	return context.WithValue(ctx, budgetKey{}, b)
}

// budgetOf is the budget of a request, or one of its own for a call that belongs to none.
func budgetOf(ctx context.Context) *budget {
	b, ok := ctx.Value(budgetKey{}).(*budget)
	if !ok {
		b, _ = withBudget(ctx).Value(budgetKey{}).(*budget)
	}
	return b
}

// reserve takes up to most gas, nothing where none is left; what was not used is given back.
func (b *budget) reserve(most types.Gas) types.Gas {
	for {
		left := b.gas.Load()
		taken := max(0, min(left, int64(most)))
		if b.gas.CompareAndSwap(left, left-taken) {
			return types.Gas(taken)
		}
	}
}

func (b *budget) giveBack(gas types.Gas) { b.gas.Add(int64(gas)) }

// slots bound how many executions that are not of a block run at once.
type slots chan struct{}

// maxSlots bounds what the executions take together: 16 MiB of memory, 18 MiB of stacks each.
const maxSlots = 8

func newSlots() slots { return make(slots, min(runtime.GOMAXPROCS(0), maxSlots)) }

// run calls f when a slot is free, within the request's time. f is given what tells it to end: the time is up, or nobody
// waits for the answer.
func (s slots) run(ctx context.Context, b *budget, f func(stop func() error)) error {
	timer := time.NewTimer(time.Until(b.deadline))
	defer timer.Stop()
	select {
	case s <- struct{}{}:
	case <-timer.C:
		return api.ErrTimeUp
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s }()
	stop := b.stop(ctx)
	if err := stop(); err != nil {
		return err
	}
	f(stop)
	return nil
}

// simulations are executions that are not of a block, on their slots, and what became of them.
type simulations struct {
	slots
	ended, stopped atomic.Uint64
	took           atomic.Int64 // nanoseconds
}

// run is [slots.run].
func (s *simulations) run(ctx context.Context, b *budget, f func(stop func() error)) error {
	return s.slots.run(ctx, b, func(stop func() error) {
		began := time.Now()
		f(func() error {
			err := stop()
			if err != nil {
				s.stopped.Add(1)
			}
			return err
		})
		s.took.Add(int64(time.Since(began)))
		s.ended.Add(1)
	})
}

// Stats are the executions that are not of a block: of svc_viewCall, svc_batchViewCall, svc_call and svc_estimateGas.
type Stats struct {
	Running int           // now
	Ended   uint64        // since the start, one for each run of an estimate
	Stopped uint64        // of these, because their time was up or nobody waited
	Took    time.Duration // all that ended together
}

// Stats says what the server executes beside blocks.
func (s *Server) Stats() Stats {
	return Stats{
		Running: len(s.simulations.slots), Ended: s.simulations.ended.Load(), Stopped: s.simulations.stopped.Load(),
		Took: time.Duration(s.simulations.took.Load()),
	}
}

// stop gives what tells an execution for the request of ctx to end.
func (b *budget) stop(ctx context.Context) func() error {
	return func() error {
		if time.Now().After(b.deadline) {
			return api.ErrTimeUp
		}
		return ctx.Err()
	}
}

// viewer makes view calls on one state.
type viewer struct {
	server     *Server
	state      *chain.State
	header     types.Header
	parameters types.Parameters
}

// view opens the state after a block for view calls. The caller closes it.
func (s *Server) view(block api.BlockRef) (*viewer, error) {
	if err := s.live(block); err != nil {
		return nil, err
	}
	head := s.chain.Head().Header.Height
	height := block.Resolve(head)
	state, err := s.chain.StateAt(height)
	if err = aboveHead(err, head); err != nil {
		return nil, err
	}
	v := &viewer{server: s, state: state}
	header, err := s.chain.Header(height)
	if err == nil {
		v.header = header.Header
		v.parameters, err = exec.ReadParameters(state)
	}
	if err != nil {
		return nil, errors.Join(err, state.Close())
	}
	return v, nil
}

// aboveHead tells a client of a block parameter above the head.
func aboveHead(err error, head types.Height) error {
	if errors.Is(err, chain.ErrAboveHead) {
		return withData(api.ErrAboveHead, "param", "block", "max", head)
	}
	return err
}

func (v *viewer) close() error { return v.state.Close() }

// call makes one view call.
func (v *viewer) call(ctx context.Context, contract types.ContractID, function string, args []byte) ([]byte, error) {
	b := budgetOf(ctx)
	payload := types.Call{Contract: contract, Function: function, Args: args}
	intrinsic := fees.IntrinsicGas(payload)
	reserved := b.reserve(min(v.server.viewGas, v.parameters.GasLimit-min(v.parameters.GasLimit, intrinsic)))
	if reserved == 0 {
		return nil, withData(api.ErrViewGas, "limit", requestGas)
	}
	tx := types.Transaction{
		Version: types.TransactionVersion, ChainID: v.server.chainID, GasLimit: intrinsic + reserved, Payload: payload,
	}
	var outcome exec.Outcome
	var err error
	busy := v.server.simulations.run(ctx, b, func(stop func() error) {
		outcome, err = exec.Call(v.parameters, v.state, v.header, tx, exec.Simulation{Machine: v.server.machine(), View: true, Stop: stop})
	})
	if busy != nil || err != nil {
		b.giveBack(reserved)
		return nil, errors.Join(busy, v.server.public(err))
	}
	b.giveBack(tx.GasLimit - outcome.GasUsed)
	switch outcome.Reason {
	case exec.Success:
		return outcome.Output, nil
	case exec.OutOfGas:
		return nil, withData(api.ErrViewGas, "limit", reserved)
	default:
		return nil, failed(outcome)
	}
}

func (s *Server) viewCall(ctx context.Context, p api.ViewCallParams) (result api.Data, err error) {
	v, err := s.view(p.Block)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	return v.call(ctx, p.Contract, p.Function, p.Args)
}

func (s *Server) batchViewCall(ctx context.Context, p api.BatchViewCallParams) (results []api.ViewResult, err error) {
	if len(p.Calls) > api.MaxViewCalls {
		return nil, api.ErrViewCalls
	}
	v, err := s.view(p.Block)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	return viewAll(ctx, v, p.Calls)
}

// viewAll makes view calls side by side. What fails a call is in its result; the error is of the node.
func viewAll(ctx context.Context, v *viewer, calls []api.ViewCallItem) ([]api.ViewResult, error) {
	results, faults := make([]api.ViewResult, len(calls)), make([]error, len(calls))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(calls), cap(v.server.simulations.slots)) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(calls)); i = next.Add(1) - 1 {
				results[i], faults[i] = v.result(ctx, calls[i])
			}
		})
	}
	workers.Wait()
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
