package invoke

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/terminal"
)

// CompleteChoice completes a flag with a few possible values.
func CompleteChoice(command *cobra.Command, flag string, choices ...string) {
	// Fails only for a flag that does not exist.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// OutFlag adds the flag --out, -o for an output file to a command.
func OutFlag(command *cobra.Command, into *string, usage string) {
	command.Flags().StringVarP(into, "out", "o", "", usage)
}

// CreateOut creates the file given by --out, and its directories. It fails if the file exists.
func CreateOut(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// WriteOut writes the file given by --out, and creates its directories.
func WriteOut(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}

// PageFlags declares the flags of a list.
func PageFlags(command *cobra.Command, limit *uint64, after *string, usual, most uint64) {
	command.Flags().Uint64Var(limit, "limit", usual, fmt.Sprintf("number to list, at most %d", most))
	command.Flags().StringVar(after, "after", "", "cursor of the last item seen: list the items after it")
}

// More tells users how to continue after a full page.
func More(t *output.Text, listed, limit uint64, cursor func() string) {
	if listed > 0 && listed == limit {
		t.Line("There may be more: --after %s", cursor())
	}
}

// Progress shows a progress bar for a running command on a terminal. progress sets the steps done and their total; stop
// removes the bar.
func Progress(command *cobra.Command, text string) (progress func(done, total uint64), stop func()) {
	return PrinterOf(command).Bar(terminal.Is(command.ErrOrStderr()), text)
}
