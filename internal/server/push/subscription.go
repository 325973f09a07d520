package push

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// statusInterval is the least time between two notifications of the sync status, or of ranges.
const statusInterval = time.Second

// pendingBatch is how many hashes a subscription reads from the ring at once.
const pendingBatch = 64

// subscription is one subscription of a connection.
type subscription struct {
	connection *connection
	ctx        context.Context
	cancel     context.CancelFunc
	prefix     []byte        // a notification's text before the result
	next       atomic.Uint64 // next height, or position in the ring, to send
	run        func(context.Context) error
	behind     func() uint64 // messages, or blocks of events, from next on
	keeps      int           // size of the filter in bytes
	ticket     Ticket        // holds the subscription's memory
}

// subscriptionBytes is the memory of a subscription: its stack and its cursor.
const subscriptionBytes = 8 << 10

// hold reserves memory for the subscription and its filter until it ends. An idle subscription counts as waiting for
// its client, so it makes way if memory runs short.
func (s *subscription) hold(ctx context.Context) error {
	s.ticket = s.connection.server.config.Ticket(s.connection.request)
	if !s.ticket.Reserve(ctx, (subscriptionBytes+s.keeps)/2) { // Reserve doubles it for an answer
		s.release()
		return api.ErrBusy
	}
	return nil
}

func (s *subscription) release() { s.ticket.Release() }

// serve runs the subscription until it ends.
func (s *subscription) serve() {
	defer s.release()
	s.ticket.Waits(func() { s.connection.end(s.run(s.ctx)) })
}

var suffix = []byte("}}")

// Subscribe implements [request.Subscriber].
func (m *message) Subscribe(ctx context.Context, p api.SubscribeParams) (api.Quantity, error) {
	c := m.connection
	s := &subscription{connection: c}
	if err := c.server.prepare(s, p); err != nil {
		return 0, err
	}
	if err := s.hold(ctx); err != nil {
		return 0, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subscriptions) >= api.MaxSubscriptions {
		s.release()
		return 0, api.ErrSubscriptions
	}
	c.lastID++
	s.ctx, s.cancel = context.WithCancel(c.work)
	s.prefix = fmt.Appendf(
		nil, `{"jsonrpc":"2.0","method":%q,"params":{"subscription":%q,"result":`, api.Notification, c.lastID,
	)
	c.subscriptions[c.lastID] = s
	c.server.subscriptions.Add(1)
	m.begun = append(m.begun, s)
	return c.lastID, nil
}

// Unsubscribe implements [request.Subscriber]. A message in flight may still arrive.
func (m *message) Unsubscribe(id api.Quantity) (bool, error) {
	c := m.connection
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.subscriptions[id]
	if ok {
		s.cancel()
		delete(c.subscriptions, id)
		c.server.subscriptions.Add(^uint64(0))
	}
	return ok, nil
}

// prepare sets up a subscription's source and start.
func (s *Server) prepare(sub *subscription, p api.SubscribeParams) error {
	if err := checkMembers(p); err != nil {
		return err
	}
	switch p.Topic {
	case api.TopicBlocks:
		of := wholeBlocks
		if p.Filter.HeadersOnly {
			of = headers
		}
		sub.behind = sub.blocksBehind
		sub.run = func(ctx context.Context) error {
			return sub.follow(ctx, func(height types.Height) (types.Height, error) {
				return height + 1, sub.sendBlock(ctx, of, height)
			})
		}
		return s.begin(sub, p.Filter.FromBlock)
	case api.TopicEvents:
		return s.prepareEvents(sub, p.Filter)
	case api.TopicPayments:
		return s.preparePayments(sub, p.Filter)
	case api.TopicPending:
		sub.next.Store(s.config.Pending.end())
		sub.behind = func() uint64 { return s.config.Pending.end() - sub.next.Load() }
		sub.run = sub.sendPending
	case api.TopicProofs:
		sub.behind = sub.blocksBehind
		sub.run = sub.sendProofs
		return s.begin(sub, p.Filter.FromBlock)
	case api.TopicSyncStatus:
		sub.behind = func() uint64 { return 1 }
		sub.run = sub.sendStatus
	case api.TopicRanges:
		sub.behind = func() uint64 { return 1 }
		sub.run = sub.sendRanges
	default:
		return jsonrpc.InvalidParam(
			"topic", api.ErrUnknownTopic.Message, "reason", api.ErrUnknownTopic.Data["reason"], "topics", api.Topics(),
		)
	}
	return nil
}

