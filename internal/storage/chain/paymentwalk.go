package chain

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// paymentWalk walks along the transactions of several accounts together.
type paymentWalk struct {
	filter PaymentFilter
	PaymentRange
	view  *view
	yield func(*Payment, *types.Header, types.BlockHash) bool
	from  types.Height
	to    types.Height

	lists         []paymentList // a heap, ordered by search order
	rows          *kv.Iter      // rows of accounts, or of transactions without an account filter
	txs, receipts *itemReader
	read          int // number of transactions read
	end           PaymentsEnd
}

// paymentList is the remaining rows of one account, or of all transactions.
type paymentList struct {
	prefix []byte
	next   types.Height
}

// Len, Less, Swap, Push and Pop make the walk a heap of its lists.
func (w *paymentWalk) Len() int { return len(w.lists) }

func (w *paymentWalk) Less(i, j int) bool {
	if w.Descending {
		i, j = j, i
	}
	return w.lists[i].next < w.lists[j].next
}

func (w *paymentWalk) Swap(i, j int) { w.lists[i], w.lists[j] = w.lists[j], w.lists[i] }

func (w *paymentWalk) Push(list any) { w.lists = append(w.lists, list.(paymentList)) }

func (w *paymentWalk) Pop() any {
	last := w.lists[len(w.lists)-1]
	w.lists = w.lists[:len(w.lists)-1]
	return last
}

// begin checks the range and finds the first row of each list.
func (w *paymentWalk) begin() (err error) {
	if err := w.bound(); err != nil {
		return err
	}
	t := tableAccounts
	if w.filter.Accounts == nil {
		t = tableTransactions
		w.lists = []paymentList{{prefix: []byte{byte(t)}}}
	}
	for account := range w.filter.Accounts {
		w.lists = append(w.lists, paymentList{prefix: t.key(account[:])})
	}
	if w.rows, err = w.view.snapshot.NewIter(t.bounds()); err != nil {
		return err
	}
	if w.txs, err = newItemReader(w.view.snapshot, tableTransactions); err != nil {
		return err
	}
	if w.receipts, err = newItemReader(w.view.snapshot, tableReceipts); err != nil {
		return err
	}
	slices.SortFunc(w.lists, func(a, b paymentList) int { return bytes.Compare(a.prefix, b.prefix) }) // rows are near
	first := w.from
	if w.Descending {
		first = w.to
	}
	found := w.lists[:0]
	for _, list := range w.lists {
		ok, err := w.seek(&list, first)
		if err != nil {
			return err
		}
		if ok {
			found = append(found, list)
		}
	}
	w.lists = found
	heap.Init(w)
	return nil
}

// bound determines the heights of the range.
func (w *paymentWalk) bound() error {
	v := w.view
	if v.empty {
		return fmt.Errorf("payments: %w: there is no chain", ErrAboveHead)
	}
	w.from, w.to = v.oldest, v.head.Header.Height
	head := w.to
	if w.From != nil {
		w.from = *w.From
	}
	if w.To != nil {
		w.to = min(w.to, *w.To)
	}
	if after := w.After; after != nil {
		if err := v.hasCursor(*after); err != nil {
			return err
		}
		if w.Descending {
			w.to = min(w.to, after.Height)
		} else {
			w.from = max(w.from, after.Height)
		}
	}
	switch {
	case min(w.from, w.to) < v.oldest:
		return fmt.Errorf("payments from block %d: %w: the oldest kept is %d", min(w.from, w.to), ErrPruned, v.oldest)
	case w.from > head+1:
		return fmt.Errorf("payments from block %d: %w: it is %d", w.from, ErrAboveHead, head)
	}
	return nil
}

// hasCursor returns an error if the chain does not have the cursor's block.
func (v *view) hasCursor(c PaymentCursor) error {
	switch {
	case c.Height > v.head.Header.Height:
		return fmt.Errorf("cursor of block %d: %w: it is %d", c.Height, ErrAboveHead, v.head.Header.Height)
	case c.Height < v.oldest:
		return fmt.Errorf("cursor of block %d: %w: the oldest kept is %d", c.Height, ErrPruned, v.oldest)
	}
	header, err := readHeader(v.snapshot, c.Height)
	if err == nil && !c.IsOf(header.Header.Hash()) {
		err = fmt.Errorf("cursor of block %d: %w", c.Height, ErrReverted)
	}
	return err
}

// seek moves a list to its first row from a height on, in search order. It reports whether the range has one.
func (w *paymentWalk) seek(list *paymentList, h types.Height) (bool, error) {
	if h < w.from || h > w.to {
		return false, nil
	}
	key := binary.BigEndian.AppendUint64(slices.Clone(list.prefix), uint64(h))
	move := w.rows.SeekGE
	if w.Descending { // the last key before those above this height
		key, move = kv.PrefixEnd(key), w.rows.SeekLT
	}
	if !move(key) {
		return false, w.rows.Err()
	}
	found, ok := bytes.CutPrefix(w.rows.Key(), list.prefix)
	if !ok {
		return false, nil
	}
	if len(found) < 8 {
		return false, fmt.Errorf("%w: key %x has no height", ErrCorrupt, w.rows.Key())
	}
	list.next = types.Height(binary.BigEndian.Uint64(found))
	return w.from <= list.next && list.next <= w.to, nil
}

