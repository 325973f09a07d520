package client

import (
	"context"
	"reflect"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// Batch collects calls to be made in one request. A Batch belongs to one goroutine and is sent once.
type Batch struct {
	calls []jsonrpc.BatchCall
}

// Pending is a call of a batch.
type Pending[R any] struct {
	batch  *Batch
	index  int
	result *R
}

// Add adds a call to the batch; its answer is there after [Batch.Send].
func Add[P, R any](b *Batch, method api.Method[P, R], params P) Pending[R] {
	result := new(R)
	b.calls = append(b.calls, jsonrpc.BatchCall{Method: method.Name, Params: positional(params), Result: result})
	return Pending[R]{batch: b, index: len(b.calls) - 1, result: result}
}

// positional lists the fields of a struct of parameters; an optional one that is not given says so by its zero value.
func positional(params any) []any {
	fields := reflect.ValueOf(params)
	list := make([]any, fields.NumField())
	for i := range list {
		list[i] = fields.Field(i).Interface()
	}
	return list
}

// Send makes the batch's calls. The error is that of the request as a whole; a call's own is in its result.
func (b *Batch) Send(ctx context.Context, c *Client) error { return c.rpc.Batch(ctx, b.calls) }

// Result is what the call answered, or failed with, once the batch has been sent.
func (p Pending[R]) Result() (R, error) {
	return *p.result, p.batch.calls[p.index].Err
}
