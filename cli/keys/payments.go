package keys

import (
	"context"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/show"
	"github.com/cairn-chain/cairn/types"
)

// paymentsOf returns the newest payments of an account, at most limit. It may need several requests, as the node may
// return fewer at a time.
func paymentsOf(ctx context.Context, s *session.Session, account types.Account, limit uint64) ([]api.Payment, error) {
	payments := []api.Payment{}
	filter := api.PaymentFilter{Accounts: []string{account.String()}, Order: api.OrderDescending}
	for uint64(len(payments)) < limit {
		filter.Limit = new(limit - uint64(len(payments)))
		page, err := s.Client.PaymentPage(ctx, filter)
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
			show.BlockTime(p.Timestamp), direction, show.Coins(p.Amount), name(other), p.Kind, show.MemoText(p.Memo),
			p.TransactionHash,
		}
	}
	t.Table([]string{"Time", "Payment", "Amount", "Counterparty", "By", "Memo", "Transaction"}, rows)
}
