package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/cli/argument"
	"github.com/cairn-chain/cairn/internal/cli/output"
)

func (a *app) newTrace() *cobra.Command {
	return a.lookUp(&cobra.Command{
		Use:   "trace HASH",
		Short: "Show what a transaction did, call by call",
		Long: `Show what a transaction in a block did, call by call: arguments and results, gas, what each call wrote, emitted and
said with the host function debug. The node executes the transaction's block again up to it.`,
		Example: "  cairn tx trace 0x4f1c…",
		Args:    exactly("HASH"),
	}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		id, err := argument.ParseTxID(args[0])
		if err != nil {
			return output.Usage(err)
		}
		trace, err := s.client.Trace(ctx, id)
		if err != nil {
			return err
		}
		if trace == nil {
			return fmt.Errorf("no block has the transaction %s", id)
		}
		return s.Result(trace, func(t *output.Text) { t.Line("%s", s.traceText(*trace)) })
	})
}

// known puts names in place of the accounts, in hex, that the keystore or the development chain names.
func (s *session) known() *strings.Replacer { return strings.NewReplacer(s.names()...) }

// names are the accounts that have a name, in hex, each followed by its name.
func (s *session) names() []string {
	var pairs []string
	for _, name := range argument.DevelopmentNames() {
		if account, err := argument.ParseAccount(s.store, name); err == nil {
			pairs = append(pairs, account.ID.String(), name)
		}
	}
	entries, _, err := s.store.List() // a file that cannot be read names nobody
	if err == nil {
		for _, entry := range entries {
			pairs = append(pairs, entry.Account.String(), entry.Name)
		}
	}
	return pairs
}

// traceText is a trace for people, without the last line's end.
func (s *session) traceText(trace api.Trace) string {
	var b strings.Builder
	status := string(trace.Status)
	if trace.Error != nil {
		status += ": " + *trace.Error
	}
	fmt.Fprintf(&b, "%s, %d gas", status, uint64(trace.GasUsed))
	var own api.Quantity
	if trace.Root != nil {
		own = trace.Root.GasUsed
	}
	b.WriteString(gasParts(trace.Parts, nil, own))
	if trace.Root == nil {
		b.WriteString("; no contract ran")
	} else {
		names := s.names()
		traceWriter{&b, strings.NewReplacer(names...), strings.NewReplacer(quoted(names)...)}.call("", *trace.Root)
	}
	if trace.Truncated {
		b.WriteString("\n(there was more than a trace holds)")
	}
	return b.String()
}

// traceWriter is a trace that is written. Names stand for whole accounts only: for a call's own, and for a string of
// JSON in what is text. Raw bytes, which may hold an account's among others, are shown as they are.
type traceWriter struct {
	*strings.Builder
	account *strings.Replacer
	strings *strings.Replacer
}

func quoted(texts []string) []string {
	with := make([]string, len(texts))
	for i, text := range texts {
		with[i] = `"` + text + `"`
	}
	return with
}

func (t traceWriter) readable(data []byte) string { return t.strings.Replace(readable(data)) }

// call writes a call and, further to the right, what it did.
func (t traceWriter) call(indent string, call api.TraceCall) {
	kind := "call"
	if call.View {
		kind = "view"
	}
	fmt.Fprintf(t, "\n%s%s %s.%s(%s) by %s", indent, kind, t.account.Replace(call.Contract.String()), call.Function,
		t.readable(call.Args), t.account.Replace(call.Caller.String()))
	if call.Value > 0 {
		fmt.Fprintf(t, " with %s", coins(call.Value))
	}
	indent += "  "
	line := func(format string, args ...any) { fmt.Fprintf(t, "\n"+indent+format, args...) }
	line("gas %d of %d%s", uint64(call.GasUsed), uint64(call.Gas), gasParts(call.Parts, call.HostGas, call.BelowGas))
	for _, w := range call.Storage {
		line("storage %s: %s → %s", t.readable(w.Key), t.stored(w.Old), t.stored(w.New))
	}
	for _, e := range call.Events {
		line("event %s %s", e.Name, t.readable(e.Data))
	}
	for _, message := range call.Debug {
		line("debug %s", message)
	}
	for _, inner := range call.Calls {
		t.call(indent, inner)
	}
	switch {
	case call.Error != nil && len(call.Output) > 0:
		line("failed: %s: %s", *call.Error, t.readable(call.Output))
	case call.Error != nil:
		line("failed: %s", *call.Error)
	case len(call.Output) > 0:
		line("returned %s", t.readable(call.Output))
	}
}

// stored is a value in storage for people.
func (t traceWriter) stored(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	return t.readable(value)
}

// gasParts lists where gas went, the most first: parts, host functions and the calls below.
func gasParts(parts, host map[string]api.Quantity, below api.Quantity) string {
	all := maps.Clone(parts)
	if all == nil { // of a node that does not tell
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
