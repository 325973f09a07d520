package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// What the sender itself refuses a job with, or gives it up for.
var (
	// ErrConflict: a job of this ID was sent with another payload.
	ErrConflict = errors.New("the id was sent with something else")
	// ErrBadID: an ID that begins with "cairn:", or is too long.
	ErrBadID = errors.New("an id has at most 256 bytes of UTF-8 and begins with something else than \"cairn:\"")
	// ErrClosed: the sender is closed. What was open stays in the journal, for the next sender.
	ErrClosed = errors.New("the sender is closed")
	// ErrDisplaced: another program's transaction used the job's nonce, and [Options].RejectDisplaced says to be told.
	ErrDisplaced = errors.New("another transaction of the account used the job's nonce")
	// ErrCancelled: [Sent.Cancel] took the job back, and its ID is free again.
	ErrCancelled = errors.New("the job is cancelled")
	// ErrTooLate: the job to cancel is in a block; the error is a [*TooLate].
	ErrTooLate = errors.New("the job is in a block")
	// ErrInsufficientForFee: a sweep has no more than its fee; the error is an [*InsufficientForFee].
	ErrInsufficientForFee = errors.New("the balance does not pay the fee")
)

// InsufficientForFee is what a sweep fails with that has no more than its fee, both in smallest units.
type InsufficientForFee struct {
	Balance, Needed types.Amount
}

// Error says the amounts.
func (e *InsufficientForFee) Error() string {
	return fmt.Sprintf("the balance of %d units does not pay the fee of %d", e.Balance, e.Needed)
}

// Is makes it an [ErrInsufficientForFee].
func (e *InsufficientForFee) Is(target error) bool { return target == ErrInsufficientForFee }

// TooLate is what a job is not cancelled with that is in a block.
type TooLate struct {
	Receipt api.Receipt
}

// Error names the transaction.
func (e *TooLate) Error() string {
	return fmt.Sprintf("%s is in block %d", e.Receipt.TransactionHash, e.Receipt.BlockHeight)
}

// Is makes it an [ErrTooLate].
func (e *TooLate) Is(target error) bool { return target == ErrTooLate }

// Options change how a [Sender] works. The zero value is good.
type Options struct {
	// Journal remembers jobs; nil keeps them within the process, and then IDs are good until it ends.
	Journal Journal
	// Poll is how often to look for inclusion while something is open; 0: every 500 ms.
	Poll time.Duration
	// MaxFee is the most that any transaction may pay per gas, replacements included, in smallest units. With 0 there is
	// no bound except that a job is replaced at most 31 times, each time by a tenth more or what the node suggests. What
	// cancels a job may pay a tenth more than the job did, else the job could not be cancelled that is stuck at MaxFee.
	MaxFee types.Amount
	// RejectDisplaced gives a job up with [ErrDisplaced] whose nonce another program used; else it is sent at a new
	// one.
	RejectDisplaced bool
	// OnFiller is told of each transfer of nothing to oneself that fills a nonce which would stop others. The
	// functions are called by the sender's only goroutine, one at a time: they must not wait.
	OnFiller func(types.TxID)
	// OnUndecided is told once of a job whose nonce is used, without a receipt or a proof that something else used it:
	// it waits until the node knows.
	OnUndecided func(id string)
	// OnConnection is told the error when the node does not answer any more, and nil when it does again.
	OnConnection func(error)
	// Clock is the time; nil: the real one.
	Clock Clock
}

// Job says how to send one payload.
type Job struct {
	// ID is the caller's name of the job, such as the number of a withdrawal: the same job is never done twice. It has
	// at most 256 bytes and does not begin with "cairn:". Empty: the job has no name, and is done each time.
	ID string
	// GasLimit is the most gas to use; 0: as the node estimates.
	GasLimit types.Gas
	// GasMargin is added to what the node estimates, for a call that may do more by the time it is in a block: what is not
	// used is given back.
	GasMargin types.Gas
	// MaxFee is the most that it may pay per gas, replacements included, in smallest units; 0: [Options].MaxFee.
	MaxFee types.Amount
	// AnyRecipient lets a transfer go to an account that nobody can have and that is no contract; else such a job fails
	// with [client.ErrNobody].
	AnyRecipient bool
}

// Clock is the time of a sender; tests have their own.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or once something can be received from woken. A negative d is for ever.
	Sleep(d time.Duration, woken <-chan struct{})
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(d time.Duration, woken <-chan struct{}) {
	if d < 0 {
		<-woken
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	}
}
