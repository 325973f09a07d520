package rpc

import (
	"bytes"
	"context"
	"errors"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
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
	r, t := request.Of(ctx), &tracer{gas: map[string]api.Quantity{}}
	position := chain.Position{Height: found.header.Height, Index: found.index}
	err = h.ledger.Trace(position, h.engine, t, func() error { return r.Stop(ctx) })
	if errors.Is(err, chain.ErrNotFound) {
		return nil, nil // undone meanwhile
	}
	if err != nil {
		return nil, err
	}
	return &api.Trace{
		GasUsed: api.Quantity(found.receipt.GasUsed), Status: status(found.receipt), Error: failure(found.reason),
		Parts:     t.gas,
		Root:      t.root,
		Truncated: t.truncated,
	}, nil
}

// traceItemBytes is about what an item of a trace takes beside its bytes.
const traceItemBytes = 256

// tracer gathers what a transaction does.
type tracer struct {
	root      *api.TraceCall
	gas       map[string]api.Quantity // of the transaction itself, by parts
	open      []*api.TraceCall        // from the root down
	size      int
	truncated bool
}

// fits reports whether there is room for an item with so many bytes.
func (t *tracer) fits(n int) bool {
	if t.truncated = t.truncated || t.size+traceItemBytes+2*n > api.MaxPageBytes; !t.truncated {
		t.size += traceItemBytes + 2*n
	}
	return !t.truncated
}

func (t *tracer) top() *api.TraceCall { return t.open[len(t.open)-1] }

// Enter implements [exec.Tracer]. A call has no more room than others, but the stack of calls is kept whole.
func (t *tracer) Enter(c exec.CallInfo) {
	call := &api.TraceCall{
		Contract: c.Contract,
		Function: c.Function,
		Args:     bytes.Clone(c.Args),
		Value:    api.Quantity(c.Value),
		Gas:      api.Quantity(c.Gas),
		Caller:   c.Caller,
		View:     c.View,
		HostGas:  map[string]api.Quantity{},
		Storage:  []api.TraceWrite{},
		Events:   []api.TraceEvent{},
		Debug:    []string{},
		Calls:    []api.TraceCall{},
		Parts:    map[string]api.Quantity{},
	}
	t.open = append(t.open, call)
}

// Exit implements [exec.Tracer].
func (t *tracer) Exit(reason exec.Reason, output []byte, used types.Gas) {
	call := t.top()
	call.Output, call.GasUsed, call.Error = bytes.Clone(output), api.Quantity(used), failure(reason)
	t.open = t.open[:len(t.open)-1]
	if len(t.open) == 0 {
		t.root = call
		return
	}
	above := t.top()
	above.BelowGas += api.Quantity(used)
	if t.fits(len(call.Args) + len(output)) {
		above.Calls = append(above.Calls, *call)
	}
}

// Charge implements [exec.Tracer].
func (t *tracer) Charge(part exec.Part, gas types.Gas) {
	parts := t.gas
	if len(t.open) > 0 {
		parts = t.top().Parts
	}
	parts[part.String()] += api.Quantity(gas)
}

// Host implements [exec.Tracer].
func (t *tracer) Host(function vm.Function, took types.Gas) {
	call := t.top()
	call.HostGas[vm.Functions[function].Name] += api.Quantity(took)
}

// Storage implements [exec.Tracer].
func (t *tracer) Storage(key, old, new []byte) {
	if t.fits(len(key) + len(old) + len(new)) {
		call := t.top()
		call.Storage = append(call.Storage, api.TraceWrite{
			Key: bytes.Clone(key), Old: bytes.Clone(old), New: bytes.Clone(new),
		})
	}
}

// Event implements [exec.Tracer].
func (t *tracer) Event(log types.Log) {
	if !t.fits(len(log.Data) + 32*len(log.Topics)) {
		return
	}
	event := api.TraceEvent{Name: log.Name, Topics: []types.Digest{}, Data: bytes.Clone(log.Data)}
	for _, topic := range log.Topics {
		event.Topics = append(event.Topics, topic)
	}
	call := t.top()
	call.Events = append(call.Events, event)
}

// Debug implements [exec.Tracer].
func (t *tracer) Debug(message []byte) {
	if t.fits(len(message)) {
		call := t.top()
		call.Debug = append(call.Debug, strings.ToValidUTF8(string(message), "\uFFFD"))
	}
}