// maxTopics is the greatest number of topics in an event: its name's digest, and its own.
const maxTopics = 1 + types.MaxLogTopics

// checkMembers rejects filter members that the topic does not support or that no event can match: a filter is kept as
// long as its subscription.
func checkMembers(p api.SubscribeParams) error {
	f := p.Filter
	events, payments := p.Topic == api.TopicEvents, p.Topic == api.TopicPayments
	chained := events || payments || p.Topic == api.TopicBlocks || p.Topic == api.TopicProofs
	for _, m := range []struct {
		name       string
		given, has bool
	}{
		{"from_block", f.FromBlock != nil, chained && f.Cursor == ""},
		{"headers_only", f.HeadersOnly, p.Topic == api.TopicBlocks},
		{"contract_id", f.ContractID != nil, events},
		{"event_name", f.EventName != nil, events},
		{"progress", f.Progress, events},
		{"topics", f.Topics != nil, events},
		{"cursor", f.Cursor != "", events || payments},
		{"accounts", f.Accounts != nil, payments},
		{"direction", f.Direction != "", payments},
		{"kinds", f.Kinds != nil, payments},
	} {
		if m.given && !m.has {
			return jsonrpc.InvalidParam("filter",
				"the filter has a member that cannot be combined with the topic or with another member",
				"reason", "unknown", "member", m.name)
		}
	}
	switch {
	case len(f.Topics) > maxTopics:
		return jsonrpc.InvalidParam(
			"filter", "no event has that many topics", "reason", "too_many", "member", "topics", "max", maxTopics,
		)
	case f.EventName != nil && len(*f.EventName) > types.MaxLogNameBytes:
		return jsonrpc.InvalidParam(
			"filter", "no event has a name that long", "reason", "too_long", "member", "event_name", "max", types.MaxLogNameBytes,
		)
	}
	return nil
}

// begin starts a subscription at a height, or at the next block.
func (s *Server) begin(sub *subscription, from *types.Height) error {
	next := s.config.Chain.Head().Header.Height + 1
	if from != nil {
		if *from > next {
			return jsonrpc.NewError(api.ErrAboveHead.Code, api.ErrAboveHead.Message, "reason", api.ErrAboveHead.Data["reason"],
				"param", "filter", "max", next)
		}
		if oldest := s.config.Chain.OldestHeight(); *from < oldest {
			return jsonrpc.NewError(api.ErrPruned.Code, api.ErrPruned.Message, "reason", api.ErrPruned.Data["reason"],
				"oldestHeight", oldest)
		}
		next = *from
	}
	sub.next.Store(uint64(next))
	return nil
}

func (s *subscription) blocksBehind() uint64 {
	head := uint64(s.connection.server.config.Chain.Head().Header.Height)
	return max(head+1, s.next.Load()) - s.next.Load()
}

// follow calls send for one height after another, and waits at the head; send returns the height to go on with. When a
// development chain is reverted, follow goes on after the new head.
func (s *subscription) follow(ctx context.Context, send func(types.Height) (types.Height, error)) error {
	follows := s.connection.server.config.Chain
	for ctx.Err() == nil {
		seen := follows.HeadHash() // read before the head: if it changes in between, WaitHead returns at once
		head := follows.Head().Header.Height
		next := types.Height(s.next.Load())
		switch {
		case next > head+1:
			s.next.Store(uint64(head) + 1)
		case next == head+1:
			if err := follows.WaitHead(ctx, seen); err != nil {
				return err
			}
		default:
			next, err := send(next)
			if errors.Is(err, errGone) {
				continue
			}
			if err != nil {
				return err
			}
			s.next.Store(uint64(next))
		}
	}
	return ctx.Err()
}

// Bounds on the memory for rendering a block, in bytes: for its header, and for each transaction's hash.
const (
	blockMemory = 16 << 10
	hashMemory  = 320
)

// sendBlock sends the shared rendering of a block, or renders the block in a turn of the client.
func (s *subscription) sendBlock(ctx context.Context, of kind, height types.Height) error {
	server := s.connection.server
	block, ok, err := shared[[]byte](server.cache, of, height)
	if err != nil {
		return err
	}
	if ok {
		return s.notify(ctx, block)
	}
	count, err := server.config.Source.TransactionCount(height)
	if err != nil {
		return gone(err)
	}
	return s.turn(ctx, blockMemory+hashMemory*int64(count), func(context.Context) ([][]byte, error) {
		block, _, err := server.cache.kinds[of].render(height)
		if err != nil {
			return nil, err
		}
		return [][]byte{block.([]byte)}, nil
	})
}

