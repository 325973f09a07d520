package operator

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// leftover is a [datadir.Leftover] in JSON output.
type leftover struct {
	datadir.Leftover
	Seconds float64 `json:"ageSeconds"`
}

func leftovers(left []datadir.Leftover) []leftover {
	rows := make([]leftover, len(left))
	for i, l := range left {
		rows[i] = leftover{l, l.Age.Seconds()}
	}
	return rows
}

// leftoversText lists the leftovers with their ages and sizes.
func leftoversText(left []datadir.Leftover) string {
	said := make([]string, len(left))
	for i, l := range left {
		said[i] = fmt.Sprintf("%s (%s old, %.1f MiB)", l.Path, l.Age.Round(time.Second), float64(l.Bytes)/(1<<20))
	}
	return strings.Join(said, ", ")
}

func newDBBackup() *cobra.Command {
	settings := struct {
		adminSettings
		DataDir string `setting:"data-dir" usage:"with --clean: data directory to clean, without making a backup"`
	}{adminSettings: defaultAdmin()}
	var clean bool
	command := withSettings(&cobra.Command{
		Use:   "backup",
		Short: "Back up the chain of a running node",
		Long: "Tell a node running on this machine to copy a consistent snapshot of its database into a\ndirectory " +
			"below DATA-DIR/backups, and verify the checksum of every byte of the copy. The\nnode keeps running " +
			"meanwhile. The copy is a data directory with the chain and without\nkeys. Nothing writes to it " +
			"afterwards: move it to another disk.\nFiles left over by interrupted backups and other interrupted work " +
			"are listed. --clean\nremoves them after the backup. With --data-dir it removes them without a backup " +
			"and\nwithout a running node.",
		Example: "  cairn db backup --admin-token-file ./mychain/admin.token\n" +
			"  cairn db backup --clean --data-dir ./mychain",
	}, &settings, func(command *cobra.Command) error {
		switch {
		case settings.DataDir != "" && clean:
			return cleanDir(command, settings.DataDir)
		case command.Flags().Changed("data-dir"):
			return output.Usage(errors.New("--data-dir needs --clean: a backup is always made by the node at --admin"))
		}
		return backup(command, settings.adminSettings, clean)
	})
	_ = command.Flags().SetAnnotation("data-dir", optional, []string{"true"}) // it may be empty
	// The flag is not a setting: the environment cannot set it.
	command.Flags().BoolVar(&clean, "clean", false, "remove files left over by interrupted backups and other "+
		"interrupted work")
	return command
}

// cleanDir removes the leftovers of interrupted work from a directory.
func cleanDir(command *cobra.Command, dir string) error {
	removed, err := datadir.RemoveLeftovers(dir, time.Now())
	if err != nil {
		return err
	}
	result := map[string]any{"removed": leftovers(removed)}
	return invoke.PrinterOf(command).Result(result, func(t *output.Text) { printRemoved(t, removed) })
}

func printRemoved(t *output.Text, removed []datadir.Leftover) {
	if len(removed) == 0 {
		t.Line("There were no leftovers.")
		return
	}
	t.Line("Removed: %s.", leftoversText(removed))
}

// backup makes a backup, and then lists or removes the leftovers beside it.
func backup(command *cobra.Command, settings adminSettings, clean bool) error {
	path, err := settings.client().Backup(command.Context())
	if err != nil {
		return fmt.Errorf("no backup was made: %w", err)
	}
	progress, stop := invoke.Progress(command, "verifying")
	named, head, err := datadir.VerifyBackup(command.Context(), path, progress)
	stop()
	if command.Context().Err() != nil && err != nil {
		return errors.Join(fmt.Errorf("no backup was made: %w", err), os.RemoveAll(path))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	dir := filepath.Dir(filepath.Dir(named))
	look := datadir.Leftovers
	if clean {
		look = datadir.RemoveLeftovers
	}
	left, err := look(dir, time.Now())
	if err != nil {
		return fmt.Errorf("the backup %s was made, but the leftovers could not be listed: %w", named, err)
	}
	result := struct {
		Path    string          `json:"path"`
		Height  types.Height    `json:"height"`
		Hash    types.BlockHash `json:"hash"`
		Left    []leftover      `json:"leftovers"`
		Removed bool            `json:"removed"` // the leftovers
	}{named, head.Header.Height, head.Header.Hash(), leftovers(left), clean}
	return invoke.PrinterOf(command).Result(result, func(t *output.Text) {
		t.Line("%s contains the chain up to block %d, %s.", result.Path, result.Height, result.Hash)
		switch {
		case clean:
			printRemoved(t, left)
		case len(left) > 0:
			t.Line("Interrupted work left over %s. `cairn db backup --clean --data-dir %s` removes it.",
				leftoversText(left), dir)
		}
	})
}
