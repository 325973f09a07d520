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
func (s *session) known() *strings.Replacer {
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
	return strings.NewReplacer(pairs...)
}

// traceText is a trace for people, without the last line's end.
func (s *session) traceText(trace api.Trace) string {
	var b strings.Builder
	status := string(trace.Status)
	if trace.Error != nil {
		status += ": " + *trace.Error
	}
	fmt.Fprintf(&b, "%s, %d gas", status, uint64(trace.GasUsed))
	if trace.Root == nil {
		b.WriteString("; no contract ran")
	} else {
		traceCall(&b, "", *trace.Root)
	}
	if trace.Truncated {
		b.WriteString("\n(there was more than a trace holds)")
	}
	return s.known().Replace(b.String())
}

// traceCall writes a call and, further to the right, what it did.
func traceCall(b *strings.Builder, indent string, call api.TraceCall) {
	kind := "call"
	if call.View {
		kind = "view"
	}
	fmt.Fprintf(b, "\n%s%s %s.%s(%s) by %s", indent, kind, call.Contract, call.Function, readable(call.Args), call.Caller)
	if call.Value > 0 {
		fmt.Fprintf(b, " with %s", coins(call.Value))
	}
	indent += "  "
	line := func(format string, args ...any) { fmt.Fprintf(b, "\n"+indent+format, args...) }
	line("gas %d of %d%s", uint64(call.GasUsed), uint64(call.Gas), hostGas(call.HostGas))
	for _, w := range call.Storage {
		line("storage %s: %s → %s", readable(w.Key), stored(w.Old), stored(w.New))
	}
	for _, e := range call.Events {
		line("event %s %s", e.Name, readable(e.Data))
	}
	for _, message := range call.Debug {
		line("debug %s", message)
	}
	for _, inner := range call.Calls {
		traceCall(b, indent, inner)
	}
	switch {
	case call.Error != nil && len(call.Output) > 0:
		line("failed: %s: %s", *call.Error, readable(call.Output))
	case call.Error != nil:
		line("failed: %s", *call.Error)
	case len(call.Output) > 0:
		line("returned %s", readable(call.Output))
	}
}

// stored is a value in storage for people.
func stored(value []byte) string {
	if len(value) == 0 {
		return "nothing"
	}
	return readable(value)
}

// hostGas lists the host functions that took gas, the most first.
func hostGas(gas map[string]api.Quantity) string {
	names := slices.SortedFunc(maps.Keys(gas), func(a, b string) int {
		return cmp.Or(cmp.Compare(gas[b], gas[a]), cmp.Compare(a, b))
	})
	parts := make([]string, len(names))
	for i, name := range names {
		parts[i] = fmt.Sprintf("%s %d", name, uint64(gas[name]))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
