package invoke

import (
	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/terminal"
)

// Progress shows a progress bar for a running command on a terminal. progress sets the steps done and their total; stop
// removes the bar.
func Progress(command *cobra.Command, text string) (progress func(done, total uint64), stop func()) {
	return PrinterOf(command).Bar(terminal.Is(command.ErrOrStderr()), text)
}
