package cli

import (
	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/chain"
	"github.com/cairn-chain/cairn/cli/contract"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keys"
	"github.com/cairn-chain/cairn/cli/network"
	"github.com/cairn-chain/cairn/cli/session"
)

// NewRoot returns the command cairn with the client commands below it.
func NewRoot(build Build) *cobra.Command { return newRoot(session.NewApp(), build) }

func newRoot(a *session.App, build Build) *cobra.Command {
	root := invoke.NewGroup(&cobra.Command{
		Use:   "cairn",
		Short: "A blockchain node and its client tools",
		Example: `  cairn keys new alice
  cairn send alice 1.5 --from dev0
  cairn account alice`,
	})
	var version bool
	root.Flags().BoolVar(&version, "version", false, "print the version")
	needsCommand := root.RunE
	root.RunE = func(command *cobra.Command, args []string) error {
		printer := invoke.PrinterOf(command)
		switch {
		case version:
			return build.print(printer)
		case len(args) == 0 && !printer.JSON():
			return invoke.PrintHelp(printer, command)
		}
		return needsCommand(command, args)
	}
	root.PersistentFlags().Bool(
		invoke.JSONFlag, false, `print one JSON document: {"ok":true,"result":…} or {"ok":false,"error":…}`,
	)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(invoke.NewHelp())
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		printer := invoke.PrinterOf(command)
		if err := invoke.PrintHelp(printer, command); err != nil {
			printer.Note("Error: cannot write the help: %v", err)
		}
	})
	root.AddCommand(keys.Commands(a)...)
	root.AddCommand(chain.Commands(a)...)
	root.AddCommand(contract.Commands(a)...)
	root.AddCommand(network.Commands(a)...)
	root.AddCommand(build.newVersion(), build.newMan(), newCompletion())
	for _, command := range root.Commands() {
		command.SuggestFor = otherWords[command.Name()]
	}
	return root
}

// otherWords maps words that users of other chains' tools type to the command here.
var otherWords = map[string][]string{
	"account": {"balance", "address", "nonce", "payments"}, "block": {"blocks", "head"}, "contract": {"contracts", "abi"},
	"events": {"logs"}, "fees": {"gas", "gas-price"}, "keys": {"wallet", "accounts"}, "mempool": {"pending", "txpool"},
	"send": {"transfer"}, "pay": {"payout", "batch"}, "status": {"info", "sync"}, "tx": {"transaction", "receipt", "trace"},
	"call": {"view", "invoke"}, "watch": {"subscribe", "follow"},
}
