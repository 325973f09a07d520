package rpc

import (
	"errors"
	"fmt"
	"maps"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/cluster"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// translations maps the engine's errors to those for clients. Any other error that is no *jsonrpc.Error becomes an
// internal error with an incident id.
var translations = []struct {
	from error
	to   *jsonrpc.Error
}{
	{mempool.ErrMalformed, api.ErrUndecodable},
	{exec.ErrBadSignature, api.ErrBadSignature},
	{exec.ErrWrongPolicy, api.ErrWrongPolicy},
	{exec.ErrWrongChain, api.ErrWrongChain},
	{exec.ErrNonceTooLow, api.ErrNonceTooLow},
	{exec.ErrNonceTooHigh, api.ErrNonceTooHigh},
	{exec.ErrNonceExhausted, api.ErrNonceTooHigh},
	{exec.ErrCannotPay, api.ErrCannotPay},
	{exec.ErrPayerCannotPay, api.ErrPayerCannotPay},
	{exec.ErrFeeTooLow, api.ErrFeeTooLow},
	{mempool.ErrReplacementUnderpriced, api.ErrReplacementUnderpriced},
	{mempool.ErrKnown, api.ErrAlreadyKnown},
	{mempool.ErrFull, api.ErrMempoolFull},
	{mempool.ErrJournal, api.ErrNotWritten},
	{exec.ErrIntrinsicGas, api.ErrIntrinsicGas},
	{exec.ErrGasOverBlock, api.ErrGasOverBlock},
	{exec.ErrPriorityOverMax, api.ErrPriorityOverMax},
	{exec.ErrExpired, api.ErrExpired},
	{exec.ErrBadPolicy, api.ErrBadPolicy},
	{exec.ErrBadPayer, api.ErrBadPayer},
	{exec.ErrBadValidUntil, api.ErrBadValidUntil},
	{exec.ErrNotZero, api.ErrNotZero},
	{exec.ErrOverflow, api.ErrOverflow},
	{exec.ErrNotAdmin, api.ErrNotAdmin},
	{exec.ErrTextTooLong, api.ErrTextTooLong},
	{exec.ErrBadParameters, api.ErrBadParameters},
	{exec.ErrFieldTooLong, api.ErrFieldTooLong},
	{exec.ErrCodeTooLong, api.ErrCodeTooLong},
	{quarantine.ErrQuarantined, api.ErrQuarantined},
	{chain.ErrNoState, api.ErrNoState},
	{chain.ErrReverted, api.ErrTakenBack},
	{replica.ErrBusy, api.ErrBusy},
	{replica.ErrReadOnly, api.ErrReadOnly},
	{replica.ErrNoPrimary, api.ErrNoPrimary},
	{cluster.ErrBusy, api.ErrBusy},
	{cluster.ErrHolds, api.ErrReadOnly},
	{cluster.ErrNoLeader, api.ErrNoPrimary},
	{cluster.ErrEnded, api.ErrNoPrimary},
	{sequencer.ErrUnknownSnapshot, api.ErrNoSnapshot},
}

// clientErrors translates the engine's errors for clients.
type clientErrors struct{ chain headers }

// public translates an error of the engine. It returns other errors unchanged.
func (c *clientErrors) public(err error) error {
	if err == nil || errors.As(err, new(*jsonrpc.Error)) {
		return err
	}
	if full, ok := errors.AsType[*mempool.FullError](err); ok {
		seconds := (full.RetryAfter.Milliseconds() + 999) / 1000
		return withData(api.ErrMempoolFull, "retryAfterSeconds", seconds, "class", full.Class)
	}
	if pay, ok := errors.AsType[*mempool.PayError](err); ok {
		return cannotPay(pay)
	}
	if ahead, ok := errors.AsType[*mempool.AheadError](err); ok {
		refused := api.ErrNonceTooHigh
		if ahead.Held {
			refused = api.ErrHeld
		}
		return withData(refused, "limit", ahead.Limit)
	}
	if authority, ok := errors.AsType[*exec.AuthorityError](err); ok {
		return withData(api.ErrWrongPolicy, "account", authority.Account, "authority", authority.Authority)
	}
	if size, ok := errors.AsType[*exec.SizeError](err); ok {
		return tooLong(size)
	}
	if waits, ok := errors.AsType[*quarantine.WaitError](err); ok {
		return withData(api.ErrOverran, "retryAfterSeconds", (waits.Left.Milliseconds()+999)/1000)
	}
	if tooFar, ok := errors.AsType[*chain.UndoError](err); ok {
		return withData(api.ErrProofWindow, "oldestHeight", tooFar.Oldest)
	}
	if errors.Is(err, chain.ErrPruned) {
		return withData(api.ErrPruned, "oldestHeight", c.chain.OldestHeight())
	}
	for _, t := range translations {
		if !errors.Is(err, t.from) {
			continue
		}
		if elsewhere, ok := errors.AsType[*replica.ElsewhereError](err); ok {
			return withData(t.to, "primary", elsewhere.Primary)
		}
		return t.to
	}
	if errors.As(err, new(*vm.Fault)) { // the log has it already
		return api.ErrEngineFailed
	}
	return err
}

// cannotPay returns an [api.ErrCannotPay] or [api.ErrPayerCannotPay] with the amounts behind the decision.
func cannotPay(e *mempool.PayError) error {
	who, refusal := "sender", api.ErrCannotPay
	if e.Payer {
		who, refusal = "payer", api.ErrPayerCannotPay
	}
	refused := withData(refusal, "balance", api.Quantity(e.Balance), "reserved", api.Quantity(e.Reserved),
		"pending", e.Pending, "needed", api.Quantity(e.Needed))
	if e.Pending > 0 {
		refused.Message = fmt.Sprintf("the transaction may cost %d units, and of the %s's %d units, %d are reserved "+
			"by %s",
			e.Needed, who, e.Balance, e.Reserved, api.PendingText(e.Pending))
	}
	return refused
}

// tooLong returns an [api.ErrFieldTooLong] or [api.ErrCodeTooLong] that names the field and its limit.
func tooLong(e *exec.SizeError) error {
	refused := api.ErrFieldTooLong
	if errors.Is(e, exec.ErrCodeTooLong) {
		refused = api.ErrCodeTooLong
	}
	named := withData(refused, "member", e.Field, "limit", e.Limit)
	named.Message = fmt.Sprintf("%s has %d bytes: at most %d", e.Field, e.Size, e.Limit)
	return named
}

// withData returns a copy of e with more members in its data, given as pairs of a name and a value.
func withData(e *jsonrpc.Error, data ...any) *jsonrpc.Error {
	more := jsonrpc.NewError(e.Code, e.Message, data...)
	maps.Copy(more.Data, e.Data)
	return more
}

// outOfRange returns the error for a number outside minimum and maximum.
func outOfRange(param string, minimum, maximum uint64) error {
	e := withData(api.ErrOutOfRange, "param", param, "min", minimum, "max", maximum)
	e.Message = fmt.Sprintf("%s must be %d to %d", param, minimum, maximum)
	return e
}

// memberLimit is like limit, for the member "limit" of a parameter.
func memberLimit(param string, given *uint64, byDefault, maximum uint64) (int, error) {
	count, err := limit("limit", given, byDefault, maximum)
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		refused.Data["param"], refused.Data["member"] = param, "limit"
	}
	return count, err
}

// limit returns the value of an optional limit, which must be from 1 to maximum.
func limit(param string, given *uint64, byDefault, maximum uint64) (int, error) {
	if given == nil {
		return int(byDefault), nil
	}
	if *given < 1 || *given > maximum {
		return 0, outOfRange(param, 1, maximum)
	}
	return int(*given), nil
}
