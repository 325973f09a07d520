package chain

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Events calls yield for the stored events of a range that match a filter, in chain order, until yield returns false.
// If it stops with an error, [EventsEnd.Reached] says how far it got. The error is [ErrPruned] if the range or position
// begins or ends below the oldest height. The time grows with the number of blocks that have events for every field of
// the filter, not with the chain.
func (s *Store) Events(ctx context.Context, f EventFilter, in EventRange, yield func(Event) bool) (EventsEnd, error) {
	return read(s, func(v *view) (EventsEnd, error) {
		from, to, err := in.bounds(v)
		if err != nil {
			return EventsEnd{}, err
		}
		w := &eventWalk{rows: v.snapshot, after: in.After, from: from, to: to, work: cmp.Or(in.Work, math.MaxInt), yield: yield}
		if err = w.begin(v.snapshot, f); err == nil {
			err = w.run(ctx)
		}
		return w.end, errors.Join(err, w.close())
	})
}

// bounds returns the heights of the range in a view.
func (in *EventRange) bounds(v *view) (from, to types.Height, err error) {
	if v.empty {
		return 0, 0, fmt.Errorf("events: %w: there is no chain", ErrPruned)
	}
	from, to = v.oldest, v.head.Header.Height
	if in.After != nil {
		from = in.After.NextEvent()
	}
	if in.From != nil && (in.After == nil || *in.From > from) {
		from = *in.From
	}
	if in.To != nil {
		to = min(to, *in.To)
	}
	if lowest := min(from, to); lowest < v.oldest {
		err = fmt.Errorf("events from block %d: %w: the oldest kept is %d", lowest, ErrPruned, v.oldest)
	}
	return from, to, err
}

// eventWalk walks along several lists of events together.
type eventWalk struct {
	rows     kv.Reader
	txs      *itemReader
	after    *Position
	from, to types.Height
	work     int // remaining work
	yield    func(Event) bool
	lists    []eventList
	key      []byte
	receipts *itemReader
	receipt  *types.Receipt // receipt at position; may be nil
	id       types.TxID     // ID of the transaction at position
	position Position
	of       Event // common fields of a block's events
	end      EventsEnd
}

// eventList holds the rows with a prefix.
type eventList struct {
	prefix []byte
	rows   *kv.Iter
}

func (w *eventWalk) begin(r kv.Reader, f EventFilter) (err error) {
	for _, prefix := range f.lists() {
		rows, err := r.NewIter(prefix, kv.PrefixEnd(prefix))
		if err != nil {
			return err
		}
		w.lists = append(w.lists, eventList{prefix, rows})
	}
	if w.txs, err = newItemReader(r, tableTransactions); err != nil {
		return err
	}
	w.receipts, err = newItemReader(r, tableReceipts)
	return err
}

func (w *eventWalk) close() error {
	var errs []error
	for _, list := range w.lists {
		errs = append(errs, list.rows.Close())
	}
	return errors.Join(append(errs, w.txs.close(), w.receipts.close())...)
}

// run yields the events of one common block after another.
func (w *eventWalk) run(ctx context.Context) error {
	switch {
	case w.after != nil:
		w.end.Reached = *w.after
	case w.from > 0:
		w.end.Reached = EndOfEvents(w.from - 1)
	}
	for h := w.from; h <= w.to; h++ {
		at, aligned, err := w.align(ctx, h)
		if err != nil {
			return err
		}
		if at > h {
			w.end.Reached = EndOfEvents(at - 1)
		}
		if !aligned {
			break
		}
		if more, err := w.block(at); err != nil || !more {
			return err
		}
		w.end.Reached, h = EndOfEvents(at), at
		if w.work <= 0 {
			break
		}
	}
	w.end.Complete = w.from > w.to || w.end.Reached.NextEvent() > w.to
	return nil
}

// align moves all lists to the first block from h on that each of them has, and returns its height. It reports false if
// the range has no such block, or if the work limit is reached; then no block before the returned height is one.
func (w *eventWalk) align(ctx context.Context, h types.Height) (types.Height, bool, error) {
	begun := h
	for i := 0; i < len(w.lists); {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		if w.work <= 0 && h > begun {
			return h, false, nil
		}
		list := w.lists[i]
		w.key = binary.BigEndian.AppendUint64(append(w.key[:0], list.prefix...), uint64(h))
		w.work--
		if !list.rows.SeekGE(w.key) {
			return w.to + 1, false, list.rows.Err()
		}
		at, err := heightAtEnd(list.rows.Key())
		if err != nil {
			return 0, false, err
		}
		if at > w.to {
			return w.to + 1, false, nil
		}
		if at > h && i > 0 {
			h, i = at, 0 // align the earlier lists again
			continue
		}
		h = at
		i++
	}
	return h, true, nil
}

// placesOfWork is the number of places in a row that are decoded in the time of one row lookup.
const placesOfWork = 256

// block yields the events of a block that are in every list, and reports whether to continue. All lists must be at the
// block.
func (w *eventWalk) block(h types.Height) (more bool, err error) {
	// Start with the shortest: if it has nothing in common with the next one, the long ones need not be decoded.
	slices.SortFunc(w.lists, func(a, b eventList) int { return cmp.Compare(len(a.rows.Value()), len(b.rows.Value())) })
	var common []eventPlace
	for i, list := range w.lists {
		places, err := decodeEventPlaces(list.rows.Value())
		if err != nil {
			return false, err
		}
		w.work -= len(places) / placesOfWork
		if i == 0 {
			common = places
		} else if common = intersect(common, places); len(common) == 0 {
			return true, nil
		}
	}
	header, err := readHeader(w.rows, h)
	if err != nil {
		return false, err
	}
	w.of = Event{Block: header.Header.Hash(), Timestamp: header.Header.Timestamp}
	for i, place := range common {
		if w.after != nil && w.after.Height == h && place.index <= w.after.Index {
			continue
		}
		event, err := w.event(h, place)
		if err != nil {
			return false, err
		}
		w.end.Reached = Position{h, place.index}
		w.work--
		if !w.yield(event) || w.work <= 0 && i+1 < len(common) {
			return false, nil
		}
	}
	return true, nil
}

// intersect returns the places in both lists, which are ascending. It overwrites a.
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

// event reads an event from its receipt.
func (w *eventWalk) event(h types.Height, place eventPlace) (Event, error) {
	p := Position{h, place.transaction}
	if w.receipt == nil || w.position != p {
		tx, err := readNext(w.txs, p, types.DecodeTx)
		if err != nil {
			return Event{}, err
		}
		receipt, err := readNext(w.receipts, p, types.DecodeReceipt)
		if err != nil {
			return Event{}, err
		}
		w.receipt, w.id, w.position = &receipt, tx.ID(), p
	}
	if int(place.log) >= len(w.receipt.Logs) {
		return Event{}, fmt.Errorf("%w: block %d, transaction %d has no log %d", ErrCorrupt, h, p.Index, place.log)
	}
	e := w.of
	e.Log, e.Position, e.Transaction, e.LogIndex = w.receipt.Logs[place.log], p, w.id, place.index
	return e, nil
}
