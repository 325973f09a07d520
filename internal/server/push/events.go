package push

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

const (
	// quietBlocks bounds the blocks without matches that a subscription passes before it reports its progress.
	quietBlocks = 256
	// eventPieceBytes bounds the JSON of the events sent in one turn to a subscriber that is behind. eventPieceMemory
	// bounds the memory for reading and rendering them: one more event may come, with the rest of its receipt.
	eventPieceBytes  = 128 << 10
	eventPieceMemory = 4 * eventPieceBytes
	// sharedEvents is how many events of a block are rendered once for all subscribers. A block full of batches has ten
	// times as many; its subscribers read an index, as if they were behind.
	sharedEvents = 20_000
	// freeMatches is how many events of a block a subscription compares without a turn.
	freeMatches = 512
)

// blockEvents holds all events of a block and their JSON, indexed by contract and by name.
type blockEvents struct {
	events     []renderedEvent
	ofContract map[types.ContractID][]uint32
	ofName     map[string][]uint32
}

type renderedEvent struct {
	event api.Event
	json  []byte
}

// eventOverhead is roughly the size of a renderedEvent in bytes, excluding its JSON and data.
const eventOverhead = 640

func (s *Server) renderEvents(height types.Height) (any, int, error) {
	events, all, err := s.config.Source.Events(height, sharedEvents)
	switch {
	case err != nil:
		return nil, 0, err
	case !all:
		return nil, 0, nil
	case events == nil:
		return nil, 0, errGone
	}
	b := &blockEvents{
		events:     make([]renderedEvent, len(events)),
		ofContract: make(map[types.ContractID][]uint32),
		ofName:     make(map[string][]uint32),
	}
	bytes := 0
	for i, event := range events {
		text, err := json.Marshal(event)
		if err != nil {
			return nil, 0, err
		}
		b.events[i] = renderedEvent{event, text}
		b.ofContract[event.ContractID] = append(b.ofContract[event.ContractID], uint32(i))
		b.ofName[event.EventName] = append(b.ofName[event.EventName], uint32(i))
		bytes += eventOverhead + cap(text) + len(event.Data)
	}
	return b, bytes, nil
}

// candidates returns the indices of the events that may match a filter, or all if every event may.
func (b *blockEvents) candidates(f *api.SubscriptionFilter) (places []uint32, all bool) {
	all = true
	if f.ContractID != nil {
		places, all = b.ofContract[*f.ContractID], false
	}
	if f.EventName != nil {
		if named := b.ofName[*f.EventName]; all || len(named) < len(places) {
			places, all = named, false
		}
	}
	return places, all
}

// matching returns the indices of the events that match a filter.
func (b *blockEvents) matching(f *api.SubscriptionFilter) (found []uint32) {
	places, all := b.candidates(f)
	count := len(places)
	if all {
		count = len(b.events)
	}
	for i := range count {
		place := uint32(i)
		if !all {
			place = places[i]
		}
		if f.Matches(&b.events[place].event) {
			found = append(found, place)
		}
	}
	return found
}

// eventFeed is a subscription to events.
type eventFeed struct {
	*subscription
	filter   api.SubscriptionFilter
	after    chain.Position  // all matching events up to here were sent
	on       types.BlockHash // block of after; zero if unknown
	reported types.Height    // progress that the client knows of
	live     bool            // has reached the head
}

func (s *Server) prepareEvents(sub *subscription, f api.SubscriptionFilter) error {
	feed := &eventFeed{subscription: sub, filter: f}
	from := f.FromBlock
	if f.Cursor != "" {
		var err error
		if feed.after, err = s.config.Source.EventPosition(f.Cursor); err != nil {
			return err
		}
		from = new(feed.after.NextEvent())
	}
	if err := s.begin(sub, from); err != nil {
		return err
	}
	if f.Cursor == "" { // block 0 has no events
		feed.after = chain.EndOfEvents(types.Height(max(1, sub.next.Load())) - 1)
	}
	feed.reported = feed.after.Height
	if err := feed.recordBlock(feed.after.Height); err != nil && !errors.Is(err, errGone) {
		return err
	}
	sub.behind, sub.run = sub.blocksBehind, feed.run
	return nil
}

// recordBlock records the block at the height up to which everything was sent.
func (f *eventFeed) recordBlock(height types.Height) error {
	hash, err := f.connection.server.cache.hash(height)
	if errors.Is(err, chain.ErrPruned) {
		hash, err = types.BlockHash{}, nil
	}
	f.on = hash
	return err
}

