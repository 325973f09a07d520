// Package trace records a transaction's execution call by call in the format of the API, for nodes and for tests of
// contracts.
package trace

import (
	"bytes"
	"math"
	"strings"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// longest is longer than any reason of a failure.
var longest = strings.Repeat("x", types.MaxNameBytes)

// most limits the bytes of a trace in an answer. The response object and the id of the call need the rest.
const most = api.MaxPageBytes - 4<<10

// afterwards is the largest growth of a call after its start, without its lists: its output and the breakdown of its
// gas.
var afterwards = func() int {
	word := longest
	call := api.TraceCall{
		GasUsed:  math.MaxUint64,
		Output:   make([]byte, types.MaxArgsBytes),
		Error:    &word,
		Cause:    &api.TrapCause{Name: longest, Limit: math.MaxUint32},
		HostGas:  map[string]api.Quantity{},
		Parts:    everyPart(),
		BelowGas: math.MaxUint64,
	}
	for _, f := range vm.Functions {
		call.HostGas[f.Name] = math.MaxUint64
	}
	return size(call)
}()

// around is the largest size of a trace without its calls.
var around = func() int {
	word := longest
	return size(api.Trace{
		GasUsed: math.MaxUint64, Status: api.StatusSuccess, Error: &word, Parts: everyPart(), Further: []api.TraceCall{},
	})
}()

// everyPart returns the largest amount of gas for every part.
func everyPart() map[string]api.Quantity {
	parts := map[string]api.Quantity{}
	for p := range exec.Parts {
		parts[p.String()] = math.MaxUint64
	}
	return parts
}

// size returns the encoded length of a part of a trace, in bytes.
func size(part any) int {
	n, err := jsonrpc.Size(part)
	if err != nil {
		panic("trace: cannot encode a declared type: " + err.Error())
	}
	return n
}

// call is an open call.
type call struct {
	api.TraceCall
	reserved int // bytes reserved for the call without its lists; 0: the call is omitted
}

// Tracer records the execution of one transaction.
type Tracer struct {
	roots     []api.TraceCall         // the transaction's call, or those of a batch's steps
	gas       map[string]api.Quantity // gas outside the calls, by parts
	open      []*call                 // from the outermost down
	size      int                     // encoded bytes recorded, and bytes reserved for open calls
	truncated bool
}

// first returns the call of the transaction, or of the first step that called; nil if there was none.
func (t *Tracer) first() *api.TraceCall {
	if len(t.roots) == 0 {
		return nil
	}
	return &t.roots[0]
}

// further returns the calls after the first.
func (t *Tracer) further() []api.TraceCall {
	return append([]api.TraceCall{}, t.roots[min(1, len(t.roots)):]...)
}

// New returns a tracer for one transaction.
func New() *Tracer { return &Tracer{gas: map[string]api.Quantity{}, size: around} }

// Trace returns the trace of a completed transaction, which used the given gas and ended with reason.
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
		Root:      t.first(),
		Further:   t.further(),
		Truncated: t.truncated,
	}
}

// Failure returns the reason of a failure, or nil for success.
func Failure(reason exec.Reason) *string {
	if reason == exec.Success {
		return nil
	}
	return new(string(reason))
}

// Cause returns the details of a trap, or nil if there are none.
func Cause(c vm.Cause) *api.TrapCause {
	if c.Name == "" {
		return nil
	}
	return &api.TrapCause{Name: c.Name, Limit: uint64(c.Limit)}
}

// fits reports whether there is space for another item, and reserves it. After the first item that does not fit, all
// others are omitted.
func (t *Tracer) fits(item any) bool { return !t.truncated && t.take(size(item)+len(",")) }

// take reserves the given number of bytes and reports whether they were available.
func (t *Tracer) take(bytes int) bool {
	if t.truncated = t.truncated || t.size+bytes > most; !t.truncated {
		t.size += bytes
	}
	return !t.truncated
}

func (t *Tracer) top() *call { return t.open[len(t.open)-1] }

// Enter implements [exec.Tracer]. It reserves the space of a call without its lists at once, so the call is shown even
// if the items of its lists no longer fit.
func (t *Tracer) Enter(c exec.CallInfo) {
	entered := &call{TraceCall: api.TraceCall{
		Contract: c.Contract,
		CodeHash: c.Code,
		Function: c.Function,
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
	}}
	if !t.truncated {
		entered.Args = bytes.Clone(c.Args)
		if need := sizeAlone(entered.TraceCall) + afterwards; t.take(need) {
			entered.reserved = need
		}
	}
	t.open = append(t.open, entered)
}

// Exit implements [exec.Tracer].
func (t *Tracer) Exit(reason exec.Reason, cause vm.Cause, output []byte, used types.Gas) {
	ended := t.top()
	t.open = t.open[:len(t.open)-1]
	if len(t.open) > 0 {
		t.top().BelowGas += api.Quantity(used)
	}
	if ended.reserved == 0 {
		return
	}
	ended.Output, ended.GasUsed, ended.Error = bytes.Clone(output), api.Quantity(used), Failure(reason)
	ended.Cause = Cause(cause)
	t.size -= ended.reserved - sizeAlone(ended.TraceCall)
	if len(t.open) == 0 {
		t.roots = append(t.roots, ended.TraceCall)
		return
	}
	above := t.top()
	above.Calls = append(above.Calls, ended.TraceCall)
}

// sizeAlone returns the size of a call in a list, with its own lists empty.
func sizeAlone(c api.TraceCall) int {
	c.Storage, c.Events, c.Debug = []api.TraceWrite{}, []api.TraceEvent{}, []string{}
	c.Calls, c.StoppedAt = []api.TraceCall{}, []api.TracePlace{}
	return size(c) + len(",")
}

// Stopped records the place at which the current call failed. The engine calls it before Exit.
func (t *Tracer) Stopped(_ types.CodeHash, at []vm.Place) {
	call, places := t.top(), make([]api.TracePlace, len(at))
	for i, p := range at {
		places[i] = api.TracePlace{Function: uint64(p.Function), Offset: uint64(p.At)}
	}
	if t.fits(places) {
		call.StoppedAt = append(call.StoppedAt, places...)
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
	if write := (api.TraceWrite{Key: key, Old: old, New: new}); t.fits(write) {
		call := t.top()
		call.Storage = append(call.Storage, api.TraceWrite{
			Key: bytes.Clone(key), Old: bytes.Clone(old), New: bytes.Clone(new),
		})
	}
}

// Event implements [exec.Tracer].
func (t *Tracer) Event(log types.Log) {
	event := api.TraceEvent{Name: log.Name, Topics: []types.Digest{}, Data: log.Data}
	for _, topic := range log.Topics {
		event.Topics = append(event.Topics, topic)
	}
	if t.fits(event) {
		event.Data = bytes.Clone(log.Data)
		call := t.top()
		call.Events = append(call.Events, event)
	}
}

// Debug implements [exec.Tracer].
func (t *Tracer) Debug(message []byte) {
	if t.truncated {
		return // the number of messages is unlimited
	}
	if text := strings.ToValidUTF8(string(message), "\uFFFD"); t.fits(text) {
		call := t.top()
		call.Debug = append(call.Debug, text)
	}
}
