package keys

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/cli/submit"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// accountView is the result of cairn account.
type accountView struct {
	Account      types.Account        `json:"account"`
	Address      string               `json:"address"`
	Balance      api.Quantity         `json:"balance"`
	Nonce        api.Quantity         `json:"nonce"`
	Authority    types.Account        `json:"authority"` // who signs for it: itself, or a policy's hash
	Policy       *types.Policy        `json:"policy"`    // whose hash the authority is; null if not known
	Recovery     *api.PendingRecovery `json:"recovery"`  // under way; null: none
	Contract     bool                 `json:"contract"`
	PendingNonce api.Quantity         `json:"pendingNonce"` // executable transactions in the mempool counted
	Payments     []api.Payment        `json:"payments"`     // newest first
	Transactions []api.Transaction    `json:"transactions"` // newest first

	isKey, isPolicy bool // the account is known to be a key, or a policy's hash
}

func newAccount(a *session.App) *cobra.Command {
	command := showAccount(a, &cobra.Command{
		Use:   "account ACCOUNT",
		Short: "Show an account, and manage the policy that signs for it",
		Example: `  cairn account alice
  cairn account alice --payments 100 --transactions 0
  cairn account policy new treasury --signer alice --signer bob --threshold 2`,
		Args: invoke.Exactly("ACCOUNT"),
	})
	command.AddCommand(newPolicy(a), showAccount(a, &cobra.Command{
		Use:   "show ACCOUNT",
		Short: "Show an account: its signers, balance, and latest payments and transactions",
		Long: `Show an account: its signers, any pending recovery, its balance, nonce, and latest
payments and transactions. This is the same as "cairn account ACCOUNT", but also works
for an account named like a command.`,
		Example: `  cairn account show alice
  cairn account show dev0 --transactions 50 --json`,
		Args: invoke.Exactly("ACCOUNT"),
	}))
	return command
}

// showAccount makes a command that shows an account.
func showAccount(a *session.App, command *cobra.Command) *cobra.Command {
	var limit, payments uint64
	a.CompleteNames(a.LookUp(command, func(
		ctx context.Context, s *session.Session, _ *cobra.Command, args []string,
	) error {
		account, err := s.Account(args[0])
		if err != nil {
			return err
		}
		chain, err := s.Chain(ctx)
		if err != nil {
			return err
		}
		if err := account.On(chain); err != nil {
			return output.Usage(err)
		}
		view, err := viewAccount(ctx, s, account.ID, limit)
		if err != nil {
			return err
		}
		view.Address = chain.Network.Address(account.ID)
		view.isKey, view.isPolicy = origin(s, account)
		view.learn()
		if view.Policy == nil {
			view.Policy = submit.PolicyOf(s, view.Authority, account.Policy)
		}
		if view.Payments, err = paymentsOf(ctx, s, account.ID, payments); err != nil {
			return err
		}
		return s.Result(view, func(t *output.Text) {
			view.people(t, chain.Network)
			if len(view.Payments) > 0 {
				t.Line("")
				paymentTable(t, view.Payments, account.ID, s.Naming(chain.Network))
			}
		})
	}))
	command.Flags().Uint64Var(&payments, "payments", 10, "number of payments to list, at most 1000")
	command.Flags().Uint64Var(&limit, "transactions", 10, "number of transactions to list, at most 1000")
	return command
}

// viewAccount requests everything except the address at once.
func viewAccount(ctx context.Context, s *session.Session, account types.Account, limit uint64) (accountView, error) {
	view := accountView{Account: account, Transactions: []api.Transaction{}}
	name := account.String()
	var batch client.Batch
	found := client.Add(&batch, api.GetAccount, api.GetAccountParams{Account: name})
	pending := client.Add(&batch, api.GetTransactionCount, api.GetTransactionCountParams{
		Account: name, Block: api.Pending(),
	})
	err := batch.Send(ctx, s.Client)
	if err != nil {
		return view, err
	}
	known, err := found.Result()
	if err != nil {
		return view, err
	}
	view.Balance, view.Nonce, view.Authority = known.Balance, known.Nonce, known.Authority
	view.Policy, view.Recovery, view.Contract = known.Policy, known.Recovery, known.Contract
	if view.PendingNonce, err = pending.Result(); err != nil || limit == 0 {
		return view, err
	}
	view.Transactions, err = s.Client.TransactionsOf(ctx, account, limit, "")
	return view, err
}

// learn determines from the transactions whether the account is a key or a policy's hash.
func (v *accountView) learn() {
	for _, tx := range v.Transactions {
		if tx.From != v.Account {
			continue
		}
		switch w := tx.Witness.Witness.(type) {
		case types.WitnessKey, types.WitnessText:
			v.isKey = true
		case types.WitnessPolicy:
			v.isPolicy = v.isPolicy || w.Policy.Hash() == v.Account
		}
	}
}

func (v accountView) people(t *output.Text, network types.Network) {
	fields := []output.Field{{Name: "Address", Value: v.Address}, {Name: "Account", Value: v.Account}}
	switch {
	case v.isKey:
	case v.Contract, v.isPolicy, !types.IsKey(v.Account), v.Policy != nil && v.Authority == v.Account:
		fields = append(fields, output.Field{Name: "Use", Value: cairnOnly})
	default:
		fields = append(fields, output.Field{Name: "Use", Value: "unless you know that it is a key's, " + cairnOnly})
	}
	fields = append(fields, output.Field{Name: "Signed by", Value: v.signers(network)})
	if v.Recovery != nil {
		fields = append(fields, output.Field{Name: "RECOVERY", Value: recoveryText(network, v.Recovery, v.Account)})
	}
	t.Fields(append(fields,
		output.Field{Name: "Balance", Value: show.Coins(v.Balance)}, output.Field{Name: "Nonce",
			Value: uint64(v.Nonce)},
		output.Field{Name: "Next nonce", Value: uint64(v.PendingNonce)},
	)...)
	if len(v.Transactions) > 0 {
		t.Line("")
		show.TransactionTable(t, v.Transactions)
	}
}

// cairnOnly warns of an address that is not known to be a key's.
const cairnOnly = "for Cairn only: bitcoins sent to the address of a policy or contract are lost forever"

// origin reports whether an account is known here to be a key's, or a policy's hash. It may have another authority since.
func origin(s *session.Session, account argument.Account) (isKey, isPolicy bool) {
	if name := submit.NameOf(s, account.ID); name != "" && account.Name == "" {
		if named, err := argument.ParseAccount(s.Store, name); err == nil {
			account = named
		}
	}
	return account.IsKey(), submit.PolicyOf(s, account.ID, account.Policy) != nil
}
