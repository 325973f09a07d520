// Package tracing shows what a transaction or a call did: its trace, decoded by the contracts' ABIs, with the source lines
// at which calls failed.
package tracing

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

// Transaction requests a trace, and decodes it by the contracts' ABIs and sources.
func Transaction(
	ctx context.Context, s *session.Session, id types.TxID, sources []givenSource, log io.Writer,
) (*Trace, error) {
	asking, cancel := s.Patience(ctx)
	defer cancel()
	ask := s.Client.Trace
	if len(sources) > 0 {
		ask = s.Client.TraceWithPlaces
	}
	trace, err := ask(asking, id)
	if err != nil {
		return nil, err
	}
	if trace == nil {
		return nil, fmt.Errorf("no block has the transaction %s", id)
	}
	return withLines(ctx, s, trace, sources, log)
}

// Unsent is like trace, for a transaction that is not sent, or for its call in view context.
func Unsent(
	ctx context.Context, s *session.Session, tx types.Transaction, view bool, sources []givenSource, log io.Writer,
) (*Trace, error) {
	asking, cancel := s.Patience(ctx)
	defer cancel()
	trace, err := s.Client.TraceUnsent(asking, tx, view, len(sources) > 0)
	if err != nil {
		return nil, err
	}
	return withLines(ctx, s, trace, sources, log)
}

// withLines decodes a trace by the contracts' ABIs and sources.
func withLines(
	ctx context.Context, s *session.Session, trace *api.Trace, sources []givenSource, log io.Writer,
) (*Trace, error) {
	asking, cancel := s.Patience(ctx)
	defer cancel()
	read, err := read(asking, s, trace)
	if err != nil || len(sources) == 0 {
		return read, err
	}
	return read, addLines(ctx, s, read, sources, log)
}

// Text formats a trace for people, without a trailing newline.
func Text(s *session.Session, trace Trace) string {
	var b strings.Builder
	status := string(trace.Status)
	if trace.Error != nil {
		status += ": " + *trace.Error
	}
	fmt.Fprintf(&b, "%s, %d gas", status, uint64(trace.GasUsed))
	var own api.Quantity
	for _, call := range trace.roots() {
		own += call.GasUsed
	}
	b.WriteString(gasParts(trace.Parts, nil, own))
	if trace.Root == nil {
		b.WriteString("; no contract ran")
	} else {
		names := map[string]string{}
		for pair := range slices.Chunk(s.Names(), 2) {
			names[pair[0]] = pair[1]
		}
		for _, call := range trace.roots() {
			traceWriter{&b, names}.call("", *call)
		}
	}
	if trace.Truncated {
		b.WriteString("\n(the trace is truncated)")
	}
	return b.String()
}

// traceWriter formats a trace. It replaces only accounts by names: in the call itself, and in values typed by the
// ABI.
type traceWriter struct {
	*strings.Builder
	names map[string]string // by hex account
}

func (t traceWriter) account(account types.Account) string {
	return cmp.Or(t.names[account.String()], account.String())
}

// call writes a call and, indented, its effects.
func (t traceWriter) call(indent string, call readCall) {
	kind := "call"
	if call.View {
		kind = "view"
	}
	fmt.Fprintf(t, "\n%s%s %s.%s(%s) by %s", indent, kind, t.account(types.Account(call.Contract)),
		show.OneLine(call.Function),
		t.args(call), t.account(call.Caller))
	if call.Value > 0 {
		fmt.Fprintf(t, " with %s", show.Coins(call.Value))
	}
	indent += "  "
	line := func(format string, args ...any) { fmt.Fprintf(t, "\n"+indent+format, args...) }
	line("gas %d of %d%s", uint64(call.GasUsed), uint64(call.Gas), gasParts(call.Parts, call.HostGas, call.BelowGas))
	for _, w := range call.Storage {
		line("storage %s", t.write(call, w))
	}
	for _, e := range call.Events {
		line("event %s %s", show.OneLine(e.Name), t.event(call, e))
	}
	for _, message := range call.Debug {
		line("debug %s", show.OneLine(message))
	}
	for _, inner := range call.Calls {
		t.call(indent, inner)
	}
	switch {
	case call.Error != nil && len(call.Output) > 0:
		line("failed: %s: %s", *call.Error, t.revert(call))
	case call.Cause != nil:
		line("failed: %s: %s", *call.Error, api.CauseText(call.Cause))
	case call.Error != nil:
		line("failed: %s", *call.Error)
	case len(call.Output) > 0:
		line("returned %s", t.result(call))
	}
	for i, at := range call.Lines {
		where := "at"
		if i > 0 {
			where = "called from"
		}
		line("  %s %s", where, at)
	}
}

// args formats a call's arguments by the ABI, or unchanged.
func (t traceWriter) args(call readCall) string {
	if call.Decoded == nil || call.Decoded.Args == nil || len(call.Args) == 0 {
		return show.Readable(call.Args)
	}
	return t.fields(*call.abi, call.Decoded.function.Args, call.Decoded.Args)
}

