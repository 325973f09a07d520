package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// group is the handlers for the methods in one file of package api, with their dependencies.
type group interface {
	methods(*clientErrors) []method
}

// method is a declaration with its handler.
type method struct {
	declaration api.Declaration
	handler     jsonrpc.Method
}

func bind[P, R any](e *clientErrors, m api.Method[P, R], handle func(context.Context, P) (R, error)) method {
	return method{m.Declaration, jsonrpc.NewMethod(m.Name, func(ctx context.Context, params P) (R, error) {
		result, err := handle(ctx, params)
		return result, e.public(err)
	})}
}

// in returns the method with its calls run in the given lane.
func (m method) in(lane *admission.Lane) method {
	m.handler = m.handler.In(lane)
	return m
}

// waiting returns the method with its calls run without a turn: they wait for blocks or signatures, or their handler
// enters a lane itself.
func (m method) waiting() method {
	m.handler = m.handler.In(nil)
	return m
}

// heavyItems is the number of transactions, receipts or payments from which an answer is long work: about a
// millisecond.
const heavyItems = 256

// heavy turns a call into long work if it will read many items. Call it before reading them.
func heavy(ctx context.Context, items int) error {
	if items > heavyItems {
		return admission.Heavy(ctx)
	}
	return nil
}

// largeBytes is the size of an answer from which it counts as work that holds much memory.
const largeBytes = 1 << 20

// grown yields to other requests while an answer is built, and treats it as large work once it exceeds largeBytes.
func grown(ctx context.Context, bytes int) error {
	if bytes > largeBytes {
		if err := admission.Large(ctx); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), admission.Yield(ctx))
}

// large returns the method with its result encoded as long work.
func (m method) large() method {
	m.handler = m.handler.Large()
	return m
}

// bindGroup binds a method whose consecutive calls in a batch are handled together.
func bindGroup[P, R any](
	e *clientErrors, m api.Method[P, R], handle func(context.Context, []P) []jsonrpc.Outcome[R],
) method {
	return method{m.Declaration, jsonrpc.NewGroupMethod(m.Name, func(
		ctx context.Context, params []P,
	) []jsonrpc.Outcome[R] {
		outcomes := handle(ctx, params)
		for i := range outcomes {
			outcomes[i].Err = e.public(outcomes[i].Err)
		}
		return outcomes
	})}
}
