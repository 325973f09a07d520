package cli

import (
	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/internal/cli/terminal"
)

// Progress shows a bar for a running command's long work where a person watches: progress is told of the steps done
// and of all there are, stop ends it.
func Progress(command *cobra.Command, text string) (progress func(done, total uint64), stop func()) {
	return PrinterOf(command).Bar(terminal.Is(command.ErrOrStderr()), text)
}
