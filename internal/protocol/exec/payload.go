package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
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
	// Detail says more about why a module was refused.
	Detail string
	// Cause says more about a trap.
	Cause vm.Cause

	loaded loads // the codes that it loaded
}

// Loaded are the hashes of the codes that it loaded, in that order.
func (o Outcome) Loaded() []types.CodeHash {
	hashes := make([]types.CodeHash, len(o.loaded.codes))
	for i, c := range o.loaded.codes {
		hashes[i] = c.hash
	}
	return hashes
}

func (o Outcome) receipt(id types.TxID) types.Receipt {
	receipt := types.Receipt{
		Transaction: id,
		Status:      types.StatusSuccess,
		GasUsed:     o.GasUsed,
		Contract:    o.Contract,
		Output:      o.Output,
		Logs:        o.Logs,
	}
	if o.Reason != Success {
		receipt.Status = types.StatusFailed
	}
	return receipt
}

// consumesAll reports whether a failure takes the whole gas limit; others take what was consumed up to that point.
func (r Reason) consumesAll() bool {
	return r == OutOfGas || r == Trap || r == StackOverflow || r == ViewWroteState
}

// runPayload runs a payload after its intrinsic gas and undoes its effects when it fails. An error is a fault.
func (d *Derivation) runPayload(tx *types.Transaction) (Outcome, error) {
	x := &execution{derivation: d, sender: tx.Sender}
	start := x.checkpoint()
	intrinsic := fees.IntrinsicGas(tx.Payload)
	d.tell(Intrinsic, uint64(intrinsic))
	gas := &vm.Gas{Left: uint64(tx.GasLimit - intrinsic)}
	var outcome Outcome
	var err error
	switch p := tx.Payload.(type) {
	case types.Transfer:
		outcome.Reason, err = d.endow(gas, tx.Sender, p.To, p.Amount)
	case types.Configure:
		err = d.state.Set(state.ParametersKey(), p.Parameters.Encode())
	case types.Deploy:
		outcome, err = x.deploy(gas, tx, p)
	case types.Call:
		outcome, err = x.call(gas, tx.Sender, p)
	default:
		err = fmt.Errorf("unknown payload %T", tx.Payload)
	}
	if err != nil {
		return Outcome{}, err
	}
	d.tell(Forfeited, gas.Forfeited) // before a call; what a call forfeits is its own part
	outcome.GasUsed, outcome.loaded = tx.GasLimit-types.Gas(gas.Left), x.loaded
	if outcome.Reason == Success {
		outcome.Logs = x.logs
		return outcome, nil
	}
	x.rollback(start)
	outcome.Contract = nil
	if outcome.Reason.consumesAll() {
		outcome.GasUsed = tx.GasLimit
	}
	return outcome, nil
}

// endow moves value to an account, to the sender itself nothing, and takes the gas of making the account where there is
// none.
func (d *Derivation) endow(gas *vm.Gas, from, to types.Account, value types.Amount) (Reason, error) {
	if value == 0 {
		return Success, nil
	}
	entry, err := d.state.Get(state.AccountKey(to))
	if err != nil {
		return Success, err
	}
	if len(entry) == 0 && !d.take(gas, NewAccount, uint64(schedule.NewAccount)) {
		return OutOfGas, nil
	}
	if err := d.debit(from, value); err != nil {
		return Success, err
	}
	return Success, d.credit(to, value)
}
