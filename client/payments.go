package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/cairn-chain/cairn/api"
)

// PaymentPage returns a page of the payments to and from accounts: transfers, the value of deploys and calls, and
// payments by contracts. To get the next page, set the filter's cursor to Resume. It returns the errors that
// api.GetPayments declares.
func (c *Client) PaymentPage(ctx context.Context, filter api.PaymentFilter) (api.PaymentPage, error) {
	return Invoke(ctx, c, api.GetPayments, api.GetPaymentsParams{Filter: filter})
}

// Payments yields the payments to and from accounts after filter.Cursor, or from filter.FromBlock or the next block on:
// first past payments, then new ones, as [Client.SubscribeBlocks] does. A page has the payments of one block, of
// several blocks of a long range, or none after a long range without payments; Resume covers all blocks of the page. A
// caller that stores Resume atomically with its handling of the payments, and resumes from it after a crash, neither
// misses nor repeats a payment.
//
// The sequence ends with api.ErrTakenBack if a development chain has reverted a block that a page covered.
func (c *Client) Payments(ctx context.Context, filter api.SubscriptionFilter) iter.Seq2[api.PaymentPage, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if filter.FromBlock == nil && filter.Cursor == "" {
			filter.FromBlock, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicPayments, Filter: filter}, err
	}, func(page api.PaymentPage) { filter.FromBlock, filter.Cursor = nil, page.Resume })
}

// behind turns the error of a node that does not have the block of a cursor yet into [ErrUnreachable], so that the
// subscription reconnects: behind a load balancer, another node may have returned the cursor.
func behind(params api.SubscribeParams, err error) error {
	if params.Topic == api.TopicPayments && params.Filter.Cursor != "" && errors.Is(err, api.ErrAboveHead) {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return err
}
