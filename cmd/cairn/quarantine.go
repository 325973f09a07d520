package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

func newQuarantine() *cobra.Command {
	command := cli.NewGroup(&cobra.Command{
		Use:   "quarantine",
		Short: "List or clear the codes that a node does not run",
		Long: "List or clear the codes that a node does not run any more, because its engine failed on them. Blocks of " +
			"others that call them\n" +
			"are executed all the same.",
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
		DataDir string `setting:"data-dir" usage:"data directory of a node, which may run"`
	}{dataHome("node")}
	return withSettings(&cobra.Command{
		Use: "list", Short: "List the codes that a node does not run",
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
		return cli.PrinterOf(command).Result(map[string]any{"quarantined": codes}, func(t *output.Text) {
			if len(codes) == 0 {
				t.Line("No code is in quarantine.")
			}
			for _, c := range codes {
				t.Line("%s since %s, block %d, function %q: %s", c.Code, c.Time.Format(time.RFC3339), c.Height, c.Function, c.Error)
			}
		})
	})
}

func newQuarantineClear() *cobra.Command {
	settings := struct {
		DataDir string `setting:"data-dir" usage:"data directory of a node that does not run"`
	}{dataHome("node")}
	var codes []string
	command := withSettings(&cobra.Command{
		Use:   "clear",
		Short: "Take codes out of the quarantine",
		Long: "Take codes out of the quarantine: those that --code names, or all. Do so with a version of the program that " +
			"is known to run them;\n" +
			"otherwise the engine fails again, and they are back.",
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
		return cli.PrinterOf(command).Result(map[string]int{"cleared": cleared}, func(t *output.Text) {
			t.Line("%d codes are out of the quarantine.", cleared)
		})
	})
	// not a setting: the environment cannot set it
	command.Flags().StringSliceVar(&codes, "code", nil, "hash of a code, several with commas (default all)")
	return command
}
