package contract

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/types"
)

func newToken(a *session.App) *cobra.Command {
	group := invoke.NewGroup(&cobra.Command{
		Use:   "token",
		Short: "Use NEP-20 tokens, and test tokens for conformance",
		Long: `Use NEP-20 tokens, and test tokens for conformance.

TOKEN is the token's contract. An amount is "1.5" in whole tokens, or "150u" in the
token's smallest units.`,
		Example: `  cairn token balance gold alice
  cairn token transfer gold bob 1.5 --from alice
  cairn token check gold --from dev0`,
	})
	group.AddCommand(newTokenDeploy(a), newTokenBalance(a), newTokenTransfer(a), newTokenApprove(a),
		newTokenAllowance(a),
		newTokenHolders(a), newTokenCheck(a))
	return group
}

// token is a token as its contract describes it.
type token struct {
	id       types.ContractID
	chain    argument.Chain
	symbol   string
	decimals uint32
}

// openToken reads a token argument and asks the contract about itself.
func openToken(ctx context.Context, s *session.Session, text string) (token, error) {
	id, chain, err := s.Contract(ctx, text)
	if err != nil {
		return token{}, err
	}
	t := token{id: id, chain: chain}
	results, err := s.Client.Views(ctx, []api.ViewCallItem{
		{Contract: id, Function: "decimals"}, {Contract: id, Function: "symbol"},
	})
	if err != nil {
		return token{}, err
	}
	for i, into := range []any{&t.decimals, &t.symbol} {
		switch {
		case i >= len(results):
			return token{}, fmt.Errorf("the node answered %d of 2 calls", len(results))
		case !results[i].Success && results[i].Error != nil:
			return token{}, fmt.Errorf("%s is not a token: %w", text, results[i].Error)
		}
		if err := json.Unmarshal(results[i].Result, into); err != nil {
			return token{}, fmt.Errorf("%s is not a token: it answers %q", text, show.Readable(results[i].Result))
		}
	}
	return t, nil
}

// amount writes units of the token for people.
func (t token) amount(units uint64) string {
	return argument.FormatUnits(units, t.decimals) + " " + show.OneLine(t.symbol)
}

// holder reads an account argument that is used with the token.
func holder(s *session.Session, t token, text string) (types.Account, error) {
	account, err := s.Account(text)
	if err != nil {
		return types.Account{}, err
	}
	return account.ID, output.Usage(account.On(t.chain))
}

