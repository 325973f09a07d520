package cli

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/cairn-chain/cairn/cli/chain"
	"github.com/cairn-chain/cairn/cli/contract"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/keys"
	"github.com/cairn-chain/cairn/cli/network"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/types"
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

// newMan returns a command for packagers, which the help does not list.
func (b Build) newMan() *cobra.Command {
	var date string
	command := &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write the man pages of all commands into a directory",
		Example: `  cairn man /usr/local/share/man/man1`,
		Args:    invoke.Exactly("DIRECTORY"),
		Hidden:  true,
	}
	command.Flags().StringVar(
		&date, "date", "", "date of the pages, such as 2026-01-31 (default: the date of the program's commit)",
	)
	command.RunE = func(command *cobra.Command, args []string) error {
		at, err := b.dateOf(date)
		if err != nil {
			return output.Usage(err)
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return err
		}
		root := command.Root()
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Section: "1", Date: at, Source: "Cairn " + b.Version, Manual: "Cairn"}
		if err := doc.GenManTree(root, header, args[0]); err != nil {
			return fmt.Errorf("the manual pages: %w", err)
		}
		return invoke.PrinterOf(command).Result(map[string]string{"directory": args[0]},
			func(t *output.Text) { t.Line("Wrote the man pages to %s.", args[0]) })
	}
	return command
}

// dateOf returns the date of a manual page: the given one, or the date of the program's commit. It returns an error if
// that is unknown.
func (b Build) dateOf(date string) (*time.Time, error) {
	layout := time.DateOnly
	if date == "" {
		date, layout = b.Date, time.RFC3339
	}
	if date == "" {
		return nil, fmt.Errorf("the commit date of this program is unknown: give a date with --date")
	}
	at, err := time.Parse(layout, date)
	return &at, err
}

// Build describes the program.
type Build struct {
	build.Info
	// ProtocolVersion is the newest protocol version that the program supports.
	ProtocolVersion uint32 `json:"protocolVersion"`
	// ScheduleDigest is the digest of its gas schedule.
	ScheduleDigest types.Digest `json:"scheduleDigest"`
}

func (b Build) newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the program's version and its protocol version",
		Example: `  cairn version
  cairn version --json`,
		Args: invoke.Exactly(),
		RunE: func(command *cobra.Command, _ []string) error { return b.print(invoke.PrinterOf(command)) },
	}
}

func (b Build) print(printer *output.Printer) error {
	return printer.Result(b, func(t *output.Text) {
		t.Line("%s", b.Info)
		t.Line("protocol version %d, gas schedule %s", b.ProtocolVersion, b.ScheduleDigest)
	})
}
