package chain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Payments have no table of their own: account rows name the transactions that concern each account, and exec.AppendPayments
// derives the payments of those.

// Payment is a payment of an included transaction.
type Payment struct {
	exec.Payment
	Position               // position of its transaction
	Transaction types.TxID // ID of its transaction
}

// PaymentCursor is a place among the payments: at a payment, or before or after all payments of a transaction or block.
// It includes part of its block's hash, so that it does not fit another chain.
type PaymentCursor struct {
	Position
	Place uint32
	Block [4]byte // first bytes of the block's hash
}

// Indices and places before and after all others in a block or transaction.
const (
	firstPlace = 0
	lastPlace  = math.MaxUint32
)

// EndOfBlock returns the cursor after all payments of a block.
func EndOfBlock(h types.Height, hash types.BlockHash) PaymentCursor {
	return PaymentCursor{Position{h, lastPlace}, lastPlace, [4]byte(hash[:4])}
}

// Cursor returns the cursor at the payment. hash is the hash of its block.
func (p *Payment) Cursor(hash types.BlockHash) PaymentCursor {
	return PaymentCursor{p.Position, p.Place, [4]byte(hash[:4])}
}

// Compare compares cursors by the order of payments in the chain. It returns −1, 0 or 1.
func (c PaymentCursor) Compare(other PaymentCursor) int {
	return cmp.Or(c.Position.Compare(other.Position), cmp.Compare(c.Place, other.Place))
}

// Next returns the first height that may have payments after the cursor.
func (c PaymentCursor) Next() types.Height {
	if c.Index == lastPlace {
		return c.Height + 1
	}
	return c.Height
}

// IsOf reports whether the cursor belongs to the block with the given hash.
func (c PaymentCursor) IsOf(hash types.BlockHash) bool { return c.Block == [4]byte(hash[:4]) }

// PaymentFilter selects payments.
type PaymentFilter struct {
	// Accounts selects the payments of these accounts; nil means all accounts. In selects the payments that they
	// receive, Out those that they make.
	Accounts map[types.Account]struct{}
	In, Out  bool
	Kinds    []exec.PaymentKind // nil for all
}

// Matches reports whether the filter selects a payment.
func (f *PaymentFilter) Matches(p *exec.Payment) bool {
	if f.Kinds != nil && !slices.Contains(f.Kinds, p.Kind) {
		return false
	}
	if f.Accounts == nil {
		return true
	}
	_, in := f.Accounts[p.To]
	_, out := f.Accounts[p.From]
	return f.In && in || f.Out && out
}

// PaymentRange is the range and order of a search for payments.
type PaymentRange struct {
	From, To   *types.Height  // inclusive; nil for the oldest stored block and the head
	Descending bool           // newest first
	After      *PaymentCursor // skips payments up to the cursor, in search order
	Work       int            // maximum number of transactions read
}

// PaymentsEnd says how far a search for payments got.
type PaymentsEnd struct {
	Cursor   PaymentCursor // where to continue
	Complete bool          // there are currently no more in the range
}

// Payments calls yield for the stored payments that a filter selects, with their block's header and hash, until yield
// returns false. If it stops with an error, a nonzero [PaymentsEnd.Cursor] says how far it got. The error is
// [ErrPruned] for a range or cursor that begins below the oldest height, [ErrAboveHead] for one that begins more than
// one block above the head, and [ErrReverted] for a cursor of a reverted block.
func (s *Store) Payments(
	ctx context.Context, f PaymentFilter, in PaymentRange, yield func(*Payment, *types.Header, types.BlockHash) bool,
) (PaymentsEnd, error) {
	return read(s, func(v *view) (PaymentsEnd, error) {
		w := &paymentWalk{filter: f, PaymentRange: in, view: v, yield: yield}
		err := w.begin()
		if err == nil {
			err = w.run(ctx)
		}
		return w.end, errors.Join(err, w.close())
	})
}

// appendPayments appends the payments of the transaction at a position.
func appendPayments(payments []Payment, tx *types.Tx, receipt *types.Receipt, p Position) []Payment {
	var few [2]exec.Payment // most transactions have one
	for _, payment := range exec.AppendPayments(few[:0], &tx.Signed().Transaction, receipt) {
		payments = append(payments, Payment{payment, p, tx.ID()})
	}
	return payments
}

// BlockPayments returns all payments of a block, and its header, with the errors of [Store.Block].
func (s *Store) BlockPayments(h types.Height) (header types.Header, payments []Payment, err error) {
	payments, err = ofBlock(s, h, func(r kv.Reader) ([]Payment, error) {
		signed, err := readHeader(r, h)
		if err != nil {
			return nil, err
		}
		header = signed.Header
		txs, err := readTransactions(r, h)
		if err != nil {
			return nil, err
		}
		receipts, err := readReceipts(r, h)
		if err == nil && len(receipts) != len(txs) {
			err = fmt.Errorf("%w: block %d has %d transactions and %d receipts", ErrCorrupt, h, len(txs), len(receipts))
		}
		if err != nil {
			return nil, err
		}
		payments := make([]Payment, 0, len(txs))
		for i := range txs {
			payments = appendPayments(payments, txs[i], &receipts[i], Position{h, uint32(i)})
		}
		return payments, nil
	})
	return header, payments, err
}
