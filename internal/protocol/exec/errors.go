package exec

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Reasons why a transaction is not valid for inclusion. A block that contains such a transaction is invalid. Every
// error that [CheckStatic], [CheckAt] and [BlockExecutor.Apply] return for a transaction wraps one of these; any other
// error is a fault of the node, not of the transaction.
var (
	ErrWrongChain      = errors.New("the transaction is for another chain")                                       // rule 2
	ErrNonceExhausted  = errors.New("the highest nonce, 2^64 − 1, cannot be used")                                // 3
	ErrFieldTooLong    = errors.New("a field exceeds its size limit")                                             // 4
	ErrCodeTooLong     = errors.New("the code exceeds its size limit")                                            // 4
	ErrNotZero         = errors.New("the target or the value must be zero")                                       // 5
	ErrOverflow        = errors.New("an amount exceeds 2^64 − 1")                                                 // 6
	ErrPriorityOverMax = errors.New("the max priority fee exceeds the max fee")                                   // 7
	ErrBadPayer        = errors.New("the witnesses do not match the payer")                                       // 8, 10
	ErrBadValidUntil   = errors.New("valid_until is after the year 9999")                                         // 8
	ErrBadPolicy       = errors.New("the policy is not valid")                                                    // 9, 10
	ErrFeeTooLow       = errors.New("the max fee is below the base fee")                                          // 11
	ErrExpired         = errors.New("the transaction has expired")                                                // 12
	ErrNotAdmin        = errors.New("only the admin may change the parameters")                                   // 13
	ErrBadParameters   = errors.New("the new parameters are not a valid change")                                  // 13
	ErrNonceTooLow     = errors.New("the nonce was already used")                                                 // 14
	ErrNonceTooHigh    = errors.New("an earlier nonce is missing")                                                // 14
	ErrIntrinsicGas    = errors.New("the gas limit is below the intrinsic gas")                                   // 15
	ErrGasOverBlock    = errors.New("the gas limit exceeds the block's")                                          // 15
	ErrCannotPay       = errors.New("the sender's balance is too low")                                            // 16
	ErrPayerCannotPay  = errors.New("the payer's balance is below the maximum fee")                               // 16
	ErrWrongPolicy     = errors.New("a witness claims an authority that is not in force")                         // 17
	ErrTextTooLong     = errors.New("the text is too long to be signed")                                          // 18
	ErrBadSignature    = errors.New("a witness is invalid")                                                       // 18
	ErrBlockFull       = errors.New("the transaction does not fit into the rest of the block")                    // 15, 19
	ErrLoadFull        = errors.New("the codes that the transaction loads do not fit into the rest of the block") // 20
)

var invalid = []error{
	ErrWrongChain, ErrNonceExhausted, ErrFieldTooLong, ErrCodeTooLong, ErrNotZero, ErrOverflow, ErrPriorityOverMax,
	ErrBadPayer, ErrBadValidUntil, ErrBadPolicy, ErrFeeTooLow, ErrExpired, ErrNotAdmin, ErrBadParameters, ErrNonceTooLow,
	ErrNonceTooHigh, ErrIntrinsicGas, ErrGasOverBlock, ErrCannotPay, ErrPayerCannotPay, ErrWrongPolicy, ErrTextTooLong,
	ErrBadSignature, ErrBlockFull, ErrLoadFull,
}

// IsInvalid reports whether err says that a transaction is not valid for inclusion.
func IsInvalid(err error) bool {
	return slices.ContainsFunc(invalid, func(e error) bool { return errors.Is(err, e) })
}

// SizeError is an [ErrFieldTooLong] or [ErrCodeTooLong] that names the field.
type SizeError struct {
	Err         error
	Field       string // name, code, init_args, function, args, witness or payer_witness
	Size, Limit int    // in bytes
}

// Error implements error.
func (e *SizeError) Error() string {
	return fmt.Sprintf("%v: %s has %d bytes, at most %d", e.Err, e.Field, e.Size, e.Limit)
}

// Unwrap returns [ErrFieldTooLong] or [ErrCodeTooLong].
func (e *SizeError) Unwrap() error { return e.Err }

// AuthorityError is an [ErrWrongPolicy] that names the authority in force.
type AuthorityError struct {
	Account   types.Account // the sender or the payer
	Authority types.Account
}

// Error implements error.
func (e *AuthorityError) Error() string {
	return fmt.Sprintf("%v: for account %s it is %s", ErrWrongPolicy, e.Account, e.Authority)
}

// Unwrap returns [ErrWrongPolicy].
func (*AuthorityError) Unwrap() error { return ErrWrongPolicy }

// Reasons why a block or a genesis is not valid, besides invalid transactions.
var (
	ErrTimestamp      = errors.New("timestamp is before the parent's or after the year 9999")
	ErrUnknownVersion = errors.New("this node does not know the active protocol version")
	ErrHeader         = errors.New("header differs from the result of execution")
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
	// LoadExceeded occurs only in a batch, whose earlier steps have loaded other codes.
	LoadExceeded Reason = "load_exceeded"
	// InsufficientBalance occurs only in simulations: the sender of an included transaction can pay its value.
	InsufficientBalance Reason = "insufficient_balance"
	// ViewWroteState is a trap because a call in view context tried to change the state. It occurs in simulations, and
	// for nested calls in traces.
	ViewWroteState Reason = "view_wrote_state"
)
