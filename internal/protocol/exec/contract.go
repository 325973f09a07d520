package exec

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Limits of execution, in addition to those in types (docs/protocol.md, "Calls").
const (
	maxCallDepth = 32
	maxLivePages = 256     // sum over the instances on the call stack
	maxDebug     = 1 << 10 // bytes of a debug message
)

var schedule = &params.Schedule1

// execution is a payload in progress.
type execution struct {
	derivation *Derivation
	sender     types.Account
	logs       []types.Log
	logBytes   int
	loaded     loads
	frames     []*frame // active calls, the outermost first
	pages      uint32   // sum of the pages of the active calls
}

// frame is an active call of a contract, and the [vm.Host] of its instance.
type frame struct {
	*execution
	id     types.ContractID
	caller types.Account
	value  types.Amount
	args   []byte
	view   bool
	wrote  bool   // the call tried to change the state in view context, which traps
	pages  uint32 // pages of the instance's memory
	told   uint64 // gas charged by host functions and nested calls, which the tracer already knows; kept only for a tracer
	output []byte // set by return_data or revert
	result []byte // result of the last nested call
}

// checkpoint is a point that a failed call rolls back to.
type checkpoint struct {
	state          int
	logs, logBytes int
}

func (x *execution) checkpoint() checkpoint {
	return checkpoint{state: x.derivation.state.Checkpoint(), logs: len(x.logs), logBytes: x.logBytes}
}

func (x *execution) rollback(c checkpoint) {
	x.derivation.state.Rollback(c.state)
	x.logs, x.logBytes = x.logs[:c.logs], c.logBytes
}

// deploy executes a Deploy. The record of the new contract's ID is in the access list.
func (x *execution) deploy(gas *vm.Gas, tx *types.Transaction, p types.Deploy) (Outcome, error) {
	r := x.derivation
	id := types.NewContractID(tx.Sender, tx.Nonce)
	if reason, err := r.endow(gas, tx.Sender, types.Account(id), p.Amount); reason != Success || err != nil {
		return Outcome{Reason: reason}, err
	}
	made := contract{id: id}
	var module *vm.Module
	var failed Outcome
	var err error
	if source, ok := p.Copies(); ok {
		made.hash, module, failed, err = x.copied(source, p)
	} else {
		made.hash, module, failed, err = x.brought(gas, p)
	}
	if failed.Reason != Success || err != nil {
		return failed, err
	}
	record := state.Contract{CodeHash: made.hash, Deployer: tx.Sender, Height: r.header.Height, Name: p.Name}
	if err := r.state.Set(state.ContractKey(id), record.Encode()); err != nil {
		return Outcome{}, err
	}
	outcome := Outcome{Contract: &id}
	if module.HasInit() {
		price, instance := callPrice(len(p.InitArgs)), instancePrice(module)
		if !gas.Take(price + instance) {
			return Outcome{Reason: OutOfGas}, nil
		}
		r.tell(CallPrice, price)
		r.tell(Instance, instance)
		x.loaded.add(made.hash, params.Load(module.Load()))
		f := &frame{execution: x, id: id, caller: tx.Sender, value: p.Amount, args: p.InitArgs}
		outcome.Reason, outcome.Cause, outcome.Output, err = f.enter(made, module, vm.InitFunction, gas)
	}
	return outcome, err
}

// brought checks the code that a deploy brings, takes its price and compiles it.
func (x *execution) brought(gas *vm.Gas, p types.Deploy) (types.CodeHash, *vm.Module, Outcome, error) {
	hash, r := types.CodeHash(sha256.Sum256(p.Code)), x.derivation
	module, err := vm.Check(p.Code)
	if err != nil || len(p.InitArgs) > 0 && !module.HasInit() {
		return hash, nil, Outcome{Reason: ModuleRefused, Detail: refusal(err)}, nil
	}
	if !r.take(gas, Code, uint64(module.DeployGas())) {
		return hash, nil, Outcome{Reason: OutOfGas}, nil
	}
	r.keepCode(hash, p.Code)
	if r.machine.Engine == nil {
		return hash, nil, Outcome{}, errNoMachine
	}
	return hash, module, Outcome{}, r.machine.Engine.Compile(hash, module)
}

// copied finds the code of the contract that a deploy copies; the record of that contract is in the access list. The
// intrinsic gas is the whole price, as nothing is compiled.
func (x *execution) copied(source types.ContractID, p types.Deploy) (types.CodeHash, *vm.Module, Outcome, error) {
	found, ok, err := x.derivation.lookUp(source)
	if err != nil || !ok {
		return found.hash, nil, Outcome{Reason: NoSuchContract}, err
	}
	module, _, err := x.load(found) // never refused: it is the first code that the transaction loads
	if err == nil && len(p.InitArgs) > 0 && !module.HasInit() {
		return found.hash, nil, Outcome{Reason: ModuleRefused, Detail: refusal(nil)}, nil
	}
	return found.hash, module, Outcome{}, err
}

