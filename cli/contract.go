package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

func (a *app) newContract() *cobra.Command {
	group := NewGroup(&cobra.Command{
		Use: "contract",
		Short: "Create, build, test, verify and publish contracts, list and show them, measure gas, generate " +
			"bindings",
		Example: "  cairn contract new tally --lang rust\n  cairn contract list\n  cairn contract show counter",
	})
	group.AddCommand(
		a.newContractNew(), a.newContractBuild(), a.newContractTest(), a.newContractGas(), a.newContractVerify(),
		a.newContractPublish(), a.newContractBindings(), a.newContractList(), a.newContractShow(),
	)
	return group
}

func (a *app) newContractList() *cobra.Command {
	var limit uint64
	var after string
	command := a.lookUp(&cobra.Command{
		Use:     "list",
		Short:   "List contracts in order of deployment",
		Example: "  cairn contract list --limit 20",
		Args:    exactly(),
	}, func(ctx context.Context, s *session, _ *cobra.Command, _ []string) error {
		contracts, err := s.client.Contracts(ctx, limit, after)
		if err != nil {
			return err
		}
		return s.Result(contracts, func(t *output.Text) {
			aliases, count := s.aliases(), map[string]int{}
			rows := make([][]any, len(contracts))
			for i, c := range contracts {
				rows[i] = []any{c.DeployedAt, oneLine(c.Name), aliases[types.Account(c.ID)], c.ID, c.CodeSize}
				count[c.Name]++
			}
			t.Table([]string{"Block", "Name", "Alias", "Contract", "Bytes"}, rows)
			for _, name := range slices.Sorted(maps.Keys(count)) {
				if count[name] > 1 && name != "" {
					t.Line("%d contracts are named %q: a name proves nothing, use their IDs to tell them apart.", count[name], name)
				}
			}
			more(t, uint64(len(contracts)), limit, func() string { return contracts[len(contracts)-1].Cursor })
		})
	})
	pageFlags(command, &limit, &after, api.DefaultContracts, api.MaxContracts)
	return command
}

// aliases returns the user's names of accounts.
func (s *session) aliases() map[types.Account]string {
	names := map[types.Account]string{}
	entries, _, err := s.store.List() // skip unreadable files
	if err != nil {
		return names
	}
	for _, entry := range entries {
		if before := names[entry.Account]; before != "" {
			names[entry.Account] = before + ", " + entry.Name
		} else {
			names[entry.Account] = entry.Name
		}
	}
	return names
}

// oneLine escapes line feeds and tabs in an untrusted name, which could fake another line of a table.
func oneLine(name string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(name)
}

// pageFlags declares the flags of a list.
func pageFlags(command *cobra.Command, limit *uint64, after *string, usual, most uint64) {
	command.Flags().Uint64Var(limit, "limit", usual, fmt.Sprintf("number to list, at most %d", most))
	command.Flags().StringVar(after, "after", "", "cursor of the last item seen: list the items after it")
}

// more tells users how to continue after a full page.
func more(t *output.Text, listed, limit uint64, cursor func() string) {
	if listed > 0 && listed == limit {
		t.Line("There may be more: --after %s", cursor())
	}
}

// contractView is the result of cairn contract show.
type contractView struct {
	api.Contract
	Address string       `json:"address"`
	Balance api.Quantity `json:"balance"`
	ABI     *abi.ABI     `json:"abi"` // null if the code has none
	// CanChange is whether the code can replace itself by another.
	CanChange bool `json:"canChange"`
	// Source is the source that the code claims, and whether this user has verified it.
	Source contractSource `json:"source"`
}