// checkReorg returns errReverted if that block has left the chain: events that were sent may have left it too.
func (f *eventFeed) checkReorg() error {
	if f.on == (types.BlockHash{}) {
		return nil
	}
	hash, err := f.connection.server.cache.hash(f.after.Height)
	if errors.Is(err, errGone) || err == nil && hash != f.on {
		return errReverted
	}
	if errors.Is(err, chain.ErrPruned) && f.after == chain.EndOfEvents(f.after.Height) {
		return nil // the block has nothing more to send
	}
	return err
}

// run sends past events and then new ones.
func (f *eventFeed) run(ctx context.Context) error {
	follows := f.connection.server.config.Chain
	for ctx.Err() == nil {
		seen := follows.HeadHash() // read before the head: if it changes in between, WaitHead returns at once
		head, next := follows.Head().Header.Height, f.after.NextEvent()
		f.next.Store(uint64(next))
		err := f.checkReorg()
		switch {
		case err != nil:
		case next > head:
			if err = f.sendProgress(ctx, !f.live); err == nil {
				f.live = true
				err = follows.WaitHead(ctx, seen)
			}
		default:
			err = f.sendNext(ctx, next)
		}
		if err != nil && !errors.Is(err, errGone) {
			return err
		}
	}
	return ctx.Err()
}

// sendProgress sends the subscription's progress if the client asked for it, and either now is set or the last report
// is old.
func (f *eventFeed) sendProgress(ctx context.Context, now bool) error {
	reached := f.after.Height
	if !f.filter.Progress || reached <= f.reported || f.after != chain.EndOfEvents(reached) ||
		!now && reached < f.reported+f.connection.server.quiet() {
		return nil
	}
	result, err := json.Marshal(f.connection.server.config.Source.EventProgress(reached, f.on))
	if err == nil {
		err = f.notify(ctx, result)
	}
	f.reported = reached
	return err
}

// quiet returns how many blocks a subscription passes before it reports its progress. On a pruned chain they are few
// enough that a client that reconnects some blocks later can still resume.
func (s *Server) quiet() types.Height {
	head, oldest := s.config.Chain.Head().Header.Height, s.config.Chain.OldestHeight()
	if oldest == 0 {
		return quietBlocks
	}
	return max(1, min(quietBlocks, (head-min(head, oldest))/4))
}

// sendNext sends a piece of the events from block next on, from the shared block or from an index.
func (f *eventFeed) sendNext(ctx context.Context, next types.Height) error {
	block, ok, err := shared[*blockEvents](f.connection.server.cache, events, next)
	if err != nil {
		return err
	}
	if !ok {
		return f.catchUp(ctx)
	}
	found, err := f.matching(ctx, block)
	if err != nil {
		return err
	}
	if err := f.recordBlock(next); err != nil {
		return err
	}
	for _, place := range found {
		e := &block.events[place]
		if f.after.Height == next && f.after.Index >= e.event.LogIndex {
			continue
		}
		if err := f.notify(ctx, e.json); err != nil {
			return err
		}
		f.after, f.reported = chain.Position{Height: next, Index: e.event.LogIndex}, next
	}
	f.after = chain.EndOfEvents(next)
	return f.sendProgress(ctx, false)
}

// matching returns the indices of a shared block's matching events. It takes a turn of the client if there are many
// candidates.
func (f *eventFeed) matching(ctx context.Context, block *blockEvents) ([]uint32, error) {
	places, all := block.candidates(&f.filter)
	if len(places) <= freeMatches && (!all || len(block.events) <= freeMatches) {
		return block.matching(&f.filter), nil
	}
	ticket := f.connection.server.config.Ticket(f.connection.request)
	defer ticket.Release()
	return inTurn(ctx, ticket, 0, func(context.Context) ([]uint32, error) { return block.matching(&f.filter), nil })
}

// catchUp sends a piece of events from an index. The piece may be empty.
func (f *eventFeed) catchUp(ctx context.Context) error {
	var reached chain.Position
	found := 0
	err := f.turn(ctx, eventPieceMemory, func(ctx context.Context) ([][]byte, error) {
		source := f.connection.server.config.Source
		events, end, err := source.EventPiece(ctx, &f.filter, f.after, eventPieceBytes)
		if err != nil {
			return nil, err
		}
		results := make([][]byte, len(events))
		for i, event := range events {
			if results[i], err = json.Marshal(event); err != nil {
				return nil, err
			}
		}
		reached, found = end.Reached, len(results)
		return results, nil
	})
	if err != nil {
		return err
	}
	if f.after = reached; found > 0 {
		f.reported = reached.Height
	}
	if err := f.recordBlock(reached.Height); err != nil {
		return err
	}
	return f.sendProgress(ctx, false)
}
