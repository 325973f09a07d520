package cli

import (
	"github.com/spf13/cobra"
)

// NewRoot returns the command cairn with the client commands below it.
func NewRoot(build Build) *cobra.Command { return newApp(build).root() }

func (a *app) root() *cobra.Command {
	root := NewGroup(&cobra.Command{
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
		printer := PrinterOf(command)
		switch {
		case version:
			return a.build.print(printer)
		case len(args) == 0 && !printer.JSON():
			return printHelp(printer, command)
		}
		return needsCommand(command, args)
	}
	root.PersistentFlags().Bool(
		jsonFlag, false, `print one JSON document: {"ok":true,"result":…} or {"ok":false,"error":…}`,
	)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(newHelp())
	root.SetHelpFunc(func(command *cobra.Command, _ []string) {
		printer := PrinterOf(command)
		if err := printHelp(printer, command); err != nil {
			printer.Note("Error: cannot write the help: %v", err)
		}
	})
	root.AddCommand(
		a.newKeys(), a.newFund(), a.newSend(), a.newPay(), a.newCancel(),
		a.newDeploy(), a.newCall(), a.newEncode(), a.newDecode(), a.newToken(), a.newContract(),
		a.newParameters(), a.newConfigure(), a.newUpgrade(), a.newPromote(),
		a.newAccount(), a.newTx(), a.newBlock(), a.newEvents(), a.newProof(), a.newFees(), a.newMempool(), a.newStatus(),
		a.newWatch(), a.newRPC(), a.newBench(),
		a.newVersion(), a.newMan(), newCompletion(),
	)
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
