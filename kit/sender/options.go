package sender

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Errors with which the sender itself refuses or abandons a job.
var (
	// ErrConflict is returned for an ID that was sent with another payload.
	ErrConflict = errors.New("the id was sent with something else")
	// ErrBadID is returned for an ID that begins with "cairn:", is too long or is not UTF-8.
	ErrBadID = errors.New("an id must have at most 256 bytes of UTF-8, and must not begin with \"cairn:\"")
	// ErrClosed is returned once the sender is closed. Open jobs stay in the journal for the next sender.
	ErrClosed = errors.New("the sender is closed")
	// ErrDisplaced is returned under [Options].RejectDisplaced if another program's transaction used the job's nonce.
	ErrDisplaced = errors.New("another transaction of the account used the job's nonce")
	// ErrCancelled is returned for a job cancelled by [Sent.Cancel], whose ID is free again.
	ErrCancelled = errors.New("the job is cancelled")
	// ErrTooLate is returned when cancelling a job that is in a block. The error is a [*TooLate].
	ErrTooLate = errors.New("the job is in a block")
	// ErrInsufficientForFee is returned for a sweep of a balance that does not exceed the fee. The error is an
	// [*InsufficientForFee].
	ErrInsufficientForFee = errors.New("the balance does not pay the fee")
)

// InsufficientForFee is the error for a sweep of a balance that does not exceed the fee. Amounts are in smallest units.
type InsufficientForFee struct {
	Balance, Needed types.Amount
}

// Error implements error.
func (e *InsufficientForFee) Error() string {
	return fmt.Sprintf("the balance of %d units does not pay the fee of %d", e.Balance, e.Needed)
}

// Is reports whether target is [ErrInsufficientForFee].
func (e *InsufficientForFee) Is(target error) bool { return target == ErrInsufficientForFee }

// TooLate is the error for cancelling a job that is in a block.
type TooLate struct {
	Receipt api.Receipt
}

// Error implements error.
func (e *TooLate) Error() string {
	return fmt.Sprintf("%s is in block %d", e.Receipt.TransactionHash, e.Receipt.BlockHeight)
}

// Is reports whether target is [ErrTooLate].
func (e *TooLate) Is(target error) bool { return target == ErrTooLate }

// Options configures a [Sender]. The zero value is valid.
type Options struct {
	// Journal stores the jobs. If nil, jobs and their IDs are kept only in memory.
	Journal Journal
	// Poll is the interval of looking for inclusion while jobs are open; 0 means 500 ms.
	Poll time.Duration
	// MaxFee bounds the fee per gas of every transaction, replacements included, in smallest units. 0 means no bound;
	// even so, a job is replaced at most 31 times, each time with 10 % more or the suggested fee. A cancellation may
	// exceed the job's fee by 10 %, as a job stuck at MaxFee could not be cancelled otherwise.
	MaxFee types.Amount
	// ValidFor is the time for which a transaction is valid from when it is signed first: a job that no block has by then
	// ends with [api.ErrExpired], for certain, and its ID is free again. 0 means without end, or 5 minutes with a Payer.
	ValidFor time.Duration
	// Payer pays the fees of all transactions; nil means the account itself. For a sponsor elsewhere it is a
	// [client.Signer] that asks for the signature. With a payer, ValidFor is at most [client.MaxSponsored].
	Payer client.Signer
	// RejectDisplaced abandons a job with [ErrDisplaced] if another program used its nonce. Otherwise the job is sent
	// again with a new nonce.
	RejectDisplaced bool
	// OnFiller is called for each zero transfer to oneself that fills a nonce gap. The sender calls this and the
	// following functions from a single goroutine: they must not block.
	OnFiller func(types.TxID)
	// OnUndecided is called once for a job whose nonce is used, without a receipt or proof of another transaction
	// there. The job waits until the node knows which transaction used the nonce, or until it has expired and a node with
	// all blocks does not have it.
	OnUndecided func(id string)
	// OnConnection is called with an error when the node stops responding, and with nil when it responds again.
	OnConnection func(error)
	// Clock is the time source; nil means the system clock.
	Clock Clock
}

// Job configures how one payload is sent.
type Job struct {
	// ID is the caller's name of the job, such as a withdrawal number; a job is never done twice. It has at most 256
	// bytes and does not begin with "cairn:". A job with an empty ID is done each time.
	ID string
	// GasLimit is the gas limit; 0 means the node's estimate.
	GasLimit types.Gas
	// GasMargin is added to the node's estimate, for a call that may use more by the time it is included. Unused gas is
	// refunded.
	GasMargin types.Gas
	// MaxFee bounds the fee per gas, replacements included, in smallest units; 0 means [Options].MaxFee.
	MaxFee types.Amount
	// ValidFor overrides the field of [Options]; 0 keeps it.
	ValidFor time.Duration
}

// Clock is a sender's time source. Tests have their own.
type Clock interface {
	Now() time.Time
	// Sleep returns after d, or once woken is readable. A negative d means no time limit.
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
