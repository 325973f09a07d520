package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
)

func newDBMove() *cobra.Command {
	var from, to string
	var settings struct{}
	command := withSettings(&cobra.Command{
		Use:   "move",
		Short: "Move a stopped node's directory with all that it has, also over a change of the database's format",
		Long: "Move the data directory of a stopped node to a new one with all that it has: blocks, pending transactions, " +
			"settings, keys, height\n" +
			"locks, a cluster's membership, snapshots and sources. A database of the same format is copied; of an older one " +
			"the blocks are executed\n" +
			"again. The old directory keeps its data, and no node starts on it once the new one is verified. A move that was " +
			"broken off goes on\n" +
			"when the command is called again.",
		Example: "  cairn db move --from ./mychain --to ./new\n  cairn node --data-dir ./new",
	}, &settings, func(command *cobra.Command) error {
		if from == "" || to == "" {
			return output.Usage(errors.New("--from and --to are needed: the directory of a stopped node, and a new one"))
		}
		log, err := newLogger(command.ErrOrStderr(), "warn", "text")
		if err != nil {
			return err
		}
		progress, stop := cli.Progress(command, "moving")
		moved, err := datadir.Move(command.Context(), from, to, log, progress)
		stop()
		if err != nil {
			return err
		}
		return cli.PrinterOf(command).Result(moved, func(t *output.Text) {
			t.Line("%s has all that %s had, to block %d, and %d files beside the database.", to, from, moved.Head,
				len(moved.Files))
			for _, line := range moved.Named {
				t.Line("Its cairn.toml names the old directory; correct the line: %s", line)
			}
			t.Line("Start it: cairn node --data-dir %s", to)
			t.Line("No node starts on %s any more. Keep it until the new one has run for a while.", from)
		})
	})
	// These flags are not settings: the environment cannot set them.
	command.Flags().StringVar(&from, "from", "", "data directory of a node that does not run")
	command.Flags().StringVar(&to, "to", "", "data directory that is made")
	return command
}
