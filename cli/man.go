package cli

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
)

// newMan returns a command for packagers, which the help does not list.
func (b Build) newMan() *cobra.Command {
	var date string
	command := &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write the man pages of all commands into a directory",
		Example: `  cairn man /usr/local/share/man/man1`,
		Args:    invoke.Exactly("DIRECTORY"),
		Hidden:  true,
	}
	command.Flags().StringVar(
		&date, "date", "", "date of the pages, such as 2026-01-31 (default: the date of the program's commit)",
	)
	command.RunE = func(command *cobra.Command, args []string) error {
		at, err := b.dateOf(date)
		if err != nil {
			return output.Usage(err)
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		root := command.Root()
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Section: "1", Date: at, Source: "Cairn " + b.Version, Manual: "Cairn"}
		if err := doc.GenManTree(root, header, args[0]); err != nil {
			return fmt.Errorf("the manual pages: %w", err)
		}
		return invoke.PrinterOf(command).Result(map[string]string{"directory": args[0]},
			func(t *output.Text) { t.Line("Wrote the man pages to %s.", args[0]) })
	}
	return command
}

// dateOf returns the date of a manual page: the given one, or the date of the program's commit. It returns an error if
// that is unknown.
func (b Build) dateOf(date string) (*time.Time, error) {
	layout := time.DateOnly
	if date == "" {
		date, layout = b.Date, time.RFC3339
	}
	if date == "" {
		return nil, fmt.Errorf("the commit date of this program is unknown: give a date with --date")
	}
	at, err := time.Parse(layout, date)
	return &at, err
}
