package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// group is the handlers of the methods that one file of package api declares, with what they need.
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

// in is a method whose calls run in a lane of their own.
func (m method) in(lane *admission.Lane) method {
	m.handler = m.handler.In(lane)
	return m
}

// waiting is a method whose calls have no turn: they wait for blocks or signatures, or their handler enters a lane when
// it knows which.
func (m method) waiting() method {
	m.handler = m.handler.In(nil)
	return m
}

// heavyItems is how many transactions, receipts or payments make long work of an answer: about a millisecond's.
const heavyItems = 256

// heavy makes long work of an answer with so many items, before they are read.
func heavy(ctx context.Context, items int) error {
	if items > heavyItems {
		return admission.Heavy(ctx)
	}
	return nil
}

// largeBytes is from which size on an answer is work that holds much memory.
const largeBytes = 1 << 20

// grown lets others have their turn, now that an answer has come to so many bytes.
func grown(ctx context.Context, bytes int) error {
	if bytes > largeBytes {
		if err := admission.Large(ctx); err != nil {
			return err
		}
	}
	return errors.Join(ctx.Err(), admission.Yield(ctx))
}

// large is a method whose result is encoded as long work.
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
