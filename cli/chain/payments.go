package chain

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
)

func newWatchPayments(a *session.App, count *uint64) *cobra.Command {
	var filter api.SubscriptionFilter
	var from int64
	command := a.CompleteNames(a.Define(&cobra.Command{
		Use:   "payments [ACCOUNT...]",
		Short: "Print payments to and from accounts as blocks are made, including payments by contracts",
		Long: "Print payments to and from accounts as blocks are made, including payments by contracts. Without " +
			"accounts, print everyone's payments. Each payment has a cursor (shown with --json); use it with --after " +
			"to continue.",
		Example: `  cairn watch payments alice bob --in
  cairn watch payments alice --after CURSOR --json`,
		Args: cobra.MaximumNArgs(api.MaxPaymentAccounts),
	}, session.NodeSettings, func(
		ctx context.Context, s *session.Session, command *cobra.Command, args []string,
	) error {
		asking, cancel := s.Patience(ctx)
		defer cancel()
		chain, err := s.Chain(asking)
		if err != nil {
			return err
		}
		for _, arg := range args {
			account, err := s.Account(arg)
			if err != nil {
				return err
			}
			if err := account.On(chain); err != nil {
				return output.Usage(err)
			}
			filter.Accounts = append(filter.Accounts, account.ID.String())
		}
		filter.FromBlock = firstHeight(from)
		if in, err := command.Flags().GetBool("in"); err != nil || in {
			filter.Direction = api.DirectionIn
		}
		name := s.Naming(chain.Network)
		payments := paymentsIn(s.Client.Payments(ctx, filter))
		return watchAll(ctx, s, payments, *count, func(t *output.Text, p api.Payment) {
			memo := show.MemoText(p.Memo)
			if memo != "" {
				memo = "  " + memo
			}
			t.Line("%d  %s  %s -> %s  %s  by %s  %s%s", p.BlockHeight, show.BlockTime(p.Timestamp), name(p.From),
				name(p.To),
				show.Coins(p.Amount), p.Kind, p.TransactionHash, memo)
		})
	}))
	fromFlag(command, &from)
	command.Flags().Bool("in", false, "only payments to the accounts")
	command.Flags().StringVar(&filter.Cursor, "after", "", "cursor of the last item seen: print the items after it")
	command.MarkFlagsMutuallyExclusive("from", "after")
	return command
}

// paymentsIn yields the payments of pages.
func paymentsIn(pages iter.Seq2[api.PaymentPage, error]) iter.Seq2[api.Payment, error] {
	return func(yield func(api.Payment, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(api.Payment{}, err)
				return
			}
			for _, p := range page.Payments {
				if !yield(p, nil) {
					return
				}
			}
		}
	}
}
