package chain

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Events are found under names of several kinds. A row holds where a block's events of one name are, ascending, so that
// events with several names are found by walking along the rows of each together.

// eventKind is a kind of names.
type eventKind byte

const (
	anyEvent       eventKind = iota // the zero name: every event
	eventOfID                       // the contract that emitted it
	eventOfName                     // SHA-256 of its name
	eventOfIDName                   // SHA-256 of the contract and the SHA-256 of its name
	eventOfTopic                    // its first own topic; the further ones follow
	eventKinds     = eventOfTopic + types.MaxLogTopics
	eventPlaceSize = 4 + 4 + 2
)

// eventPlace is where in its block an event is.
type eventPlace struct {
	transaction uint32
	index       uint32 // within the block
	log         uint16 // within the transaction
}

func (p eventPlace) appendTo(row []byte) []byte {
	row = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(row, p.transaction), p.index)
	return binary.BigEndian.AppendUint16(row, p.log)
}

func decodeEventPlaces(row []byte) ([]eventPlace, error) {
	if len(row) == 0 || len(row)%eventPlaceSize != 0 {
		return nil, fmt.Errorf("%w: an events' row of %d bytes", ErrCorrupt, len(row))
	}
	places := make([]eventPlace, len(row)/eventPlaceSize)
	for i := range places {
		r := row[eventPlaceSize*i:]
		places[i] = eventPlace{binary.BigEndian.Uint32(r), binary.BigEndian.Uint32(r[4:]), binary.BigEndian.Uint16(r[8:])}
		if i > 0 && places[i].index <= places[i-1].index {
			return nil, fmt.Errorf("%w: an events' row does not ascend", ErrCorrupt)
		}
	}
	return places, nil
}

// eventPrefix begins the rows of a name.
func eventPrefix(kind eventKind, name *[32]byte) []byte {
	return append([]byte{byte(tableEvents), byte(kind)}, name[:]...)
}

func appendEventRow(dst []byte, kind eventKind, name *[32]byte, h types.Height) []byte {
	dst = append(append(dst, byte(tableEvents), byte(kind)), name[:]...)
	return binary.BigEndian.AppendUint64(dst, uint64(h))
}

// eventIDName is the name of the events of a contract that have a name with this hash.
func eventIDName(contract types.ContractID, nameHash [32]byte) [32]byte {
	return sha256.Sum256(append(contract[:], nameHash[:]...))
}

// eventNames hashes each name of a block's events once.
type eventNames struct {
	ofName   map[string]*[32]byte
	ofIDName map[contractEvent]*[32]byte
}

type contractEvent struct {
	contract types.ContractID
	name     string
}

var noName [32]byte

// of is an event's name of a kind, nil where it has none.
func (n eventNames) of(kind eventKind, log *types.Log) *[32]byte {
	switch kind {
	case anyEvent:
		return &noName
	case eventOfID:
		return (*[32]byte)(&log.Contract)
	case eventOfName:
		hash := n.ofName[log.Name]
		if hash == nil {
			sum := sha256.Sum256([]byte(log.Name))
			hash = &sum
			n.ofName[log.Name] = hash
		}
		return hash
	case eventOfIDName:
		both := contractEvent{log.Contract, log.Name}
		name := n.ofIDName[both]
		if name == nil {
			sum := eventIDName(log.Contract, *n.of(eventOfName, log))
			name = &sum
			n.ofIDName[both] = name
		}
		return name
	default:
		if topic := int(kind - eventOfTopic); topic < len(log.Topics) {
			return &log.Topics[topic]
		}
		return nil
	}
}

// events gives the rows that find the block's events, ascending.
func (b indexed) events(put func(key, value []byte) error) error {
	var logs []*types.Log
	var places []eventPlace
	for i := range b.receipts {
		for j := range b.receipts[i].Logs {
			places = append(places, eventPlace{uint32(i), uint32(len(places)), uint16(j)})
			logs = append(logs, &b.receipts[i].Logs[j])
		}
	}
	if len(logs) == 0 {
		return nil
	}
	names := eventNames{make(map[string]*[32]byte), make(map[contractEvent]*[32]byte)}
	named := make([]concern, 0, len(logs))
	var key, row []byte
	for kind := range eventKinds {
		named = named[:0]
		for i, log := range logs {
			if name := names.of(kind, log); name != nil {
				named = append(named, newConcern(name, uint32(i)))
			}
		}
		named := sorted(named)
		for i, c := range named {
			row = places[c.index].appendTo(row)
			if i+1 < len(named) && *named[i+1].name == *c.name {
				continue
			}
			key = appendEventRow(key[:0], kind, c.name, b.height)
			if err := put(key, row); err != nil {
				return err
			}
			row = row[:0]
		}
	}
	return nil
}

// EventFilter says which events are asked. A nil member asks for nothing.
type EventFilter struct {
	Contract *types.ContractID
	NameHash *[32]byte                     // SHA-256 of the event's name
	Topics   [types.MaxLogTopics]*[32]byte // the event's own
	From, To types.Height                  // both included
	// After leaves out the events up to this one, which is given by its index within the block.
	After *Position
}

// Event is a log of an included transaction.
type Event struct {
	types.Log
	Position               // of its transaction
	Transaction types.TxID // that emitted it
	LogIndex    uint32     // among the block's events
}

