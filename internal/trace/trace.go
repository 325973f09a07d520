// Package trace gathers what a transaction does, call by call, in the form in which the API shows it: for nodes and for
// tests of contracts.
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

// most is what a trace may take of an answer, in bytes; around it go the response object and the id of the call.
const most = api.MaxPageBytes - 4<<10

// afterwards is what a call may grow by after it was entered, its lists apart: its output and where its gas went.
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

// around is what a trace takes beside its calls.
var around = func() int {
	word := longest
	return size(api.Trace{GasUsed: math.MaxUint64, Status: api.StatusSuccess, Error: &word, Parts: everyPart()})
}()

// everyPart is as much gas of each part as there can be.
func everyPart() map[string]api.Quantity {
	parts := map[string]api.Quantity{}
	for p := range exec.Parts {
		parts[p.String()] = math.MaxUint64
	}
	return parts
}

// size is the length of a part of a trace in an answer, in bytes.
func size(part any) int {
	n, err := jsonrpc.Size(part)
	if err != nil {
		panic("trace: what the API declares is not encoded: " + err.Error())
	}
	return n
}

// call is a call that has not ended.
type call struct {
	api.TraceCall
	reserved int // room for it without its lists; 0: it is not shown
}

// Tracer gathers what a transaction does.
type Tracer struct {
	root      *api.TraceCall
	gas       map[string]api.Quantity // of the transaction itself, by parts
	open      []*call                 // from the root down
	size      int                     // of the encoding of what is shown, and what open calls may still need
	truncated bool
}

// New is a tracer of one transaction.
func New() *Tracer { return &Tracer{gas: map[string]api.Quantity{}, size: around} }

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

// Cause says more about a trap; nil where there is no more.
func Cause(c vm.Cause) *api.TrapCause {
	if c.Name == "" {
		return nil
	}
	return &api.TrapCause{Name: c.Name, Limit: uint64(c.Limit)}
}

// fits reports whether there is room for something more, and takes it. Nothing is shown behind what did not fit.
func (t *Tracer) fits(item any) bool { return !t.truncated && t.take(size(item)+len(",")) }

// take takes room for so many bytes, if there is as much.
func (t *Tracer) take(bytes int) bool {
	if t.truncated = t.truncated || t.size+bytes > most; !t.truncated {
		t.size += bytes
	}
	return !t.truncated
}

func (t *Tracer) top() *call { return t.open[len(t.open)-1] }

// Enter implements [exec.Tracer]. The room for all of a call but its lists is taken when it begins: a call is shown
// even if what it does has no room any more.
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
		t.root = &ended.TraceCall
		return
	}
	above := t.top()
	above.Calls = append(above.Calls, ended.TraceCall)
}

// sizeAlone is the size of a call in a list without what its own lists have.
func sizeAlone(c api.TraceCall) int {
	c.Storage, c.Events, c.Debug = []api.TraceWrite{}, []api.TraceEvent{}, []string{}
	c.Calls, c.StoppedAt = []api.TraceCall{}, []api.TracePlace{}
	return size(c) + len(",")
}

// Stopped says where the call stood that failed just now and has not been told to exit: an engine tells it.
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
		return // it may go on saying something for as long as it runs
	}
	if text := strings.ToValidUTF8(string(message), "\uFFFD"); t.fits(text) {
		call := t.top()
		call.Debug = append(call.Debug, text)
	}
}
