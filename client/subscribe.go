package client

import (
	"context"
	"errors"
	"iter"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// SubscribeBlocks yields blocks with transaction hashes, from a height on, or from the next block if from is nil. It
// yields each height once and in order, until the loop ends or it yields an error, which is the last element. It
// replaces a broken connection and continues after the last block, so a caller misses nothing however long the node was
// away. The error is an [*Error] of the node, such as api.ErrPruned; [ErrUnreachable] if the first connection failed
// for the period that [WithRetry] sets; or the context's error.
//
// When a development chain is reverted, the sequence continues after its new head, with a block whose parent is not the
// last one yielded.
func (c *Client) SubscribeBlocks(ctx context.Context, from *types.Height) iter.Seq2[api.Block, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if from == nil {
			from, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicBlocks, Filter: api.SubscriptionFilter{FromBlock: from}}, err
	}, func(block api.Block) { from = new(block.Height + 1) })
}

// SubscribeEvents yields the events that match a filter, as [Client.SubscribeBlocks] does: from filter.FromBlock or
// after filter.Cursor on, or from the next block. It advances its position even while nothing matches, so a caller
// misses nothing if the node meanwhile prunes the block of the last event.
func (c *Client) SubscribeEvents(ctx context.Context, filter api.SubscriptionFilter) iter.Seq2[api.Event, error] {
	filter.Progress = true
	all := subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if filter.FromBlock == nil && filter.Cursor == "" {
			filter.FromBlock, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicEvents, Filter: filter}, err
	}, func(event api.Event) { filter.FromBlock, filter.Cursor = nil, event.Cursor })
	return func(yield func(api.Event, error) bool) {
		for event, err := range all {
			if err == nil && len(event.Topics) == 0 { // an api.EventProgress: every event has its name as first topic
				continue
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// SubscribeProofs yields a notice for each block that gets a proof, by ascending height, from a height on, or from the
// next block if from is nil. It reconnects as [Client.SubscribeBlocks] does, and skips blocks that will have no proof.
func (c *Client) SubscribeProofs(ctx context.Context, from *types.Height) iter.Seq2[api.ProofNotice, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if from == nil {
			from, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicProofs, Filter: api.SubscriptionFilter{FromBlock: from}}, err
	}, func(notice api.ProofNotice) { from = new(notice.Height + 1) })
}

// SubscribePending yields the hash of each transaction that the node's mempool accepts. It reconnects as
// [Client.SubscribeBlocks] does, but misses transactions that arrive in between, as the mempool has no history.
func (c *Client) SubscribePending(ctx context.Context) iter.Seq2[types.TxID, error] {
	return subscribe(ctx, c, fixed(api.TopicPending), func(types.TxID) {})
}

// SubscribeSyncStatus yields the node's current sync status, then each change, at most once a second, and the status
// again after each reconnection.
func (c *Client) SubscribeSyncStatus(ctx context.Context) iter.Seq2[api.SyncStatus, error] {
	return subscribe(ctx, c, fixed(api.TopicSyncStatus), func(api.SyncStatus) {})
}

// SubscribeRangeProofs yields the ranges of blocks that the node has proofs of, as in range_proofs of its info: the
// current ranges, then each change, at most once a second, and the ranges again after each reconnection.
func (c *Client) SubscribeRangeProofs(ctx context.Context) iter.Seq2[[]api.RangeProofs, error] {
	return subscribe(ctx, c, fixed(api.TopicRanges), func([]api.RangeProofs) {})
}

func fixed(topic api.Topic) func(context.Context, *socket) (api.SubscribeParams, error) {
	return func(context.Context, *socket) (api.SubscribeParams, error) {
		return api.SubscribeParams{Topic: topic}, nil
	}
}

// subscribe yields a subscription's results over as many connections as needed. where returns the parameters for the
// next connection; seen is called with each result before it is yielded.
func subscribe[R any](
	ctx context.Context, c *Client, where func(context.Context, *socket) (api.SubscribeParams, error), seen func(R),
) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		connected, pause := false, firstPause
		var waits patience
		for {
			stopped, err := receive(ctx, c, where, func(result R) bool {
				pause = firstPause
				seen(result)
				return yield(result, nil)
			}, &connected)
			if stopped {
				return
			}
			if ctx.Err() != nil {
				err = ctx.Err()
			} else if !connected && !c.once && transient(err) {
				if waits.more(ctx, c, err) {
					continue
				}
			} else if !c.once && transient(err) {
				if err = c.wait(ctx, max(pause, retryAfter(err))); err == nil {
					pause = min(pause*3/2, longestPause)
					continue
				}
			}
			yield(*new(R), err)
			return
		}
	}
}

// transient reports whether a new connection may succeed: not if the node has answered with an error or refuses
// connections permanently.
func transient(err error) bool {
	if status, ok := errors.AsType[*StatusError](err); ok {
		return status.Status >= 500 || status.Status == 429
	}
	return errors.Is(err, ErrUnreachable)
}

// receive subscribes over one connection and passes the results to take until take returns false (then stopped is true)
// or the connection fails. connected reports whether the subscription was established.
func receive[R any](
	ctx context.Context,
	c *Client,
	where func(context.Context, *socket) (api.SubscribeParams, error),
	take func(R) bool,
	connected *bool,
) (stopped bool, err error) {
	s, err := c.dial(ctx)
	if err != nil {
		return false, err
	}
	defer s.close()
	params, err := where(ctx, s)
	if err != nil {
		return false, err
	}
	var id api.Quantity
	if err := s.call(ctx, api.Subscribe.Name, []any{params.Topic, params.Filter}, &id); err != nil {
		return false, behind(params, err)
	}
	*connected = true
	for {
		n, err := notification[R](ctx, s)
		if err != nil {
			return false, err
		}
		if n.Subscription == id && !take(n.Result) {
			return true, nil
		}
	}
}