// lists are the prefixes of rows whose common events match the filter.
func (f *EventFilter) lists() (prefixes [][]byte) {
	list := func(kind eventKind, name *[32]byte) { prefixes = append(prefixes, eventPrefix(kind, name)) }
	switch {
	case f.Contract != nil && f.NameHash != nil:
		name := eventIDName(*f.Contract, *f.NameHash)
		list(eventOfIDName, &name)
	case f.Contract != nil:
		list(eventOfID, (*[32]byte)(f.Contract))
	case f.NameHash != nil:
		list(eventOfName, f.NameHash)
	}
	for i, topic := range f.Topics {
		if topic != nil {
			list(eventOfTopic+eventKind(i), topic)
		}
	}
	if len(prefixes) == 0 {
		list(anyEvent, &noName)
	}
	return prefixes
}

// Events calls yield for the kept events that match a filter, in the chain's order, until it returns false. It returns
// [ErrPruned] where the filter begins below the oldest height. What it takes grows with the blocks that hold events of
// every member of the filter, not with the chain.
func (s *Store) Events(ctx context.Context, f EventFilter, yield func(Event) bool) error {
	if f.After != nil {
		f.From = max(f.From, f.After.Height)
	}
	_, err := read(s, func(v *view) (_ struct{}, err error) {
		if v.empty || f.From < v.oldest {
			return struct{}{}, fmt.Errorf("events from block %d: %w: the oldest kept is %d", f.From, ErrPruned, v.oldest)
		}
		w, err := newEventWalk(v.snapshot, f)
		if err == nil {
			err = w.run(ctx, yield)
		}
		return struct{}{}, errors.Join(err, w.close())
	})
	return err
}

// eventWalk walks along several lists of events together.
type eventWalk struct {
	filter   EventFilter
	lists    []eventList
	key      []byte
	receipts *itemReader
	receipt  *types.Receipt // at position, unless it is nil
	position Position
}

// eventList is the rows with a prefix.
type eventList struct {
	prefix []byte
	rows   *kv.Iter
}

func newEventWalk(r kv.Reader, f EventFilter) (*eventWalk, error) {
	w := &eventWalk{filter: f}
	for _, prefix := range f.lists() {
		rows, err := r.NewIter(prefix, kv.PrefixEnd(prefix))
		if err != nil {
			return w, err
		}
		w.lists = append(w.lists, eventList{prefix, rows})
	}
	var err error
	w.receipts, err = newItemReader(r, tableReceipts)
	return w, err
}

func (w *eventWalk) close() error {
	var errs []error
	for _, list := range w.lists {
		errs = append(errs, list.rows.Close())
	}
	return errors.Join(append(errs, w.receipts.close())...)
}

// run gives the events of one common block after another.
func (w *eventWalk) run(ctx context.Context, yield func(Event) bool) error {
	for h := w.filter.From; h <= w.filter.To; h++ {
		var more bool
		var err error
		if h, more, err = w.align(ctx, h); err != nil || !more || h > w.filter.To {
			return err // that of an iterator shows when it is closed
		}
		if more, err = w.block(h, yield); err != nil || !more {
			return err
		}
	}
	return nil
}

// align moves all lists to the first block from h on that each of them has.
func (w *eventWalk) align(ctx context.Context, h types.Height) (types.Height, bool, error) {
	for i := 0; i < len(w.lists); {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		list := w.lists[i]
		w.key = binary.BigEndian.AppendUint64(append(w.key[:0], list.prefix...), uint64(h))
		if !list.rows.SeekGE(w.key) {
			return 0, false, nil
		}
		at, err := heightAtEnd(list.rows.Key())
		if err != nil {
			return 0, false, err
		}
		if at > h && i > 0 {
			h, i = at, 0 // those before must come along
			continue
		}
		h = at
		i++
	}
	return h, true, nil
}

// block gives the events of a block that are in every list; all lists are at it.
func (w *eventWalk) block(h types.Height, yield func(Event) bool) (more bool, err error) {
	// The shortest first: where it has nothing in common with the next, the long ones are not decoded.
	slices.SortFunc(w.lists, func(a, b eventList) int { return cmp.Compare(len(a.rows.Value()), len(b.rows.Value())) })
	var common []eventPlace
	for i, list := range w.lists {
		places, err := decodeEventPlaces(list.rows.Value())
		if err != nil {
			return false, err
		}
		if i == 0 {
			common = places
		} else if common = intersect(common, places); len(common) == 0 {
			return true, nil
		}
	}
	for _, place := range common {
		if after := w.filter.After; after != nil && after.Height == h && place.index <= after.Index {
			continue
		}
		event, err := w.event(h, place)
		if err != nil || !yield(event) {
			return false, err
		}
	}
	return true, nil
}

// intersect keeps the places that are in both lists, which ascend.
func intersect(a, b []eventPlace) []eventPlace {
	common := a[:0]
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].index < b[0].index:
			a = a[1:]
		case a[0].index > b[0].index:
			b = b[1:]
		default:
			common = append(common, a[0])
			a, b = a[1:], b[1:]
		}
	}
	return common
}

// event reads an event out of its receipt.
func (w *eventWalk) event(h types.Height, place eventPlace) (Event, error) {
	p := Position{h, place.transaction}
	if w.receipt == nil || w.position != p {
		receipt, err := readNext(w.receipts, p, types.DecodeReceipt)
		if err != nil {
			return Event{}, err
		}
		w.receipt, w.position = &receipt, p
	}
	if int(place.log) >= len(w.receipt.Logs) {
		return Event{}, fmt.Errorf("%w: block %d, transaction %d has no log %d", ErrCorrupt, h, p.Index, place.log)
	}
	return Event{
		Log: w.receipt.Logs[place.log], Position: p, Transaction: w.receipt.Transaction, LogIndex: place.index,
	}, nil
}
