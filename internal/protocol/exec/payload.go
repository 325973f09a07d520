package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Outcome is how the execution of a transaction ended.
type Outcome struct {
	Reason  Reason // Success, or why it failed
	GasUsed types.Gas
	Output  []byte
	Logs    []types.Log
	// Contract is the ID that a successful deploy created.
	Contract *types.ContractID
}

func (o Outcome) receipt(id types.TxID) types.Receipt {
	receipt := types.Receipt{
		Transaction: id, Status: types.StatusSuccess, GasUsed: o.GasUsed, Contract: o.Contract, Output: o.Output, Logs: o.Logs,
	}
	if o.Reason != Success {
		receipt.Status = types.StatusFailed
	}
	return receipt
}

// consumesAll reports whether a failure takes the whole gas limit; others take what was consumed up to that point.
func (r Reason) consumesAll() bool { return r == OutOfGas }

// meter is the gas that a transaction has left.
type meter struct{ left types.Gas }

// take consumes gas, and reports false and leaves nothing where there is less.
func (m *meter) take(g types.Gas) bool {
	if g > m.left {
		m.left = 0
		return false
	}
	m.left -= g
	return true
}

// runPayload runs a payload after its intrinsic gas and undoes its effects when it fails. An error is a fault.
func (r *Run) runPayload(tx *types.Transaction) (Outcome, error) {
	checkpoint := r.state.Checkpoint()
	gas := &meter{left: tx.GasLimit - fees.IntrinsicGas(tx.Payload)}
	var outcome Outcome
	var err error
	switch p := tx.Payload.(type) {
	case types.Transfer:
		outcome.Reason, err = r.transfer(gas, tx.Sender, p)
	case types.Configure:
		err = r.state.Set(state.ParametersKey(), p.Parameters.Encode())
	default:
		outcome.Reason = NotActive
	}
	if err != nil {
		return Outcome{}, err
	}
	outcome.GasUsed = tx.GasLimit - gas.left
	if outcome.Reason == Success {
		return outcome, nil
	}
	r.state.Rollback(checkpoint)
	if outcome.Reason.consumesAll() {
		outcome.GasUsed = tx.GasLimit
	}
	return outcome, nil
}

// transfer moves value to any account; to the sender itself it moves nothing.
func (r *Run) transfer(gas *meter, sender types.Account, p types.Transfer) (Reason, error) {
	if p.Amount == 0 {
		return Success, nil
	}
	ok, err := r.chargeNewAccount(gas, p.To)
	if err != nil {
		return Success, err
	}
	if !ok {
		return OutOfGas, nil
	}
	if err := r.debit(sender, p.Amount); err != nil {
		return Success, err
	}
	return Success, r.credit(p.To, p.Amount)
}

// chargeNewAccount takes the price of an account's first entry if a credit is about to make one.
func (r *Run) chargeNewAccount(gas *meter, to types.Account) (enough bool, err error) {
	entry, err := r.state.Get(state.AccountKey(to))
	if err != nil || len(entry) > 0 {
		return err == nil, err
	}
	return gas.take(params.Schedule1.NewAccount), nil
}
