package exec

import (
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Outcome is the result of executing a transaction.
type Outcome struct {
	Reason  Reason // Success or the reason of failure
	GasUsed types.Gas
	Output  []byte
	Logs    []types.Log
	// Contract is the ID of the contract that a successful deploy created.
	Contract *types.ContractID
	// Detail explains why a module was refused.
	Detail string
	// Cause gives details of a trap.
	Cause vm.Cause

	loaded loads // codes that the transaction loaded
}

// Loaded returns the hashes of the codes that the transaction loaded, in the order of loading.
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

// consumesAll reports whether a failure uses the whole gas limit. Other failures use only the gas consumed so far.
func (r Reason) consumesAll() bool {
	return r == OutOfGas || r == Trap || r == StackOverflow || r == ViewWroteState
}

// runPayload runs a payload after charging its intrinsic gas, and undoes its effects if it fails. An error is a fault
// of the node or a stop.
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
	d.tell(Forfeited, gas.Forfeited) // forfeited before the call; the call reports its own
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

// endow transfers value to an account, possibly the sender itself, and takes the price of a new account if the
// recipient does not exist yet.
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
