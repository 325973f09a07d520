package exec

import (
	"errors"
	"fmt"
)

// Why a transaction is not valid for inclusion. A block that holds one is invalid. Every error that [CheckStatic],
// [CheckAt] and [Derivation.Apply] give for a transaction wraps one of these; any other error of theirs is a fault of
// the node, not of the transaction.
var (
	ErrBadVersion       = errors.New("unknown transaction version")
	ErrWrongChain       = errors.New("transaction is for another chain")
	ErrFieldTooLong     = errors.New("a field is over its size limit")
	ErrCodeTooLong      = errors.New("code is over its size limit")
	ErrIntrinsicGas     = errors.New("gas limit is under the intrinsic gas")
	ErrGasOverBlock     = errors.New("gas limit is over the block's")
	ErrPriorityOverMax  = errors.New("max priority fee is over max fee")
	ErrFeeTooLow        = errors.New("max fee is under the base fee")
	ErrNotProducer      = errors.New("only the producer may change the parameters")
	ErrBadParameters    = errors.New("the new parameters are not valid")
	ErrNonceExhausted   = errors.New("the account's last nonce is not usable")
	ErrNonceTooLow      = errors.New("nonce was used already")
	ErrNonceTooHigh     = errors.New("an earlier nonce is missing")
	ErrSenderIsContract = errors.New("the sender is a contract")
	ErrCannotPay        = errors.New("balance is under value + gas limit × max fee")
	ErrBlockFull        = errors.New("the block has no room left for it")
	ErrLoadFull         = errors.New("the block has no room left for the codes that it loads")
)

var invalid = []error{
	ErrBadVersion, ErrWrongChain, ErrFieldTooLong, ErrCodeTooLong, ErrIntrinsicGas, ErrGasOverBlock, ErrPriorityOverMax,
	ErrFeeTooLow, ErrNotProducer, ErrBadParameters, ErrNonceExhausted, ErrNonceTooLow, ErrNonceTooHigh,
	ErrSenderIsContract, ErrCannotPay, ErrBlockFull, ErrLoadFull,
}

// IsInvalid reports whether err says that a transaction is not valid for inclusion.
func IsInvalid(err error) bool {
	for _, e := range invalid {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// SizeError is an [ErrFieldTooLong] or [ErrCodeTooLong] with the field.
type SizeError struct {
	Err         error
	Field       string // name, code, init_args, function or args
	Size, Limit int    // in bytes
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%v: %s has %d bytes, at most %d", e.Err, e.Field, e.Size, e.Limit)
}

// Unwrap is which of both it is.
func (e *SizeError) Unwrap() error { return e.Err }

// Why a block or a genesis is not valid, beyond its transactions.
var (
	ErrTimestamp      = errors.New("timestamp is before the parent's")
	ErrUnknownVersion = errors.New("this node does not know the active protocol version")
	ErrHeader         = errors.New("header differs from what execution derives")
	ErrGenesis        = errors.New("genesis is not valid")
)

// ErrSupply is the fault of a block whose balances and burned amount do not add up to the supply before it.
var ErrSupply = errors.New("supply is not conserved")

// Reason says why an included transaction failed. It is not part of consensus.
type Reason string

// The reasons of failure. The empty reason is success.
const (
	Success        Reason = ""
	OutOfGas       Reason = "out_of_gas"
	Trap           Reason = "trap"
	StackOverflow  Reason = "stack_overflow"
	Reverted       Reason = "reverted"
	ModuleRefused  Reason = "module_refused"
	NoSuchContract Reason = "no_such_contract"
	NoSuchFunction Reason = "no_such_function"
	// InsufficientBalance is a simulation's: an included transaction can pay its value.
	InsufficientBalance Reason = "insufficient_balance"
	// ViewWroteState is the trap of a call in view context that would change the state: of a simulation, or of a nested
	// call in a trace.
	ViewWroteState Reason = "view_wrote_state"
)
