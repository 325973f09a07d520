package client

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// Batch collects calls to be made in one request. A Batch belongs to one goroutine and is sent once.
type Batch struct {
	calls   []jsonrpc.BatchCall
	divided bool
}

// Pending is a call of a batch.
type Pending[R any] struct {
	batch  *Batch
	index  int
	result *R
}

// Add adds a call to the batch. Its result is available after [Batch.Send].
func Add[P, R any](b *Batch, method api.Method[P, R], params P) Pending[R] {
	result := new(R)
	b.calls = append(b.calls, jsonrpc.BatchCall{Method: method.Name, Params: positional(params), Result: result})
	return Pending[R]{batch: b, index: len(b.calls) - 1, result: result}
}

// positional lists the fields of a parameter struct. An optional parameter that is not set has its zero value.
func positional(params any) []any {
	fields := reflect.ValueOf(params)
	list := make([]any, fields.NumField())
	for i := range list {
		list[i] = fields.Field(i).Interface()
	}
	return list
}

// Send makes the batch's calls. It returns an error only if the request as a whole fails; each call has its own error
// in its result. If the node refuses the request as too large, Send splits it, down to single calls. It retries as
// [WithRetry] describes.
func (b *Batch) Send(ctx context.Context, c *Client) error {
	var waits patience
	for left := b.places(); ; {
		whole := b.divide(ctx, c, left)
		var again []int
		var why error
		for _, i := range left {
			if call := &b.calls[i]; mayPass(call.Err, sends(call.Method)) {
				again, why = append(again, i), call.Err
			}
		}
		if ctx.Err() != nil || len(again) == 0 || !waits.more(ctx, c, why) {
			if len(left) < len(b.calls) {
				return nil // an earlier part was answered
			}
			return whole
		}
		b.divided = b.divided || len(again) < len(left)
		left = again
	}
}

// SendOnce is like Send, but does not retry transient failures.
func (b *Batch) SendOnce(ctx context.Context, c *Client) error {
	return b.divide(ctx, c, b.places())
}

// Divided reports whether the batch was sent in several requests. Behind a load balancer their answers may be of
// different blocks.
func (b *Batch) Divided() bool { return b.divided }

func (b *Batch) places() []int {
	places := make([]int, len(b.calls))
	for i := range places {
		places[i] = i
	}
	return places
}

// divide sends the calls at the given indexes as one request, and splits it if the node refuses it for exceeding a
// limit. It returns the error of the request as a whole, or nil if it was split.
func (b *Batch) divide(ctx context.Context, c *Client, places []int) error {
	calls := b.calls
	part := make([]jsonrpc.BatchCall, len(places))
	for k, i := range places {
		part[k] = calls[i]
	}
	err := c.try(ctx, func(ctx context.Context, n *node) error { return n.rpc.Batch(ctx, part) })
	var again []int
	for k, i := range places {
		calls[i].Err = part[k].Err
		if isBound(part[k].Err, sends(part[k].Method)) {
			again = append(again, i)
		}
	}
	if len(places) == 1 || len(again) == 0 {
		return err
	}
	size := len(again)
	if size == len(places) {
		size = (size + 1) / 2
	}
	b.divided = true
	for some := range slices.Chunk(again, size) {
		_ = b.divide(ctx, c, some) // each call has its error
	}
	return nil
}

// isBound reports whether a call was refused because its request was too large; the same call alone may succeed.
func isBound(err error, sends bool) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status == http.StatusRequestEntityTooLarge
	}
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Code != jsonrpc.CodeLimit {
		return false
	}
	switch refusal.Data["reason"] {
	case "request_gas", "response_size", "batch_size":
		return true
	case "time":
		return !sends
	}
	return false
}

// Result returns the result or error of the call, once the batch has been sent.
func (p Pending[R]) Result() (R, error) {
	return *p.result, p.batch.calls[p.index].Err
}
