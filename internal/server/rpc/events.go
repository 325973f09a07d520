package rpc

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// eventBytes bounds the JSON of an event without its data, in bytes.
const eventBytes = 1024

type eventHandlers struct{ chain eventStore }

func (h *eventHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetEvents, h.getEvents),
	}
}

func (h *eventHandlers) getEvents(ctx context.Context, p api.GetEventsParams) ([]api.Event, error) {
	count, err := memberLimit("filter", p.Filter.Limit, api.DefaultEvents, api.MaxEvents)
	if err != nil {
		return nil, err
	}
	filter, possible, err := h.eventFilter(&p.Filter)
	events := []api.Event{}
	if err != nil || !possible {
		return events, err
	}
	ctx, cancel := context.WithDeadline(ctx, request.Of(ctx).Until())
	defer cancel()
	size := 0
	err = h.chain.Events(ctx, filter, func(e chain.Event) bool {
		size += eventBytes + 2*len(e.Data)
		if size > api.MaxPageBytes && len(events) > 0 {
			return false
		}
		events = append(events, newEvent(newLog(e.Log, e.Height, e.LogIndex), e.Transaction, e.Index))
		return len(events) < count
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, api.ErrTimeUp
	}
	return events, err
}

// newEvent renders an event.
func newEvent(log api.Log, tx types.TxID, index uint32) api.Event {
	return api.Event{
		ContractID:       log.Address,
		EventName:        log.EventName,
		Data:             log.Data,
		BlockHeight:      log.BlockHeight,
		TransactionHash:  tx,
		LogIndex:         log.LogIndex,
		Topics:           log.Topics,
		TransactionIndex: index,
		Cursor:           cursor(chain.Position{Height: log.BlockHeight, Index: log.LogIndex}),
	}
}

// eventFilter translates a filter; possible is false where no event can match it.
func (h *eventHandlers) eventFilter(f *api.EventFilter) (filter chain.EventFilter, possible bool, err error) {
	if len(f.Topics) > api.MaxEventTopics {
		return filter, false, jsonrpc.InvalidParam("filter", "an event has at most 4 topics", "reason", "out_of_range",
			"member", "topics", "max", api.MaxEventTopics)
	}
	filter = chain.EventFilter{Contract: f.ContractID, From: h.chain.OldestHeight(), To: h.chain.Head().Header.Height}
	if f.EventName != nil {
		hash := sha256.Sum256([]byte(*f.EventName))
		filter.NameHash = &hash
	}
	for i, topic := range f.Topics {
		switch {
		case topic == nil:
		case i > 0:
			filter.Topics[i-1] = (*[32]byte)(topic)
		case filter.NameHash != nil && *filter.NameHash != *topic:
			return filter, false, nil
		default:
			filter.NameHash = (*[32]byte)(topic)
		}
	}
	if f.FromBlock != nil {
		filter.From = *f.FromBlock
	}
	if f.ToBlock != nil {
		filter.To = min(filter.To, *f.ToBlock)
	}
	if f.Cursor != "" {
		after, ok := parsePosition(f.Cursor)
		if !ok {
			return filter, false, withData(api.ErrBadCursor, "param", "filter", "member", "cursor")
		}
		filter.After = &after
	}
	return filter, filter.From <= filter.To, nil
}
