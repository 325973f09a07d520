package cli

import (
	"bytes"
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/types"
)

// paymentsOf returns the newest payments of an account, at most limit. It may need several requests, as the node may
// return fewer at a time.
func (s *session) paymentsOf(ctx context.Context, account types.Account, limit uint64) ([]api.Payment, error) {
	payments := []api.Payment{}
	filter := api.PaymentFilter{Accounts: []string{account.String()}, Order: api.OrderDescending}
	for uint64(len(payments)) < limit {
		filter.Limit = new(limit - uint64(len(payments)))
		page, err := s.client.PaymentPage(ctx, filter)
		if err != nil {
			return nil, err
		}
		payments = append(payments, page.Payments...)
		if page.Complete {
			break
		}
		filter.Cursor = page.Resume
	}
	return payments, nil
}

// naming returns a function that names accounts by the keystore or the development accounts, and otherwise by address.
func (s *session) naming(network types.Network) func(types.Account) string {
	known := s.known()
	return func(account types.Account) string {
		if name := known.Replace(account.String()); name != account.String() {
			return name
		}
		return network.Address(account)
	}
}

// paymentTable lists payments of an account, one per line.
func paymentTable(t *output.Text, payments []api.Payment, of types.Account, name func(types.Account) string) {
	rows := make([][]any, len(payments))
	for i, p := range payments {
		direction, other := "in", p.From
		switch {
		case p.From == p.To:
			direction = "self"
		case p.From == of:
			direction, other = "out", p.To
		}
		rows[i] = []any{
			blockTime(p.Timestamp), direction, coins(p.Amount), name(other), p.Kind, memoText(p.Memo), p.TransactionHash,
		}
	}
	t.Table([]string{"Time", "Payment", "Amount", "Counterparty", "By", "Memo", "Transaction"}, rows)
}

// memoText formats a memo: text as it is, anything else in hex.
func memoText(memo *api.Data) string {
	if memo == nil {
		return ""
	}
	return readable(bytes.TrimRight(*memo, "\x00"))
}

func (a *app) newWatchPayments(count *uint64) *cobra.Command {
	var filter api.SubscriptionFilter
	var from int64
	command := a.completeNames(a.define(&cobra.Command{
		Use:   "payments [ACCOUNT...]",
		Short: "Print payments to and from accounts as blocks are made, including payments by contracts",
		Long: "Print payments to and from accounts as blocks are made, including payments by contracts. Without " +
			"accounts, print everyone's payments. Each payment has a cursor (shown with --json); use it with --after " +
			"to continue.",
		Example: `  cairn watch payments alice bob --in
  cairn watch payments alice --after CURSOR --json`,
		Args: cobra.MaximumNArgs(api.MaxPaymentAccounts),
	}, nodeSettings, func(ctx context.Context, s *session, command *cobra.Command, args []string) error {
		asking, cancel := s.patience(ctx)
		defer cancel()
		chain, err := s.chain(asking)
		if err != nil {
			return err
		}
		for _, arg := range args {
			account, err := s.account(arg)
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
		name := s.naming(chain.Network)
		payments := paymentsIn(s.client.Payments(ctx, filter))
		return watchAll(ctx, s, payments, *count, func(t *output.Text, p api.Payment) {
			memo := memoText(p.Memo)
			if memo != "" {
				memo = "  " + memo
			}
			t.Line("%d  %s  %s -> %s  %s  by %s  %s%s", p.BlockHeight, blockTime(p.Timestamp), name(p.From), name(p.To),
				coins(p.Amount), p.Kind, p.TransactionHash, memo)
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
