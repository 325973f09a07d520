package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func newQuarantine() *cobra.Command {
	command := invoke.NewGroup(&cobra.Command{
		Use:   "quarantine",
		Short: "List or clear the contract codes in a node's quarantine",
		Long: "List or clear the contract codes in a node's quarantine. A node quarantines code on\nwhich its engine " +
			"failed: it no longer includes transactions that run it, but still\nexecutes other nodes' blocks that do.",
		Example: "  cairn quarantine list --data-dir ./mychain",
	})
	command.AddCommand(newQuarantineList(), newQuarantineClear())
	return command
}

type quarantinedCode struct {
	Code types.CodeHash `json:"code"`
	datadir.Quarantined
}

func newQuarantineList() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a node, running or stopped"`
	}{dataHome("node")}
	return withSettings(&cobra.Command{
		Use: "list", Short: "List the contract codes in a node's quarantine",
		Example: "  cairn quarantine list --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		quarantine, err := datadir.Quarantine(settings.DataDir)
		if err != nil {
			return err
		}
		codes := make([]quarantinedCode, 0, len(quarantine))
		for code, why := range maps.All(quarantine) {
			codes = append(codes, quarantinedCode{code, why})
		}
		slices.SortFunc(codes, func(a, b quarantinedCode) int {
			return cmp.Or(a.Time.Compare(b.Time), a.Code.Compare(b.Code))
		})
		return invoke.PrinterOf(command).Result(map[string]any{"quarantined": codes}, func(t *output.Text) {
			if len(codes) == 0 {
				t.Line("The quarantine is empty.")
			}
			for _, c := range codes {
				t.Line("%s since %s, block %d, function %q: %s", c.Code, c.Time.Format(time.RFC3339), c.Height, c.Function, c.Error)
			}
		})
	})
}

func newQuarantineClear() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a stopped node"`
	}{dataHome("node")}
	var codes []string
	command := withSettings(&cobra.Command{
		Use:   "clear",
		Short: "Remove contract codes from the quarantine",
		Long: "Remove contract codes from the quarantine: those given with --code, or all. Do this only\nwith a " +
			"version of the program that runs them correctly; otherwise the engine fails\nagain, and quarantines " +
			"them again.",
		Example: "  cairn quarantine clear --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		hashes := make([]types.CodeHash, len(codes))
		for i, c := range codes {
			var err error
			if hashes[i], err = types.ParseBytes32[types.CodeHash](c); err != nil {
				return output.Usage(fmt.Errorf("--code %s: %w", c, err))
			}
		}
		cleared, err := datadir.ClearQuarantine(settings.DataDir, hashes...)
		if err != nil {
			return err
		}
		return invoke.PrinterOf(command).Result(map[string]int{"cleared": cleared}, func(t *output.Text) {
			t.Line("Removed %d codes from the quarantine.", cleared)
		})
	})
	// not a setting: the environment cannot set it
	command.Flags().StringSliceVar(&codes, "code", nil, "code hash, or several separated by commas (default: all)")
	return command
}
