package keys

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

// fundCoins is the default amount of cairn fund.
const fundCoins = 100

// fundedAccount is the result of cairn fund.
type fundedAccount struct {
	Account         types.Account `json:"account"`
	TransactionHash types.TxID    `json:"transactionHash"`
	Balance         api.Quantity  `json:"balance"` // after the latest block
}

func newFund(a *session.App) *cobra.Command {
	return a.CompleteNames(a.LookUp(&cobra.Command{
		Use:   "fund ACCOUNT [AMOUNT]",
		Short: "Fund an account on a development chain (faucet)",
		Long: `Fund an account from the treasury of a development chain, with 100 coins unless an
amount is given, and wait until the transfer is in a block.

An amount is "1.5" in coins or "150000000u" in smallest units.`,
		Example: `  cairn fund alice
  cairn fund alice 2.5`,
		Args: cobra.RangeArgs(1, 2),
	}, func(ctx context.Context, s *session.Session, _ *cobra.Command, args []string) error {
		amount, err := types.Amount(fundCoins*types.CoinUnits), error(nil)
		if len(args) == 2 {
			amount, err = argument.ParseAmount(args[1])
		}
		if err != nil {
			return output.Usage(err)
		}
		account, err := s.Account(args[0])
		if err != nil {
			return err
		}
		chain, err := s.Chain(ctx)
		if err != nil {
			return err
		}
		if chain.ID != api.DevelopmentChainID {
			return fmt.Errorf("the node at %s has chain id %d: only a development chain can fund accounts",
				s.Settings.RPCURL, chain.ID)
		}
		if err := account.On(chain); err != nil {
			return output.Usage(err)
		}
		return fund(ctx, s, account.ID, amount)
	}))
}

func fund(ctx context.Context, s *session.Session, account types.Account, amount types.Amount) error {
	id, err := s.Client.Dev().Fund(ctx, account, amount)
	if err != nil {
		return err
	}
	if _, err := s.Client.WaitReceipt(ctx, id); err != nil {
		return err
	}
	balance, err := s.Client.Balance(ctx, account, api.Latest())
	if err != nil {
		return err
	}
	return s.Result(fundedAccount{account, id, api.Quantity(balance)}, func(t *output.Text) {
		t.Fields(
			output.Field{Name: "Account", Value: account}, output.Field{Name: "Transaction", Value: id},
			output.Field{Name: "New balance", Value: show.Coins(balance)},
		)
	})
}
