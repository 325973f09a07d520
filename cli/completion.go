package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
)

var shells = []string{"bash", "zsh", "fish"}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for bash, zsh or fish",
		Example: `  source <(cairn completion bash)
  cairn completion zsh > "${fpath[1]}/_cairn"
  cairn completion fish > ~/.config/fish/completions/cairn.fish`,
		Args:      invoke.Exactly("SHELL"),
		ValidArgs: shells,
		RunE: func(command *cobra.Command, args []string) error {
			var script bytes.Buffer
			root, shell := command.Root(), args[0]
			if !slices.Contains(shells, shell) {
				return output.Usage(fmt.Errorf(
					"no completion for shell %q: supported shells are %s", shell, strings.Join(shells, ", "),
				))
			}
			var err error
			switch shell {
			case "bash":
				err = root.GenBashCompletionV2(&script, true)
			case "zsh":
				err = root.GenZshCompletion(&script)
			case "fish":
				err = root.GenFishCompletion(&script, true)
			}
			if err != nil {
				return err
			}
			return invoke.PrinterOf(command).Result(map[string]string{"shell": shell, "script": script.String()},
				func(t *output.Text) { t.Line("%s", strings.TrimRight(script.String(), "\n")) })
		},
	}
}