func (t traceWriter) result(call readCall) string {
	if call.Decoded == nil || call.Decoded.Result == nil {
		return show.Readable(call.Output)
	}
	shown, err := call.abi.Show(call.Decoded.function.Returns, call.Decoded.Result, t.account)
	if err != nil {
		return show.Readable(call.Output)
	}
	return show.Readable(shown)
}

func (t traceWriter) revert(call readCall) string {
	if call.Decoded == nil || call.Decoded.Error == nil {
		return show.Readable(call.Output)
	}
	r := *call.Decoded.Error
	if e, ok := call.abi.Error(r.Name); ok && len(r.Data) > 0 {
		r.Data = json.RawMessage(t.fields(*call.abi, e.Fields, r.Data))
	}
	return show.Readable([]byte(r.String()))
}

func (t traceWriter) event(call readCall, e api.TraceEvent) string {
	if call.abi != nil {
		if declared, ok := call.abi.Event(e.Name); ok {
			return t.fields(*call.abi, declared.Args, json.RawMessage(e.Data))
		}
	}
	return show.Readable(e.Data)
}

// fields formats an object of parameters, or its text if they do not describe it.
func (t traceWriter) fields(declared abi.ABI, parameters []abi.Parameter, object json.RawMessage) string {
	shown, err := declared.ShowFields(parameters, object, t.account)
	if err != nil {
		return show.Readable(object)
	}
	return show.Readable(shown)
}

// write formats a write to storage by the ABI, or unchanged.
func (t traceWriter) write(call readCall, w readWrite) string {
	d := w.Decoded
	if d == nil {
		return fmt.Sprintf("%s: %s → %s", storageKey(w.Key), stored(w.Old), stored(w.New))
	}
	text := func(typ abi.Type, read json.RawMessage) string { // returns "" if it cannot be shown
		shown, err := call.abi.Show(typ, read, t.account)
		if err != nil || !show.Printable(shown) {
			return ""
		}
		return string(shown)
	}
	key := show.Readable([]byte(d.Name))
	switch {
	case d.cell.Kind == abi.ByKey:
		if shown := text(d.cell.Key, d.Key); shown != "" {
			key += "[" + shown + "]"
		} else {
			key = storageKey(w.Key)
		}
	case d.cell.Kind == abi.ByIndex && d.Key == nil:
		key += ".length"
	case d.cell.Kind == abi.ByIndex:
		key += "[" + string(d.Key) + "]"
	}
	value := func(read json.RawMessage, data api.Data) string { // untyped text must not look like a typed value
		if len(data) == 0 {
			return "nothing"
		}
		return cmp.Or(text(d.Value, read), data.String())
	}
	return fmt.Sprintf("%s: %s → %s", key, value(d.Old, w.Old), value(d.New, w.New))
}

// storageKey formats a key in the form of the SDKs: the name of a cell, after its length or before a byte 0, followed
// by hex. It returns other keys as they are.
func storageKey(key []byte) string {
	name, rest, found := bytes.Cut(key, []byte{0})
	if len(key) > 0 && len(key) > int(key[0]) && abi.Identifier(string(key[1:1+key[0]])) {
		name, rest, found = key[1:1+key[0]], key[1+key[0]:], true
	}
	switch {
	case !found || !abi.Identifier(string(name)):
		return show.Readable(key)
	case len(rest) == 0:
		return string(name)
	}
	return fmt.Sprintf("%s[%s]", name, api.Data(rest))
}

// stored formats a value in storage.
func stored(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	return show.Readable(value)
}

// gasParts lists the gas by parts, host functions and inner calls, in descending order.
func gasParts(parts, host map[string]api.Quantity, below api.Quantity) string {
	all := maps.Clone(parts)
	if all == nil { // from a node that does not report parts
		all = map[string]api.Quantity{}
	}
	for name, gas := range host {
		all[name+"()"] = gas
	}
	if below > 0 {
		all["calls below"] = below
	}
	names := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a, b))
	})
	listed := make([]string, len(names))
	for i, name := range names {
		listed[i] = fmt.Sprintf("%s %d", name, uint64(all[name]))
	}
	if len(listed) == 0 {
		return ""
	}
	return " (" + strings.Join(listed, ", ") + ")"
}

// Options says whether to trace a call, and how to show the trace.
type Options struct {
	Wanted  bool
	Sources []givenSource
	Log     io.Writer
}

// LogTable lists the events of a receipt, if any.
func LogTable(s *session.Session, t *output.Text, logs []api.Log) {
	if len(logs) == 0 {
		return
	}
	known := s.Known()
	rows := make([][]any, len(logs))
	for i, log := range logs {
		data := show.EventData(log.Address, log.EventName, log.Topics, log.Data)
		rows[i] = []any{show.OneLine(log.EventName), known.Replace(log.Address.String()), known.Replace(data)}
	}
	t.Line("")
	t.Table([]string{"Event", "Contract", "Data"}, rows)
}
