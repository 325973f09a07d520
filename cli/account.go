package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// accountView is the result of cairn account.
type accountView struct {
	Account      types.Account     `json:"account"`
	Address      string            `json:"address"`
	Balance      api.Quantity      `json:"balance"`
	Nonce        api.Quantity      `json:"nonce"`
	PendingNonce api.Quantity      `json:"pendingNonce"` // executable transactions in the mempool counted
	Payments     []api.Payment     `json:"payments"`     // newest first
	Transactions []api.Transaction `json:"transactions"` // newest first
}

func (a *app) newAccount() *cobra.Command {
	var limit, payments uint64
	command := a.completeNames(a.lookUp(&cobra.Command{
		Use:   "account ACCOUNT",
		Short: "Show an account: balance, nonce, latest payments and transactions",
		Example: `  cairn account alice
  cairn account alice --payments 100 --transactions 0
  cairn account dev0 --transactions 50 --json`,
		Args: exactly("ACCOUNT"),
	}, func(ctx context.Context, s *session, _ *cobra.Command, args []string) error {
		account, err := s.account(args[0])
		if err != nil {
			return err
		}
		chain, err := s.chain(ctx)
		if err != nil {
			return err
		}
		if err := account.On(chain); err != nil {
			return output.Usage(err)
		}
		view, err := s.viewAccount(ctx, account.ID, limit)
		if err != nil {
			return err
		}
		view.Address = chain.Network.Address(account.ID)
		if view.Payments, err = s.paymentsOf(ctx, account.ID, payments); err != nil {
			return err
		}
		return s.Result(view, func(t *output.Text) {
			view.people(t)
			if len(view.Payments) > 0 {
				t.Line("")
				paymentTable(t, view.Payments, account.ID, s.naming(chain.Network))
			}
		})
	}))
	command.Flags().Uint64Var(&payments, "payments", 10, "how many payments to list, at most 1000")
	command.Flags().Uint64Var(&limit, "transactions", 10, "how many transactions to list, at most 1000")
	return command
}

// viewAccount asks for all but the address in one request.
func (s *session) viewAccount(ctx context.Context, account types.Account, limit uint64) (accountView, error) {
	view := accountView{Account: account, Transactions: []api.Transaction{}}
	name := account.String()
	var batch client.Batch
	balance := client.Add(&batch, api.GetBalance, api.GetBalanceParams{Account: name})
	nonce := client.Add(&batch, api.GetTransactionCount, api.GetTransactionCountParams{Account: name})
	pending := client.Add(&batch, api.GetTransactionCount, api.GetTransactionCountParams{
		Account: name, Block: api.Pending(),
	})
	err := batch.Send(ctx, s.client)
	if err != nil {
		return view, err
	}
	if view.Balance, err = balance.Result(); err != nil {
		return view, err
	}
	if view.Nonce, err = nonce.Result(); err != nil {
		return view, err
	}
	if view.PendingNonce, err = pending.Result(); err != nil || limit == 0 {
		return view, err
	}
	view.Transactions, err = s.client.TransactionsOf(ctx, account, limit, "")
	return view, err
}

func (v accountView) people(t *output.Text) {
	t.Fields(
		output.Field{Name: "Address", Value: v.Address}, output.Field{Name: "Account", Value: v.Account},
		output.Field{Name: "Balance", Value: coins(v.Balance)}, output.Field{Name: "Nonce", Value: uint64(v.Nonce)},
		output.Field{Name: "Next nonce", Value: uint64(v.PendingNonce)},
	)
	if len(v.Transactions) > 0 {
		t.Line("")
		transactionTable(t, v.Transactions)
	}
}

// transactionTable lists transactions, one a line.
func transactionTable(t *output.Text, transactions []api.Transaction) {
	rows := make([][]any, len(transactions))
	for i, tx := range transactions {
		var block any = "pending"
		if tx.BlockHeight != nil {
			block = *tx.BlockHeight
		}
		rows[i] = []any{block, tx.Status, tx.Type, coins(tx.Value), tx.Hash}
	}
	t.Table([]string{"Block", "Status", "Type", "Value", "Transaction"}, rows)
}
