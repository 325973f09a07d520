// Package contract has the commands for contracts and tokens: building, testing, deploying and calling them.
package contract

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

// Commands returns the commands for contracts and tokens.
func Commands(a *session.App) []*cobra.Command {
	return []*cobra.Command{
		newContract(a), newDeploy(a), newCall(a), newEncode(a), newDecode(a), newToken(a),
	}
}

func newContract(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use: "contract",
		Short: "Create, build, test, verify and publish contracts, list and show them, measure gas, generate " +
			"bindings",
		Example: "  cairn contract new tally --lang rust\n  cairn contract list\n  cairn contract show counter",
	})
	group.AddCommand(
		newContractNew(a), newContractBuild(a), newContractTest(a), newContractGas(a), newContractVerify(a),
		newContractPublish(a), newContractBindings(a), newContractList(a), newContractShow(a),
	)
	return group
}

func newContractList(a *session.App) *cobra.Command {
	var limit uint64
	var after string
	command := a.LookUp(&cobra.Command{
		Use:     "list",
		Short:   "List contracts in order of deployment",
		Example: "  cairn contract list --limit 20",
		Args:    invoke.Exactly(),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, _ []string) error {
		contracts, err := s.Client.Contracts(ctx, limit, after)
		if err != nil {
			return err
		}
		return s.Result(contracts, func(t *output.Text) {
			aliases, count := aliases(s), map[string]int{}
			rows := make([][]any, len(contracts))
			for i, c := range contracts {
				rows[i] = []any{c.DeployedAt, show.OneLine(c.Name), aliases[types.Account(c.ID)], c.ID, c.CodeSize}
				count[c.Name]++
			}
			t.Table([]string{"Block", "Name", "Alias", "Contract", "Bytes"}, rows)
			for _, name := range slices.Sorted(maps.Keys(count)) {
				if count[name] > 1 && name != "" {
					t.Line("%d contracts are named %q: a name proves nothing, use their IDs to tell them apart.", count[name], name)
				}
			}
			invoke.More(t, uint64(len(contracts)), limit, func() string { return contracts[len(contracts)-1].Cursor })
		})
	})
	invoke.PageFlags(command, &limit, &after, api.DefaultContracts, api.MaxContracts)
	return command
}

// aliases returns the user's names of accounts.
func aliases(s *session.Session) map[types.Account]string {
	names := map[types.Account]string{}
	entries, _, err := s.Store.List() // skip unreadable files
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

func newContractShow(a *session.App) *cobra.Command {
	return a.CompleteNames(a.LookUp(&cobra.Command{
		Use:     "show CONTRACT",
		Short:   "Show a contract: its deployer, coins, functions and events",
		Example: "  cairn contract show counter\n  cairn contract show 0x4f1c… --json",
		Args:    invoke.Exactly("CONTRACT"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		id, chain, err := s.Contract(ctx, args[0])
		if err != nil {
			return err
		}
		contract, err := s.Client.Contract(ctx, id)
		if err != nil {
			return err
		}
		if contract == nil {
			return fmt.Errorf("there is no contract %s", id)
		}
		view := contractView{Contract: *contract, Address: chain.Network.Address(types.Account(id))}
		if view.ABI, err = s.Client.ContractABI(ctx, id); err != nil {
			return err
		}
		balance, err := s.Client.Balance(ctx, types.Account(id), api.Latest())
		if err != nil {
			return err
		}
		view.Balance = api.Quantity(balance)
		code, err := s.Client.ContractCode(ctx, id)
		if err != nil {
			return err
		}
		if view.Source, err = sourceOf(s, code); err != nil {
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
		output.Field{Name: "Name", Value: show.OneLine(v.Name)}, output.Field{Name: "Deployer", Value: v.Deployer},
		output.Field{Name: "Block", Value: v.DeployedAt}, output.Field{Name: "Balance", Value: show.Coins(v.Balance)},
		output.Field{Name: "Code", Value: fmt.Sprintf("%d bytes, SHA-256 %s", v.CodeSize, v.CodeHash)},
		output.Field{Name: "Changes", Value: changes(v.CanChange)}, v.Source.field(),
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

// resolver resolves accounts inside arguments in the same way as account arguments.
func resolver(s *session.Session, chain argument.Chain) abi.Resolve {
	return func(text string) (types.Account, error) {
		account, err := s.Account(text)
		if err != nil {
			return types.Account{}, err
		}
		return account.ID, account.On(chain)
	}
}

// returned returns a function's output if it is JSON, otherwise nil.
func returned(output []byte) json.RawMessage {
	if json.Valid(output) {
		return output
	}
	return nil
}
