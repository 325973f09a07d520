package session

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keystore"
	"github.com/cairn-chain/cairn/types"
)

// names completes an account: the names in the keystore and, once one is begun, those of development accounts.
func (a *App) names(command *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	home, _, err := a.locate(command)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := CompletionsOf(a.open(home))
	if begun != "" {
		for _, name := range argument.DevelopmentNames() {
			if strings.HasPrefix(name, begun) {
				names = append(names, name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// CompleteNames completes a command's arguments as accounts.
func (a *App) CompleteNames(command *cobra.Command) *cobra.Command {
	command.ValidArgsFunction = a.names
	return command
}

// completeSettings completes the flags of settings with a few possible values.
func (a *App) completeSettings(command *cobra.Command, settings []string) {
	if slices.Contains(settings, "from") {
		a.CompleteAccount(command, "from")
	}
	if slices.Contains(settings, "network") {
		invoke.CompleteChoice(command, "network", string(types.Mainnet), string(types.Testnet), string(types.Regtest))
	}
}

// CompleteAccount completes flags whose values are accounts.
func (a *App) CompleteAccount(command *cobra.Command, flags ...string) {
	for _, flag := range flags {
		_ = command.RegisterFlagCompletionFunc(flag, a.names) // fails only for a flag that does not exist
	}
}

// CompletionsOf returns the names in a keystore, skipping unreadable entries.
func CompletionsOf(store *keystore.Store) []string {
	entries, _, err := store.List()
	if err != nil {
		return nil
	}
	completions := make([]string, len(entries))
	for i, entry := range entries {
		completions[i] = cobra.CompletionWithDesc(entry.Name, entry.Address())
	}
	return completions
}
