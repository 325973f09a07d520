package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/terminal"
)

// Progress shows a progress bar for a running command on a terminal. progress sets the steps done and their total; stop
// removes the bar.
func Progress(command *cobra.Command, text string) (progress func(done, total uint64), stop func()) {
	return PrinterOf(command).Bar(terminal.Is(command.ErrOrStderr()), text)
}

// AskNumber asks the user for a number. Without a terminal, the error names the flag to use instead.
func AskNumber(command *cobra.Command, question, flag string) (uint64, error) {
	answer, err := terminal.New(command.InOrStdin(), command.ErrOrStderr()).Line(command.Context(), question)
	if err != nil {
		return 0, noTerminal(err, flag)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(answer), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("not confirmed, nothing changed: %q is not a number", answer)
	}
	return number, nil
}