func newTokenBalance(a *session.App) *cobra.Command {
	return a.CompleteNames(a.LookUp(&cobra.Command{
		Use:     "balance TOKEN ACCOUNT",
		Short:   "Show an account's token balance",
		Example: "  cairn token balance gold alice",
		Args:    invoke.Exactly("TOKEN", "ACCOUNT"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		t, err := openToken(ctx, s, args[0])
		if err != nil {
			return err
		}
		account, err := holder(s, t, args[1])
		if err != nil {
			return err
		}
		balance, err := s.Client.TokenBalance(ctx, t.id, account, api.Latest())
		if err != nil {
			return err
		}
		return s.Result(balance, func(text *output.Text) { text.Line("%s", t.amount(uint64(balance.Balance))) })
	}))
}

// allowanceView is the result of cairn token allowance.
type allowanceView struct {
	Allowance api.Quantity `json:"allowance"` // in smallest units of the token
}

func newTokenAllowance(a *session.App) *cobra.Command {
	return a.CompleteNames(a.LookUp(&cobra.Command{
		Use:     "allowance TOKEN OWNER SPENDER",
		Short:   "Show a spender's allowance of an owner's tokens",
		Example: "  cairn token allowance gold alice bob",
		Args:    invoke.Exactly("TOKEN", "OWNER", "SPENDER"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		t, err := openToken(ctx, s, args[0])
		if err != nil {
			return err
		}
		owner, err := holder(s, t, args[1])
		if err != nil {
			return err
		}
		spender, err := holder(s, t, args[2])
		if err != nil {
			return err
		}
		encoded, err := json.Marshal(map[string]types.Account{"owner": owner, "spender": spender})
		if err != nil {
			return err
		}
		result, err := s.Client.View(ctx, t.id, "allowance", encoded, api.Latest())
		if err != nil {
			return err
		}
		var units abi.Uint64
		if err := json.Unmarshal(result, &units); err != nil {
			return fmt.Errorf("%s is not a token: it answers %q", args[0], show.Readable(result))
		}
		return s.Result(allowanceView{api.Quantity(units)}, func(text *output.Text) {
			text.Line("%s", t.amount(uint64(units)))
		})
	}))
}

func newTokenHolders(a *session.App) *cobra.Command {
	var limit uint64
	var after string
	command := a.CompleteNames(a.LookUp(&cobra.Command{
		Use:     "holders TOKEN",
		Short:   "List the holders of a token, largest balance first",
		Example: "  cairn token holders gold --limit 20",
		Args:    invoke.Exactly("TOKEN"),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		t, err := openToken(ctx, s, args[0])
		if err != nil {
			return err
		}
		holders, err := s.Client.TokenHolders(ctx, t.id, limit, after)
		if err != nil {
			return err
		}
		return s.Result(holders, func(text *output.Text) {
			known := s.Known()
			rows := make([][]any, len(holders))
			for i, h := range holders {
				rows[i] = []any{known.Replace(h.Address.String()), t.amount(uint64(h.Balance))}
			}
			text.Table([]string{"Holder", "Balance"}, rows)
			invoke.More(text, uint64(len(holders)), limit, func() string { return holders[len(holders)-1].Cursor })
		})
	}))
	invoke.PageFlags(command, &limit, &after, api.DefaultHolders, api.MaxHolders)
	return command
}

func newTokenTransfer(a *session.App) *cobra.Command {
	return tokenWrite(a,
		"transfer TOKEN TO AMOUNT",
		"Send tokens to an account",
		"to",
		"TO",
		"  cairn token transfer gold bob 1.5 --from alice",
	)
}

func newTokenApprove(a *session.App) *cobra.Command {
	return tokenWrite(a, "approve TOKEN SPENDER AMOUNT",
		"Set the amount of the sender's tokens that another account may move (allowance)",
		"spender", "SPENDER",
		"  cairn token approve gold market 100 --from alice\n  cairn token approve gold market 0 --from alice")
}

// tokenWrite makes the command that calls the token's function of the same name with an account and an amount.
func tokenWrite(a *session.App, use, short, parameter, argumentName, example string) *cobra.Command {
	var flags submit.Flags
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use: use, Short: short, Example: example, Args: invoke.Exactly("TOKEN", argumentName, "AMOUNT"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		from, err := submit.Sender(s, flags.Unsigned())
		if err != nil {
			return err
		}
		asking, cancel := s.Patience(ctx)
		defer cancel()
		t, err := openToken(asking, s, args[0])
		if err != nil {
			return err
		}
		if err := from.On(t.chain); err != nil {
			return output.Usage(err)
		}
		account, err := holder(s, t, args[1])
		if err != nil {
			return err
		}
		units, err := argument.ParseUnits(args[2], t.decimals)
		if err != nil {
			return output.Usage(err)
		}
		action, err := s.Client.CallAs(asking, t.id, command.Name(), map[string]any{
			parameter: account, "amount": abi.Uint64(units),
		}, 0)
		if err != nil {
			return err
		}
		of, err := findTarget(asking, s, args[0], command.Name())
		if err != nil {
			return err
		}
		receipt, err := flags.Send(ctx, s, command, from, action)
		if receipt == nil || err != nil {
			return of.reverted(err)
		}
		return of.reverted(called(ctx, s, of, *receipt, nil))
	}))
	flags.Register(a, command)
	flags.RegisterGasLimit(command)
	return command
}

// tokenFlags describe a new token.
type tokenFlags struct {
	deployment
	symbol   string
	decimals uint8
	supply   string
}

func newTokenDeploy(a *session.App) *cobra.Command {
	var flags tokenFlags
	command := a.Define(&cobra.Command{
		Use:   "deploy FILE.wasm|TOKEN",
		Short: "Deploy a token",
		Long: `Deploy a token, such as the reference token nep20.wasm, whose function init takes name,
symbol, decimals and initialSupply. The sender receives the supply. If TOKEN is given
instead of a file, the new token is another instance of its code, for a hundredth of the
gas.`,
		Example: "  cairn token deploy nep20.wasm --name Gold --symbol GLD --decimals 2 --supply 1000000 --from dev0 " +
			"--alias gold\n  cairn token deploy gold --name Silver --symbol SLV --supply 500 --from dev0 --alias silver",
		Args: invoke.Exactly("FILE"),
	}, session.SenderSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		source, err := deployable(ctx, s, args[0])
		if err != nil {
			return output.Usage(err)
		}
		units, err := argument.ParseUnits(flags.supply, uint32(flags.decimals))
		if err != nil {
			return output.Usage(err)
		}
		encoded, err := json.Marshal(map[string]any{
			"name": flags.name, "symbol": flags.symbol, "decimals": flags.decimals, "initialSupply": abi.Uint64(units),
		})
		if err != nil {
			return err
		}
		return flags.deploy(ctx, s, command, source, encoded)
	})
	flags.register(a, command)
	command.Flags().StringVar(&flags.symbol, "symbol", "", "the token's symbol")
	command.Flags().Uint8Var(&flags.decimals, "decimals", 8, "number of decimals of a token amount")
	command.Flags().StringVar(&flags.supply, "supply", "0", "initial supply, which the sender receives")
	for _, name := range []string{"name", "symbol"} {
		// Fails only for a flag that does not exist.
		_ = command.MarkFlagRequired(name)
	}
	return command
}