func (a *app) newContractShow() *cobra.Command {
	return a.completeNames(a.lookUp(&cobra.Command{
		Use:     "show CONTRACT",
		Short:   "Show a contract: its deployer, coins, functions and events",
		Example: "  cairn contract show counter\n  cairn contract show 0x4f1c… --json",
		Args:    exactly("CONTRACT"),
	}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		id, chain, err := s.contract(ctx, args[0])
		if err != nil {
			return err
		}
		contract, err := s.client.Contract(ctx, id)
		if err != nil {
			return err
		}
		if contract == nil {
			return fmt.Errorf("there is no contract %s", id)
		}
		view := contractView{Contract: *contract, Address: chain.Network.Address(types.Account(id))}
		if view.ABI, err = s.client.ContractABI(ctx, id); err != nil {
			return err
		}
		balance, err := s.client.Balance(ctx, types.Account(id), api.Latest())
		if err != nil {
			return err
		}
		view.Balance = api.Quantity(balance)
		code, err := s.client.ContractCode(ctx, id)
		if err != nil {
			return err
		}
		if view.Source, err = s.sourceOf(code); err != nil {
			return err
		}
		if view.CanChange, err = contractbuild.CanChange(code); err != nil {
			return fmt.Errorf("the code: %w", err)
		}
		return s.Result(view, view.people)
	}))
}

// changes says whether a contract's code can change.
func changes(can bool) string {
	if can {
		return "the code can replace itself (replace_code)"
	}
	return "never"
}

func (v contractView) people(t *output.Text) {
	t.Fields(
		output.Field{Name: "Contract", Value: v.ID}, output.Field{Name: "Address", Value: v.Address},
		output.Field{Name: "Name", Value: oneLine(v.Name)}, output.Field{Name: "Deployer", Value: v.Deployer},
		output.Field{Name: "Block", Value: v.DeployedAt}, output.Field{Name: "Balance", Value: coins(v.Balance)},
		output.Field{Name: "Code", Value: fmt.Sprintf("%d bytes, SHA-256 %s", v.CodeSize, v.CodeHash)},
		output.Field{Name: "Changes", Value: changes(v.CanChange)},
		v.Source.field(),
	)
	if v.ABI == nil {
		t.Line("\nThe code contains no ABI: call its functions with --args and --view.")
		return
	}
	rows := make([][]any, 0, len(v.ABI.Functions)+len(v.ABI.Events))
	for _, n := range v.ABI.Types {
		rows = append(rows, []any{n.Kind, n})
	}
	for _, f := range v.ABI.Functions {
		kind := string(f.Mode)
		if f.Payable {
			kind += ", accepts coins"
		}
		rows = append(rows, []any{kind, f})
	}
	for _, e := range v.ABI.Events {
		rows = append(rows, []any{"event", e})
	}
	for _, e := range v.ABI.Errors {
		rows = append(rows, []any{"error", e})
	}
	t.Line("")
	t.Table([]string{"Kind", "Declaration"}, rows)
}

// contract parses a contract argument, which has the form of an account, and asks the node for its chain.
func (s *session) contract(ctx context.Context, text string) (types.ContractID, argument.Chain, error) {
	account, err := s.account(text)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	chain, err := s.chain(ctx)
	if err != nil {
		return types.ContractID{}, argument.Chain{}, err
	}
	return types.ContractID(account.ID), chain, output.Usage(account.On(chain))
}

// resolver resolves accounts inside arguments in the same way as account arguments.
func (s *session) resolver(chain argument.Chain) abi.Resolve {
	return func(text string) (types.Account, error) {
		account, err := s.account(text)
		if err != nil {
			return types.Account{}, err
		}
		return account.ID, account.On(chain)
	}
}

// readable formats data written by a contract: as text if printable, otherwise in hex.
func readable(data []byte) string {
	if !printable(data) {
		return api.Data(data).String()
	}
	return string(data)
}

func printable(data []byte) bool {
	return utf8.Valid(data) && strings.IndexFunc(string(data), func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}

// returned returns a function's output if it is JSON, otherwise nil.
func returned(output []byte) json.RawMessage {
	if json.Valid(output) {
		return output
	}
	return nil
}

// blockTime formats a timestamp.
func blockTime(seconds uint64) string { return time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339) }
