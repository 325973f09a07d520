// Package trace gathers what a transaction does, call by call, in the form in which the API shows it: for nodes and for
// tests of contracts.
package trace

import (
	"bytes"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// itemBytes is about what an item of a trace takes beside its bytes.
const itemBytes = 256

// placeBytes is about what a place takes, in bytes that take two digits each.
const placeBytes = 20

// Tracer gathers what a transaction does.
type Tracer struct {
	root      *api.TraceCall
	gas       map[string]api.Quantity // of the transaction itself, by parts
	open      []*api.TraceCall        // from the root down
	size      int
	truncated bool
}

// New is a tracer of one transaction.
func New() *Tracer { return &Tracer{gas: map[string]api.Quantity{}} }

// Trace is what was gathered, of a transaction that has ended and used that gas.
func (t *Tracer) Trace(used types.Gas, reason exec.Reason) *api.Trace {
	status := api.StatusSuccess
	if reason != exec.Success {
		status = api.StatusFailed
	}
	return &api.Trace{
		GasUsed:   api.Quantity(used),
		Status:    status,
		Error:     Failure(reason),
		Parts:     t.gas,
		Root:      t.root,
		Truncated: t.truncated,
	}
}

// Failure is why a transaction or a call failed, nil where it did not.
func Failure(reason exec.Reason) *string {
	if reason == exec.Success {
		return nil
	}
	word := string(reason)
	return &word
}

// fits reports whether there is room for an item with so many bytes.
func (t *Tracer) fits(n int) bool {
	if t.truncated = t.truncated || t.size+itemBytes+2*n > api.MaxPageBytes; !t.truncated {
		t.size += itemBytes + 2*n
	}
	return !t.truncated
}

func (t *Tracer) top() *api.TraceCall { return t.open[len(t.open)-1] }

// Enter implements [exec.Tracer]. A call has no more room than others, but the stack of calls is kept whole.
func (t *Tracer) Enter(c exec.CallInfo) {
	call := &api.TraceCall{
		Contract: c.Contract,
		CodeHash: c.Code,
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

		StoppedAt: []api.TracePlace{},
	}
	t.open = append(t.open, call)
}

// Exit implements [exec.Tracer].
func (t *Tracer) Exit(reason exec.Reason, output []byte, used types.Gas) {
	call := t.top()
	call.Output, call.GasUsed, call.Error = bytes.Clone(output), api.Quantity(used), Failure(reason)
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

// Stopped says where the call stood that failed just now and has not been told to exit: an engine tells it.
func (t *Tracer) Stopped(_ types.CodeHash, at []vm.Place) {
	if !t.fits(placeBytes * len(at)) {
		return
	}
	call := t.top()
	for _, p := range at {
		call.StoppedAt = append(call.StoppedAt, api.TracePlace{Function: uint64(p.Function), Offset: uint64(p.At)})
	}
}

// Charge implements [exec.Tracer].
func (t *Tracer) Charge(part exec.Part, gas types.Gas) {
	parts := t.gas
	if len(t.open) > 0 {
		parts = t.top().Parts
	}
	parts[part.String()] += api.Quantity(gas)
}

// Host implements [exec.Tracer].
func (t *Tracer) Host(function vm.Function, took types.Gas) {
	call := t.top()
	call.HostGas[vm.Functions[function].Name] += api.Quantity(took)
}

// Storage implements [exec.Tracer].
func (t *Tracer) Storage(key, old, new []byte) {
	if t.fits(len(key) + len(old) + len(new)) {
		call := t.top()
		call.Storage = append(call.Storage, api.TraceWrite{
			Key: bytes.Clone(key), Old: bytes.Clone(old), New: bytes.Clone(new),
		})
	}
}

// Event implements [exec.Tracer].
func (t *Tracer) Event(log types.Log) {
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
func (t *Tracer) Debug(message []byte) {
	if t.fits(len(message)) {
		call := t.top()
		call.Debug = append(call.Debug, strings.ToValidUTF8(string(message), "\uFFFD"))
	}
}
