package mempool

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Why the pool refuses a transaction, besides the errors of package exec.
var (
	// ErrMalformed says that the bytes are not one signed transaction.
	ErrMalformed = errors.New("not an encoded signed transaction")
	// ErrBadSignature says that the signature is not the sender's.
	ErrBadSignature = errors.New("signature is not valid")
	// ErrKnown says that this very transaction is pending.
	ErrKnown = errors.New("transaction is known already")
	// ErrReplacementUnderpriced says that another transaction has this sender and nonce, and that the new one does not
	// raise both of its fees by 10 %.
	ErrReplacementUnderpriced = errors.New("replacement does not raise both fees by 10 %")
	// ErrFull says that the pool has no room for the transaction; the error is a [FullError].
	ErrFull = errors.New("mempool is full")
	// ErrSetAside says that this node does not run the transaction at present; see [Options].Admit.
	ErrSetAside = errors.New("this node sets the transaction aside")
	// ErrJournal says that the transaction could not be made durable, which is the node's fault.
	ErrJournal = errors.New("mempool journal failed")
	// ErrClosed says that the pool was closed.
	ErrClosed = errors.New("mempool is closed")
	// ErrNotNext says that a block given to Reset does not follow the pool's head.
	ErrNotNext = errors.New("block does not follow the mempool's head")
)

// PayError is an [exec.ErrCannotPay] with what it was decided by.
type PayError struct {
	Balance  types.Amount // of the sender after the newest block
	Reserved types.Amount // of that, by earlier transactions
	Pending  uint64       // how many those are
	Needed   types.Amount // what the transaction may take; the highest amount where that is over it
}

// Error implements error.
func (e *PayError) Error() string {
	return fmt.Sprintf("%v: it may cost %d, and of %d %d are reserved by %d pending transactions",
		exec.ErrCannotPay, e.Needed, e.Balance, e.Reserved, e.Pending)
}

// Is makes the error match [exec.ErrCannotPay].
func (e *PayError) Is(target error) bool { return target == exec.ErrCannotPay }

// AheadError is an [exec.ErrNonceTooHigh] of the pool, with the bound that was reached.
type AheadError struct {
	Nonce, Next uint64 // the transaction's, and the one after the sender's run
	Limit       int
	Held        bool // Limit is how many may wait for an earlier nonce; else how far ahead a nonce may be
}

// Error implements error.
func (e *AheadError) Error() string {
	if e.Held {
		return fmt.Sprintf("%v: %d, next is %d, and %d transactions wait for it already",
			exec.ErrNonceTooHigh, e.Nonce, e.Next, e.Limit)
	}
	return fmt.Sprintf("%v: %d, next is %d, and at most %d nonces are taken", exec.ErrNonceTooHigh, e.Nonce, e.Next, e.Limit)
}

// Is makes the error match [exec.ErrNonceTooHigh].
func (e *AheadError) Is(target error) bool { return target == exec.ErrNonceTooHigh }

// FullError is an [ErrFull] with the time after which another try makes sense.
type FullError struct {
	Class      Class // of what there is no room for
	RetryAfter time.Duration
}

// Error implements error.
func (e *FullError) Error() string {
	return fmt.Sprintf("%v: %s; try again in %v", ErrFull, reasons[e.Class], e.RetryAfter)
}

// Is makes the error match [ErrFull].
func (e *FullError) Is(target error) bool { return target == ErrFull }
