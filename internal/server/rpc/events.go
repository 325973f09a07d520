package rpc

import (
	"context"
	"crypto/sha256"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/server/request"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// eventBytes bounds the JSON of an event without its data, in bytes.
const eventBytes = 1024

// eventWork bounds the rows and events read in one search for events: about a millisecond of work.
const eventWork = 256

type eventHandlers struct {
	chain   eventStore
	cursors *cursors
}

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
	filter, possible, err := eventFilter(&p.Filter)
	if err != nil {
		return nil, err
	}
	in := chain.EventRange{From: p.Filter.FromBlock, To: p.Filter.ToBlock, Work: eventWork}
	if err := checkRange(h.chain, in.From, in.To); err != nil {
		return nil, err
	}
	if p.Filter.Cursor != "" {
		after, err := h.cursors.position(p.Filter.Cursor, "filter", "cursor")
		if err != nil {
			return nil, err
		}
		in.After = &after
	}
	events := []api.Event{}
	if !possible {
		return events, nil
	}
	r := request.Of(ctx)
	ctx, cancel := context.WithDeadline(ctx, r.Until())
	defer cancel()
	size := 0
	for full := false; ; {
		end, err := h.chain.Events(ctx, filter, in, func(e chain.Event) bool {
			size += eventBytes + 2*len(e.Data)
			if size > api.MaxPageBytes && len(events) > 0 {
				full = true
				return false
			}
			events = append(events, newEvent(&e))
			full = len(events) == count
			return !full
		})
		if errors.Is(err, context.DeadlineExceeded) {
			return nil, api.ErrTimeUp
		}
		if err != nil {
			return nil, err
		}
		if full = full || end.Complete; full {
			break
		}
		if err := r.Stop(ctx); err != nil {
			return nil, err
		}
		if err := grown(ctx, size); err != nil {
			return nil, err
		}
		in.After = &end.Reached
	}
	return events, nil
}

// eventPiece reads a piece of the events that match a filter, after a position. The piece has at most the given bytes
// of JSON, but at least one event if there is one.
func (h *eventHandlers) eventPiece(
	ctx context.Context, f *api.SubscriptionFilter, after chain.Position, bytes int,
) ([]api.Event, chain.EventsEnd, error) {
	filter, possible, err := eventFilter(&api.EventFilter{
		ContractID: f.ContractID, EventName: f.EventName, Topics: f.Topics,
	})
	if err != nil || !possible {
		head := chain.EndOfEvents(h.chain.Head().Header.Height)
		return nil, chain.EventsEnd{Reached: head, Complete: true}, err
	}
	var events []api.Event
	in, size := chain.EventRange{After: &after, Work: eventWork}, 0
	end, err := h.chain.Events(ctx, filter, in, func(e chain.Event) bool {
		event := newEvent(&e)
		if f.Matches(&event) { // rows do not contain the number of topics
			size += eventBytes + 2*len(e.Data)
			events = append(events, event)
		}
		return size < bytes
	})
	return events, end, err
}

// newEvent renders an event.
func newEvent(e *chain.Event) api.Event {
	log := newLog(e.Log, e.Height, e.LogIndex)
	return api.Event{
		ContractID:       log.Address,
		EventName:        log.EventName,
		Data:             log.Data,
		BlockHeight:      log.BlockHeight,
		TransactionHash:  e.Transaction,
		LogIndex:         log.LogIndex,
		Topics:           log.Topics,
		TransactionIndex: e.Index,
		Cursor:           newCursor(chain.Position{Height: e.Height, Index: e.LogIndex}, e.Block),
		BlockHash:        e.Block,
		Timestamp:        seconds(e.Timestamp),
	}
}

// eventFilter translates a filter. possible is false if no event can match it.
func eventFilter(f *api.EventFilter) (filter chain.EventFilter, possible bool, err error) {
	if len(f.Topics) > api.MaxEventTopics {
		return filter, false, jsonrpc.InvalidParam("filter", "an event has at most 4 topics", "reason", "out_of_range",
			"member", "topics", "max", api.MaxEventTopics)
	}
	filter.Contract = f.ContractID
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
	return filter, true, nil
}