func refusal(err error) string {
	if err == nil {
		return "init_args are given and the module exports no init"
	}
	return err.Error()
}

// call executes a Call. The contract's record is in the access list.
func (x *execution) call(gas *vm.Gas, sender types.Account, p types.Call) (Outcome, error) {
	r := x.derivation
	if !r.take(gas, CallPrice, callPrice(len(p.Args))) {
		return Outcome{Reason: OutOfGas}, nil
	}
	callee, ok, err := r.lookUp(p.Contract)
	if err != nil || !ok {
		return Outcome{Reason: NoSuchContract}, err
	}
	module, _, err := x.load(callee) // never refused: it is the first code that the transaction loads
	if err != nil {
		return Outcome{}, err
	}
	if !module.Callable(p.Function) {
		return Outcome{Reason: NoSuchFunction}, nil
	}
	if p.Amount > 0 { // listed even if the gas for the instance is missing
		if _, err := r.state.Get(state.AccountKey(types.Account(p.Contract))); err != nil {
			return Outcome{}, err
		}
	}
	if !r.take(gas, Instance, instancePrice(module)) {
		return Outcome{Reason: OutOfGas}, nil
	}
	if reason, err := r.endow(gas, sender, types.Account(p.Contract), p.Amount); reason != Success || err != nil {
		return Outcome{Reason: reason}, err
	}
	f := &frame{
		execution: x,
		id:        p.Contract,
		caller:    sender,
		value:     p.Amount,
		args:      p.Args,
		view:      x.derivation.view,
	}
	var outcome Outcome
	outcome.Reason, outcome.Cause, outcome.Output, err = f.enter(callee, module, p.Function, gas)
	return outcome, err
}

func callPrice(args int) uint64 {
	return uint64(schedule.ContractCall) + uint64(schedule.ContractCallArgByte)*uint64(args)
}

// instancePrice returns the price of a new instance of a module in a transaction's call.
func instancePrice(m *vm.Module) uint64 {
	return uint64(schedule.MemoryPage)*uint64(m.Pages()) + uint64(schedule.InstanceItem)*m.InstanceItems()
}

// nestedInstancePrice returns the price of a new instance of a module in a nested call.
func nestedInstancePrice(m *vm.Module) uint64 {
	return uint64(schedule.MemoryGrowPage)*uint64(m.Pages()) +
		uint64(schedule.NestedTimes*schedule.InstanceItem)*m.InstanceItems()
}

// enter runs a function of a contract with all of gas and returns the outcome. The caller has paid for the call and the
// instance.
func (f *frame) enter(c contract, module *vm.Module, function string, gas *vm.Gas) (Reason, vm.Cause, []byte, error) {
	x := f.execution
	before := gas.Left
	if t := x.derivation.tracer; t != nil {
		t.Enter(CallInfo{
			Contract: f.id,
			Code:     c.hash,
			Caller:   f.caller,
			Function: function,
			Args:     f.args,
			Value:    f.value,
			Gas:      types.Gas(before),
			View:     f.view,
		})
	}
	f.pages = module.Pages()
	x.pages += f.pages
	x.frames = append(x.frames, f)
	exit, err := x.derivation.machine.Engine.Run(c.hash, module, function, f, gas)
	x.frames = x.frames[:len(x.frames)-1]
	x.pages -= f.pages
	if err != nil {
		return Success, vm.Cause{}, nil, err
	}
	reason, cause := reasonOf(exit), gas.Cause
	if reason == Trap && f.wrote {
		reason = ViewWroteState
	}
	if reason != Trap {
		cause = vm.Cause{}
	}
	var output []byte
	if reason == Success || reason == Reverted {
		output = f.output
	}
	if t := x.derivation.tracer; t != nil {
		used := before - gas.Left
		x.derivation.tell(Memory, gas.Grown)
		x.derivation.tell(Forfeited, gas.Forfeited)
		x.derivation.tell(Instructions, used-f.told-gas.Grown-gas.Forfeited)
		t.Exit(reason, cause, output, types.Gas(used))
	}
	gas.Grown, gas.Forfeited, gas.Cause = 0, 0, vm.Cause{}
	return reason, cause, output, nil
}

func reasonOf(exit vm.Exit) Reason {
	switch exit {
	case vm.Returned:
		return Success
	case vm.Reverted:
		return Reverted
	case vm.OutOfGas:
		return OutOfGas
	case vm.StackOverflow:
		return StackOverflow
	default:
		return Trap
	}
}
