package exec

import (
	"errors"
	"fmt"
)

// Reasons why a transaction is not valid for inclusion. A block that contains such a transaction is invalid. Every
// error that [CheckStatic], [CheckAt] and [Derivation.Apply] return for a transaction wraps one of these; any other
// error is a fault of the node, not of the transaction.
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

// SizeError is an [ErrFieldTooLong] or [ErrCodeTooLong] that names the field.
type SizeError struct {
	Err         error
	Field       string // name, code, init_args, function or args
	Size, Limit int    // in bytes
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%v: %s has %d bytes, at most %d", e.Err, e.Field, e.Size, e.Limit)
}

// Unwrap returns [ErrFieldTooLong] or [ErrCodeTooLong].
func (e *SizeError) Unwrap() error { return e.Err }

// Reasons why a block or a genesis is not valid, besides invalid transactions.
var (
	ErrTimestamp      = errors.New("timestamp is before the parent's")
	ErrUnknownVersion = errors.New("this node does not know the active protocol version")
	ErrHeader         = errors.New("header differs from what execution derives")
	ErrGenesis        = errors.New("genesis is not valid")
)

// ErrSupply is returned for a block that changes the sum of the balances and the burned amount.
var ErrSupply = errors.New("supply is not conserved")

// Reason is the reason why an included transaction failed. It is not part of consensus.
type Reason string

// Reasons of failure. Success is the empty reason.
const (
	Success        Reason = ""
	OutOfGas       Reason = "out_of_gas"
	Trap           Reason = "trap"
	StackOverflow  Reason = "stack_overflow"
	Reverted       Reason = "reverted"
	ModuleRefused  Reason = "module_refused"
	NoSuchContract Reason = "no_such_contract"
	NoSuchFunction Reason = "no_such_function"
	// InsufficientBalance occurs only in simulations: the sender of an included transaction can pay its value.
	InsufficientBalance Reason = "insufficient_balance"
	// ViewWroteState is a trap because a call in view context tried to change the state. It occurs in simulations, and
	// for nested calls in traces.
	ViewWroteState Reason = "view_wrote_state"
)
