package client

import (
	"context"
	"errors"
	"iter"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// SubscribeBlocks yields blocks with hashes, from a height on, or from the next block if from is nil. It yields each
// height once and in order, until the loop ends or an error is yielded, which is the last. A connection that breaks is
// made anew, and goes on after the last block: a caller misses nothing, however long the node was away. What is yielded
// as an error is an [*Error] of the node, such as api.ErrPruned, [ErrUnreachable] when no first connection could be made for as long as [WithRetry] says, or
// the context's.
//
// A development chain that is taken back goes on after its new head, with a block whose parent is not the last one.
func (c *Client) SubscribeBlocks(ctx context.Context, from *types.Height) iter.Seq2[api.Block, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if from == nil {
			from, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicBlocks, Filter: api.SubscriptionFilter{FromBlock: from}}, err
	}, func(block api.Block) {
		next := block.Height + 1
		from = &next
	})
}

// SubscribeEvents yields the events that a filter matches, as [Client.SubscribeBlocks] does: from filter.FromBlock or
// after filter.Cursor on, or from the next block. It remembers how far it is while nothing matches, too: so a caller
// misses nothing though the node has pruned the last event meanwhile.
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
			if err == nil && len(event.Topics) == 0 { // an api.EventProgress: every event has the topic of its name
				continue
			}
			if !yield(event, err) {
				return
			}
		}
	}
}

// SubscribeProofs tells of each block that gets a proof, in the order of heights, as [Client.SubscribeBlocks] does:
// from a height on, or from the next block where from is nil. Blocks that will have none are passed over.
func (c *Client) SubscribeProofs(ctx context.Context, from *types.Height) iter.Seq2[api.ProofNotice, error] {
	return subscribe(ctx, c, func(ctx context.Context, s *socket) (api.SubscribeParams, error) {
		var err error
		if from == nil {
			from, err = s.nextHeight(ctx)
		}
		return api.SubscribeParams{Topic: api.TopicProofs, Filter: api.SubscriptionFilter{FromBlock: from}}, err
	}, func(notice api.ProofNotice) {
		next := notice.Height + 1
		from = &next
	})
}

// SubscribePending yields the hash of each transaction that the node's mempool accepts, as [Client.SubscribeBlocks]
// does. Those that come while there is no connection are missed, as the mempool has no history.
func (c *Client) SubscribePending(ctx context.Context) iter.Seq2[types.TxID, error] {
	return subscribe(ctx, c, fixed(api.TopicPending), func(types.TxID) {})
}

// SubscribeSyncStatus yields the node's sync status, now and when it changes, once a second at most, and again after
// each new connection.
func (c *Client) SubscribeSyncStatus(ctx context.Context) iter.Seq2[api.SyncStatus, error] {
	return subscribe(ctx, c, fixed(api.TopicSyncStatus), func(api.SyncStatus) {})
}

// SubscribeRangeProofs yields which ranges of blocks the node has proofs of, as rangeProofs of its info has it. It does
// so now and when they change, once a second at most, and again after each new connection.
func (c *Client) SubscribeRangeProofs(ctx context.Context) iter.Seq2[[]api.RangeProofs, error] {
	return subscribe(ctx, c, fixed(api.TopicRanges), func([]api.RangeProofs) {})
}

func fixed(topic api.Topic) func(context.Context, *socket) (api.SubscribeParams, error) {
	return func(context.Context, *socket) (api.SubscribeParams, error) {
		return api.SubscribeParams{Topic: topic}, nil
	}
}

// subscribe yields a subscription's results over as many connections as it takes. where says what to ask of the next
// connection; seen is told of each result before it is yielded.
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

// transient reports whether another connection may do better: not where the node has answered with an error, or refuses
// connections for good.
func transient(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Status >= 500 || status.Status == 429
	}
	return errors.Is(err, ErrUnreachable)
}

// receive subscribes over one connection and hands on the results until take says no (then stopped is true) or the
// connection fails. connected is set once there was a subscription.
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
		var n api.NotificationParams[R]
		if err := s.notification(ctx, &n); err != nil {
			return false, err
		}
		if n.Subscription == id && !take(n.Result) {
			return true, nil
		}
	}
}
