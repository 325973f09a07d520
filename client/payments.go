package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cairn-chain/cairn/api"
)

// PaymentPage is a page of what accounts are paid and pay, however: by transfers, as the value of deploys and calls,
// and by contracts. The next page is that of the same filter with the cursor Resume. Errors are those that
// api.GetPayments declares.
func (c *Client) PaymentPage(ctx context.Context, filter api.PaymentFilter) (api.PaymentPage, error) {
	return Invoke(ctx, c, api.GetPayments, api.GetPaymentsParams{Filter: filter})
}

// Payments yields what accounts are paid and pay: after filter.Cursor, or from filter.FromBlock or the next block on,
// first what there is and then what comes, as [Client.SubscribeBlocks] does. Each page has the payments of one block,
// or of several that are long there, or none where there were none for long; Resume covers all of them. A caller that
// writes Resume down together with what it did about the payments, and begins there after a crash, misses and doubles
// nothing.
//
// The last thing yielded is api.ErrTakenBack where a development chain has taken back what a page covered.
func (c *Client) Payments(ctx context.Context, filter api.SubscriptionFilter) iter.Seq2[api.PaymentPage, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if filter.FromBlock == nil && filter.Cursor == "" {
			filter.FromBlock, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicPayments, Filter: filter}, err
	}, func(page api.PaymentPage) { filter.FromBlock, filter.Cursor = nil, page.Resume })
}

// behind makes a failure of the connection of the answer that the node does not have the block of a cursor yet. Behind
// a load balancer it is another node than the one that gave the cursor.
func behind(params api.SubscribeParams, err error) error {
	if params.Topic == api.TopicPayments && params.Filter.Cursor != "" && errors.Is(err, api.ErrAboveHead) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
