package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/terminal"
)

// Progress shows a bar for a running command's long work where a person watches: progress is told of the steps done
// and of all there are, stop ends it.
func Progress(command *cobra.Command, text string) (progress func(done, total uint64), stop func()) {
	return PrinterOf(command).Bar(terminal.Is(command.ErrOrStderr()), text)
}

// AskNumber lets a person type a number; where nobody can, flag says so instead.
func AskNumber(command *cobra.Command, question, flag string) (uint64, error) {
	answer, err := terminal.New(command.InOrStdin(), command.ErrOrStderr()).Line(command.Context(), question)
	if err != nil {
		return 0, noTerminal(err, flag)
	}
	number, err := strconv.ParseUint(strings.TrimSpace(answer), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("not confirmed, nothing done: %q is no number", answer)
	}
	return number, nil
}
