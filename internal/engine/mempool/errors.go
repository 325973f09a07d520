package mempool

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Reasons for refusing a transaction, besides the errors of package exec.
var (
	// ErrMalformed is returned for bytes that are not exactly one signed transaction.
	ErrMalformed = errors.New("the bytes do not encode a signed transaction")
	// ErrBadSignature is returned if a witness does not hold.
	ErrBadSignature = exec.ErrBadSignature
	// ErrKnown is returned for a transaction that is already pending, with the same or with other witnesses.
	ErrKnown = errors.New("the transaction is already known")
	// ErrReplacementUnderpriced is returned if another transaction has the same sender and nonce, and the new one does
	// not raise both of its fees by 10 %.
	ErrReplacementUnderpriced = errors.New("the replacement does not raise both fees by 10 %")
	// ErrFull is returned if the pool has no room for the transaction. The error is a [FullError].
	ErrFull = errors.New("mempool is full")
	// ErrSetAside is returned for a transaction that this node does not run at present; see [Options].Admit.
	ErrSetAside = errors.New("this node defers the transaction")
	// ErrJournal is returned if the transaction could not be made durable, which is a fault of the node.
	ErrJournal = errors.New("mempool journal failed")
	// ErrClosed is returned by a closed pool.
	ErrClosed = errors.New("mempool is closed")
	// ErrNotNext is returned by Reset if the blocks do not follow the pool's head.
	ErrNotNext = errors.New("the block does not follow the mempool's head")
)

// PayError is an [exec.ErrCannotPay] or [exec.ErrPayerCannotPay] with its amounts.
type PayError struct {
	Payer    bool         // the payer cannot pay the fee, and the amounts are the payer's
	Balance  types.Amount // balance after the newest block
	Reserved types.Amount // part reserved by other transactions, which the account sends or pays for
	Pending  uint64       // number of those transactions
	Needed   types.Amount // most that the transaction takes from the account; MaxUint64 if it overflows
}

// Error implements error.
func (e *PayError) Error() string {
	return fmt.Sprintf("%v: it may cost %d, and of the balance %d, %d are reserved by %d pending transactions",
		e.Unwrap(), e.Needed, e.Balance, e.Reserved, e.Pending)
}

// Unwrap returns [exec.ErrCannotPay] or [exec.ErrPayerCannotPay].
func (e *PayError) Unwrap() error {
	if e.Payer {
		return exec.ErrPayerCannotPay
	}
	return exec.ErrCannotPay
}

// AheadError is an [exec.ErrNonceTooHigh] with the limit that was exceeded.
type AheadError struct {
	Nonce, Next uint64 // the transaction's nonce, and the nonce after the sender's run
	Limit       int
	Held        bool // Limit bounds the transactions that wait for a nonce; else how far ahead a nonce may be
}

// Error implements error.
func (e *AheadError) Error() string {
	if e.Held {
		return fmt.Sprintf("%v: nonce gap: it is %d, the next is %d, and %d transactions are already queued behind "+
			"the gap",
			exec.ErrNonceTooHigh, e.Nonce, e.Next, e.Limit)
	}
	return fmt.Sprintf("%v: it is %d, the next is %d, and at most %d nonces ahead are accepted", exec.ErrNonceTooHigh, e.Nonce, e.Next, e.Limit)
}

// Is makes the error match [exec.ErrNonceTooHigh].
func (e *AheadError) Is(target error) bool { return target == exec.ErrNonceTooHigh }

// FullError is an [ErrFull] with the time after which a retry makes sense.
type FullError struct {
	Class      Class // class without room
	RetryAfter time.Duration
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("%v: %s; try again in %v", ErrFull, reasons[e.Class], e.RetryAfter)
}

// Is makes the error match [ErrFull].
func (e *FullError) Is(target error) bool { return target == ErrFull }
