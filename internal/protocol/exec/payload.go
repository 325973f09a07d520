package exec

import (
	"fmt"

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
	// Contract is the ID of the contract that a successful deploy or instantiate created.
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

func (o Outcome) receipt() types.Receipt {
	receipt := types.Receipt{
		Status:   types.StatusSuccess,
		GasUsed:  o.GasUsed,
		Contract: o.Contract,
		Output:   o.Output,
		Logs:     o.Logs,
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

// runPayload runs a payload after charging the intrinsic gas, and undoes its effects if it fails. An error is a fault
// of the node or a stop.
func (e *BlockExecutor) runPayload(tx *types.SignedTransaction, intrinsic types.Gas) (Outcome, error) {
	e.running = execution{executor: e, sender: tx.Sender}
	x := &e.running
	start := x.checkpoint()
	e.reportGas(Intrinsic, uint64(intrinsic))
	e.gas = vm.Gas{Left: uint64(tx.GasLimit - intrinsic)}
	gas := &e.gas
	outcome, err := x.run(gas, tx)
	if err != nil {
		return Outcome{}, err
	}
	e.reportGas(Forfeited, gas.Forfeited) // forfeited outside of calls; each call reports its own
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

// run runs the payload of a transaction. The steps of each are numbered in docs/protocol.md, "Execution".
func (x *execution) run(gas *vm.Gas, tx *types.SignedTransaction) (Outcome, error) {
	switch p := tx.Payload.(type) {
	case types.Transfer:
		return x.endow(gas, tx.Target, tx.Value)
	case types.Configure:
		return Outcome{}, x.executor.state.Set(state.ParametersKey(), p.Parameters.Encode())
	case types.SetPolicy:
		return Outcome{}, x.setPolicy(tx, p)
	case types.Deploy:
		return x.deploy(gas, &tx.Transaction, p)
	case types.Instantiate:
		return x.instantiate(gas, &tx.Transaction, p)
	case types.Call:
		return x.call(gas, tx.Target, tx.Value, p)
	case types.Batch:
		return x.batch(gas, p)
	default:
		return Outcome{}, fmt.Errorf("unknown payload %T", tx.Payload)
	}
}

// batch runs the steps of a Batch until one fails. The caller undoes the others then.
func (x *execution) batch(gas *vm.Gas, p types.Batch) (outcome Outcome, err error) {
	for i := range p.Steps {
		x.step = &p.Steps[i]
		if outcome, err = x.runStep(gas, x.step); err != nil || outcome.Reason != Success {
			break
		}
	}
	return outcome, err
}

// runStep records the keys of a step and runs it. Steps that are not reached have no keys in the access list.
func (x *execution) runStep(gas *vm.Gas, s *types.Step) (Outcome, error) {
	if err := x.executor.listAction(s.Action, s.Target, s.Value); err != nil {
		return Outcome{}, err
	}
	if p, ok := s.Action.(types.Call); ok {
		return x.call(gas, s.Target, s.Value, p)
	}
	return x.endow(gas, s.Target, s.Value)
}

// endow moves value from the sender to an account, possibly the sender itself, and takes the price of a new account.
// In a batch it logs the movement, and reverts if there is no room for the log.
func (x *execution) endow(gas *vm.Gas, to types.Account, value types.Amount) (Outcome, error) {
	if value == 0 {
		return Outcome{}, nil
	}
	if reason, err := x.executor.move(gas, x.sender, to, value); reason != Success || err != nil {
		return Outcome{Reason: reason}, err
	}
	if x.step == nil {
		return Outcome{}, nil
	}
	log := payment(x.sender, to, value)
	if transfer, ok := x.step.Action.(types.Transfer); ok && transfer.Memo != nil {
		log.Data = append(log.Data, transfer.Memo[:]...)
	}
	if !x.log(log) {
		return Outcome{Reason: Reverted, Output: []byte(tooManyLogs)}, nil
	}
	return Outcome{}, nil
}

// move moves value over 0 between accounts, possibly from one to itself, and takes the price of a new account if the
// recipient has no entry.
func (e *BlockExecutor) move(gas *vm.Gas, from, to types.Account, value types.Amount) (Reason, error) {
	entry, err := e.state.Get(state.AccountKey(to))
	if err != nil {
		return Success, err
	}
	if len(entry) == 0 && !e.take(gas, NewAccount, uint64(schedule.NewAccount)) {
		return OutOfGas, nil
	}
	payer, err := e.state.Account(from)
	if err != nil {
		return Success, err
	}
	if payer.Balance < value { // only in simulations: the sender of an included transaction can pay its amount
		return InsufficientBalance, nil
	}
	payer.Balance -= value
	if err := e.state.SetAccount(from, payer); err != nil {
		return Success, err
	}
	return Success, e.credit(to, value)
}

// setPolicy changes who may sign for the sender, at once or, as a recovery, after the delay of the policy in force.
func (x *execution) setPolicy(tx *types.SignedTransaction, p types.SetPolicy) error {
	e, next := x.executor, tx.Sender
	if p.Policy != nil {
		next = p.Policy.Hash()
	}
	record, err := e.state.Account(tx.Sender)
	if err != nil {
		return err
	}
	log := types.Log{Name: types.PolicySet, Topics: [][32]byte{tx.Sender, next}}
	if p.Recovery {
		from := e.header.Timestamp + recoveryDelay(tx.Witness)
		record.Pending = &state.Recovery{Next: next, From: from}
		log.Name, log.Data = types.RecoveryStarted, le64(from)
	} else {
		record.Authority, record.Pending = &next, nil
	}
	x.log(log) // the first one of the transaction, so there is room
	return e.state.SetAccount(tx.Sender, record)
}

// recoveryDelay returns the delay of the policy in a witness. It is 0 only in simulations without a witness.
func recoveryDelay(w types.Witness) uint64 {
	if policy, ok := w.(types.WitnessPolicy); ok && policy.Policy.Recovery != nil {
		return policy.Policy.Recovery.Delay
	}
	return 0
}
