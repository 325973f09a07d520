package chain

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/tracing"
)

func newTrace(a *session.App) *cobra.Command {
	var sources []string
	command := a.Define(&cobra.Command{
		Use:   "trace HASH",
		Short: "Trace a transaction, call by call",
		Long: `Trace a transaction in a block, call by call: arguments, results, gas, storage writes,
events, and messages of the host function debug. The node executes the transaction's
block again up to the transaction.

With --source, a failed call shows the source line in which it failed, and its callers.
The source is compiled; lines are shown only for contracts with exactly the resulting
code.`,
		Example: "  cairn tx trace 0x4f1c…\n  cairn tx trace 0x4f1c… --source . --source ../pool/build/pool.source.tar",
		Args:    invoke.Exactly("HASH"),
	}, session.NodeSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		id, err := argument.ParseTxID(args[0])
		if err != nil {
			return output.Usage(err)
		}
		given, err := tracing.ReadSources(ctx, s, sources)
		if err != nil {
			return err
		}
		read, err := tracing.Transaction(ctx, s, id, given, command.ErrOrStderr())
		if err != nil {
			return err
		}
		return s.Result(read, func(t *output.Text) { t.Line("%s", tracing.Text(s, *read)) })
	})
	tracing.RegisterSources(command, &sources)
	return command
}
