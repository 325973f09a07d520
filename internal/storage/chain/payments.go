package chain

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Payments are no table: the rows of accounts name the transactions that concern each, and exec.Payments says what
// those pay.

// Payment is a payment of an included transaction.
type Payment struct {
	exec.Payment
	Position               // of its transaction
	Transaction types.TxID // that made it
}

// PaymentCursor is a place among the payments: that of one, or that before or after all of a transaction or block. It
// knows its block, so that it is of no other chain.
type PaymentCursor struct {
	Position
	Place uint32
	Block [4]byte // the beginning of the block's hash
}

// Ends of a block, and of a transaction, as indices and places.
const (
	firstPlace = 0
	lastPlace  = math.MaxUint32
)

// EndOfBlock is the cursor after all payments of a block.
func EndOfBlock(h types.Height, hash types.BlockHash) PaymentCursor {
	return PaymentCursor{Position{h, lastPlace}, lastPlace, [4]byte(hash[:4])}
}

// Cursor is that of the payment, whose block has the hash.
func (p *Payment) Cursor(hash types.BlockHash) PaymentCursor {
	return PaymentCursor{p.Position, p.Place, [4]byte(hash[:4])}
}

// Compare orders cursors as payments are in the chain: −1, 0 or 1.
func (c PaymentCursor) Compare(other PaymentCursor) int {
	return cmp.Or(c.Position.Compare(other.Position), cmp.Compare(c.Place, other.Place))
}

// Next is the first height of which there may be payments after the cursor.
func (c PaymentCursor) Next() types.Height {
	if c.Index == lastPlace {
		return c.Height + 1
	}
	return c.Height
}

// IsOf reports whether the cursor is of the block with the hash.
func (c PaymentCursor) IsOf(hash types.BlockHash) bool { return c.Block == [4]byte(hash[:4]) }

// PaymentFilter says which payments are asked.
type PaymentFilter struct {
	// Accounts are whose payments are asked; nil is everyone's. In are those that they get, Out those that they make.
	Accounts map[types.Account]struct{}
	In, Out  bool
	Kinds    []exec.PaymentKind // nil: all
}

// Matches reports whether a payment is asked.
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

// PaymentRange says where payments are looked for, and in which order.
type PaymentRange struct {
	From, To   *types.Height  // both included; nil: the oldest that is kept, the head
	Descending bool           // newest first
	After      *PaymentCursor // leaves out what comes up to it in that order
	Work       int            // at most so many transactions are read
}

// PaymentsEnd says how far a list of payments came.
type PaymentsEnd struct {
	Cursor   PaymentCursor // where what comes next begins
	Complete bool          // there is nothing more in the range at present
}

// Payments calls yield for the kept payments that a filter asks for, with the header of their block and its hash, until
// it returns false. When an error stops it, [PaymentsEnd.Cursor] says how far it came, unless it is zero. It returns
// [ErrPruned] for a range or cursor that begins below the oldest height. [ErrAboveHead] is for one that begins more
// than a block above the head, and [ErrReverted] for a cursor of a block that was taken back.
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

func paymentsOf(tx *types.Transaction, receipt *types.Receipt, p Position) []Payment {
	found := exec.Payments(tx, receipt)
	payments := make([]Payment, len(found))
	for i := range found {
		payments[i] = Payment{found[i], p, receipt.Transaction}
	}
	return payments
}

// BlockPayments are all payments of a block, and its header, with [Store.Block]'s errors.
func (s *Store) BlockPayments(h types.Height) (header types.Header, payments []Payment, err error) {
	payments, err = ofBlock(s, h, func(r kv.Reader) ([]Payment, error) {
		signed, err := readHeader(r, h)
		if err != nil {
			return nil, err
		}
		header = signed.Header
		b, err := readIndexed(r, h)
		if err != nil {
			return nil, err
		}
		for i, tx := range b.txs {
			payments = append(payments, paymentsOf(&tx.Signed().Transaction, &b.receipts[i], Position{h, uint32(i)})...)
		}
		return payments, nil
	})
	return header, payments, err
}