func (w *paymentWalk) close() error {
	errs := []error{w.txs.close(), w.receipts.close()}
	if w.rows != nil {
		errs = append(errs, w.rows.Close())
	}
	return errors.Join(errs...)
}

// run yields the payments of one block after another.
func (w *paymentWalk) run(ctx context.Context) error {
	for len(w.lists) > 0 {
		h := w.lists[0].next
		indices, err := w.indices(h)
		if err != nil {
			return err
		}
		if more, err := w.block(ctx, h, indices); err != nil || !more {
			return err
		}
	}
	return w.finish()
}

// finish sets the end of a walk through the whole range.
func (w *paymentWalk) finish() error {
	w.end.Complete = true
	at := w.to
	if w.Descending {
		at = min(w.from, w.view.head.Header.Height)
	}
	header, err := readHeader(w.view.snapshot, at)
	w.end.Cursor = EndOfBlock(at, header.Header.Hash())
	if w.Descending {
		w.end.Cursor.Index, w.end.Cursor.Place = firstPlace, firstPlace
	}
	if w.After != nil && w.passed(w.end.Cursor) { // the cursor was beyond the range
		w.end.Cursor = *w.After
	}
	return err
}

// indices returns the indices of the transactions at a height that are in any list, in search order. It moves the lists
// to their next rows.
func (w *paymentWalk) indices(h types.Height) (indices []uint32, err error) {
	for len(w.lists) > 0 && w.lists[0].next == h {
		list := &w.lists[0]
		row, err := w.row(list.prefix, h)
		if err != nil {
			return nil, err
		}
		indices = append(indices, row...)
		after, last := h+1, h == w.to
		if w.Descending {
			after, last = h-1, h == w.from
		}
		more := false
		if !last {
			if more, err = w.seek(list, after); err != nil {
				return nil, err
			}
		}
		if more {
			heap.Fix(w, 0)
		} else {
			heap.Pop(w)
		}
	}
	slices.Sort(indices)
	indices = slices.Compact(indices)
	if w.Descending {
		slices.Reverse(indices)
	}
	return indices, nil
}

// row returns the indices in a list's row at a height.
func (w *paymentWalk) row(prefix []byte, h types.Height) ([]uint32, error) {
	if w.filter.Accounts != nil {
		row, err := w.view.snapshot.Get(binary.BigEndian.AppendUint64(slices.Clone(prefix), uint64(h)))
		if err != nil {
			return nil, fmt.Errorf("an account's row of block %d: %w", h, missing(err))
		}
		return decodeIndices(row)
	}
	count, err := w.txs.count(h)
	if err == nil && count == 0 {
		err = fmt.Errorf("%w: block %d has no transactions", ErrCorrupt, h)
	}
	indices := make([]uint32, count)
	for i := range indices {
		indices[i] = uint32(i)
	}
	return indices, err
}

// block yields the payments of some transactions of a block, and reports whether to continue.
func (w *paymentWalk) block(ctx context.Context, h types.Height, indices []uint32) (more bool, err error) {
	signed, err := readHeader(w.view.snapshot, h)
	if err != nil {
		return false, err
	}
	hash := signed.Header.Hash()
	for _, index := range indices {
		p := Position{h, index}
		if w.passed(PaymentCursor{Position: p, Place: w.lastOf()}) {
			continue
		}
		if w.read == w.Work {
			return false, nil
		}
		if err := ctx.Err(); err != nil {
			return false, err
		}
		payments, err := w.payments(p)
		if err != nil {
			return false, err
		}
		w.read++
		for i := range payments {
			payment := &payments[i]
			if w.passed(payment.Cursor(hash)) || !w.filter.Matches(&payment.Payment) {
				continue
			}
			w.end.Cursor = payment.Cursor(hash)
			if !w.yield(payment, &signed.Header, hash) {
				return false, nil
			}
		}
		w.end.Cursor = PaymentCursor{p, w.lastOf(), [4]byte(hash[:4])}
	}
	return true, nil
}

// lastOf returns the last place of a transaction in search order.
func (w *paymentWalk) lastOf() uint32 {
	if w.Descending {
		return firstPlace
	}
	return lastPlace
}

// passed reports whether a place is at or before the After cursor in search order.
func (w *paymentWalk) passed(at PaymentCursor) bool {
	if w.After == nil {
		return false
	}
	order := at.Compare(*w.After)
	return w.Descending && order >= 0 || !w.Descending && order <= 0
}

// payments returns the payments of a transaction in search order.
func (w *paymentWalk) payments(p Position) ([]Payment, error) {
	tx, err := readNext(w.txs, p, types.DecodeTx)
	if err != nil {
		return nil, err
	}
	receipt, err := readNext(w.receipts, p, types.DecodeReceipt)
	if err != nil {
		return nil, err
	}
	payments := appendPayments(nil, tx, &receipt, p)
	if w.Descending {
		slices.Reverse(payments)
	}
	return payments, nil
}
