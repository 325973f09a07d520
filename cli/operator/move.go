package operator

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
)

func newDBMove() *cobra.Command {
	var from, to string
	var settings struct{}
	command := withSettings(&cobra.Command{
		Use:   "move",
		Short: "Move a stopped node to a new data directory, converting its database format if needed",
		Long: "Move everything in a stopped node's data directory to a new one: blocks, pending\ntransactions, " +
			"settings, keys, sign state (double-sign protection), cluster membership,\nsnapshots and sources. A " +
			"database of the same format is copied; from a database of an\nolder format the blocks are executed " +
			"again. The old directory keeps its data, but once\nthe new one is verified, no node starts on the old " +
			"one. Run the command again to\ncontinue an interrupted move.",
		Example: "  cairn db move --from ./mychain --to ./new\n  cairn node --data-dir ./new",
	}, &settings, func(command *cobra.Command) error {
		if from == "" || to == "" {
			return output.Usage(errors.New("--from and --to are required: the data directory of a stopped node, and " +
				"a new directory"))
		}
		log, err := newLogger(command.ErrOrStderr(), "warn", "text")
		if err != nil {
			return err
		}
		progress, stop := invoke.Progress(command, "moving")
		moved, err := datadir.Move(command.Context(), from, to, log, progress)
		stop()
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(moved, func(t *output.Text) {
			t.Line("Moved everything to %s from %s: the chain up to block %d, and %d files beside the database.", to, from, moved.Head,
				len(moved.Files))
			for _, line := range moved.Named {
				t.Line("Its cairn.toml still names the old directory. Correct the line: %s", line)
			}
			t.Line("Start it with: cairn node --data-dir %s", to)
			t.Line("No node starts on %s any more. Keep that directory until the new one has run for a while.", from)
		})
	})
	// These flags are not settings: the environment cannot set them.
	command.Flags().StringVar(&from, "from", "", "data directory of a stopped node")
	command.Flags().StringVar(&to, "to", "", "data directory to create")
	return command
}