// gone maps chain.ErrNotFound to errGone.
func gone(err error) error {
	if errors.Is(err, chain.ErrNotFound) {
		return errGone
	}
	return err
}

// sendPending sends the hashes of accepted transactions. They have no history: a client that falls behind the ring is
// dropped, and so learns that it missed some.
func (s *subscription) sendPending(ctx context.Context) error {
	ring := s.connection.server.config.Pending
	ids := make([]types.TxID, pendingBatch)
	for {
		n, arrived, kept := ring.read(s.next.Load(), ids)
		if !kept {
			s.connection.drop()
			return context.Canceled
		}
		for _, id := range ids[:n] {
			if err := s.notify(ctx, fmt.Appendf(nil, "%q", id)); err != nil {
				return err
			}
			s.next.Add(1)
		}
		if n > 0 {
			continue
		}
		if err := arrived.Wait(ctx); err != nil {
			return err
		}
	}
}

const (
	// proofsLooked is how many heights a subscription to proofs checks in one turn; proofMemory is the memory for
	// checking a proof.
	proofsLooked = 64
	proofMemory  = 2 << 20
)

// sendProofs sends a notice of each proof in the order of heights. It skips blocks that will have none.
func (s *subscription) sendProofs(ctx context.Context) error {
	server := s.connection.server
	source := server.config.Source
	return s.follow(ctx, func(height types.Height) (types.Height, error) {
		changed := source.ProofsChanged() // read first: a proof that arrives meanwhile is not missed
		next, waiting := height, false
		err := s.turn(ctx, proofMemory, func(ctx context.Context) ([][]byte, error) {
			last := min(server.config.Chain.Head().Header.Height, height+proofsLooked-1)
			for ; next <= last && ctx.Err() == nil; next++ {
				var notice *api.ProofNotice
				var err error
				if notice, waiting, err = source.ProofNotice(next); err != nil || waiting {
					return nil, err
				}
				if notice != nil {
					next++
					result, err := json.Marshal(notice)
					return [][]byte{result}, err
				}
			}
			return nil, nil
		})
		if err == nil && waiting && next == height {
			select {
			case <-changed:
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return next, err
	})
}

// sendStatus sends the sync status now, and whenever it has changed, which happens with each block.
func (s *subscription) sendStatus(ctx context.Context) error {
	return s.sendChanges(ctx, func() (any, error) { return s.connection.server.config.Source.SyncStatus(), nil })
}

// sendRanges sends the ranges of blocks that have a proof now, and whenever they have changed. It recomputes them only
// after a new proof or block.
func (s *subscription) sendRanges(ctx context.Context) error {
	source, blocks := s.connection.server.config.Source, s.connection.server.config.Chain
	var changed <-chan struct{}
	var head types.BlockHash
	var ranges []api.RangeProofs
	return s.sendChanges(ctx, func() (any, error) {
		nowChanged, nowHead := source.ProofsChanged(), blocks.HeadHash()
		if nowChanged == changed && nowHead == head {
			return ranges, nil
		}
		changed, head = nowChanged, nowHead
		var err error
		ranges, err = source.RangeProofs()
		return ranges, err
	})
}

// sendChanges sends a value now, and whenever it has changed. It checks every statusInterval.
func (s *subscription) sendChanges(ctx context.Context, of func() (any, error)) error {
	ticker := time.NewTicker(statusInterval)
	defer ticker.Stop()
	var last []byte
	for {
		now, err := of()
		if err != nil {
			return err
		}
		result, err := json.Marshal(now)
		if err != nil {
			return err
		}
		if !bytes.Equal(result, last) {
			if err := s.notify(ctx, result); err != nil {
				return err
			}
			last = result
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end closes the connection when a subscription fails: its client must learn that there is a gap.
func (c *connection) end(err error) {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
	case errors.Is(err, chain.ErrClosed):
		c.close(websocket.StatusGoingAway, "the node is shutting down")
	case errors.Is(err, errReverted):
		c.close(websocket.StatusPolicyViolation, errReverted.Error())
	case errors.Is(err, chain.ErrPruned):
		c.close(websocket.StatusPolicyViolation, "slow reader: the next block is pruned")
	default:
		c.server.config.Log.Error("a subscription failed", "remote", c.request.Source, "error", err)
		c.close(websocket.StatusInternalError, "the subscription failed")
	}
}
