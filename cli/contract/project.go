package contract

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/contracts"
)

func newContractNew(a *session.App) *cobra.Command {
	var lang string
	command := a.Define(&cobra.Command{
		Use:   "new NAME",
		Short: "Create a contract project with an example, a test and the SDK",
		Long: `Create a contract project: a directory NAME with the SDK's sources, a counter as an
example, and a test that needs no node.`,
		Example: "  cairn contract new tally --lang rust\n  cairn contract new tally --lang assemblyscript",
		Args:    invoke.Exactly("NAME"),
	}, nil, func(_ context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		project, err := contracts.NewProject(args[0], lang)
		if err != nil {
			return output.Usage(err)
		}
		return s.Result(project, func(t *output.Text) {
			deploy := fmt.Sprintf("cairn deploy %s --from dev0 --alias %s", project.Module, filepath.Base(project.Dir))
			if project.Init != "" {
				deploy += " --args '" + project.Init + "'"
			}
			t.Line("%s has %d files. Test and build it:\n\n  cd %s\n  %s\n\nThen, beside cairn dev:\n\n  %s",
				project.Dir, len(project.Files), project.Dir, strings.Join(project.Next, "\n  "), deploy)
		})
	})
	command.Flags().StringVar(&lang, "lang", "rust", strings.Join(contracts.Languages(), " or "))
	invoke.CompleteChoice(command, "lang", contracts.Languages()...)
	return command
}
