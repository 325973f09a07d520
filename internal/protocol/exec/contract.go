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

var schedule = &params.Prices

// execution is a payload in progress.
type execution struct {
	executor *BlockExecutor
	sender   types.Account
	step     *types.Step // of a Batch; nil outside of one
	logs     []types.Log
	logBytes int
	loaded   loads
	frames   []*frame // active calls, the outermost first
	pages    uint32   // sum of the pages of the active calls
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
	// reported is the gas charged by host functions and nested calls. The tracer already knows it, and it is kept only
	// for a tracer.
	reported uint64
	output   []byte // set by return_data or revert
	result   []byte // result of the last nested call
}

// checkpoint is a point that a failed call rolls back to.
type checkpoint struct {
	state          int
	logs, logBytes int
}

func (x *execution) checkpoint() checkpoint {
	return checkpoint{state: x.executor.state.Checkpoint(), logs: len(x.logs), logBytes: x.logBytes}
}

func (x *execution) rollback(c checkpoint) {
	x.executor.state.Rollback(c.state)
	x.logs, x.logBytes = x.logs[:c.logs], c.logBytes
}

// deploy executes a Deploy. The record of the new contract's ID is in the access list.
func (x *execution) deploy(gas *vm.Gas, tx *types.Transaction, p types.Deploy) (Outcome, error) {
	id := types.NewContractID(tx.Sender, tx.Nonce)
	if paid, err := x.endow(gas, types.Account(id), tx.Value); paid.Reason != Success || err != nil { // 1
		return paid, err
	}
	module, err := vm.Check(p.Code) // 2
	if err != nil || len(p.InitArgs) > 0 && !module.HasInit() {
		return Outcome{Reason: ModuleRefused, Detail: refusal(err)}, nil
	}
	r := x.executor
	if !r.take(gas, Code, uint64(module.DeployGas())) { // 3
		return Outcome{Reason: OutOfGas}, nil
	}
	made := contract{id: id, hash: types.CodeHash(sha256.Sum256(p.Code))}
	r.keepCode(made.hash, p.Code) // 4
	if r.machine.Engine == nil {
		return Outcome{}, errNoMachine
	}
	if err := r.machine.Engine.Compile(made.hash, module); err != nil {
		return Outcome{}, err
	}
	if err := r.record(made, tx.Sender, p.Name); err != nil {
		return Outcome{}, err
	}
	return x.init(gas, made, module, tx.Value, p.InitArgs) // 5
}

// instantiate executes an Instantiate. The records of the template and of the new contract's ID are in the access list.
func (x *execution) instantiate(gas *vm.Gas, tx *types.Transaction, p types.Instantiate) (Outcome, error) {
	id := types.NewContractID(tx.Sender, tx.Nonce)
	if paid, err := x.endow(gas, types.Account(id), tx.Value); paid.Reason != Success || err != nil { // 1
		return paid, err
	}
	r := x.executor
	if !r.take(gas, NewContract, uint64(schedule.NewContract)) { // 2
		return Outcome{Reason: OutOfGas}, nil
	}
	template, ok, err := r.lookUp(types.ContractID(tx.Target))
	if err != nil || !ok { // 3
		return Outcome{Reason: NoSuchContract}, err
	}
	module, _, err := x.load(template) // 4; never refused: it is the first code that the transaction loads
	if err != nil {
		return Outcome{}, err
	}
	if len(p.InitArgs) > 0 && !module.HasInit() { // 5
		return Outcome{Reason: ModuleRefused, Detail: refusal(nil)}, nil
	}
	made := contract{id: id, hash: template.hash}
	if err := r.record(made, tx.Sender, p.Name); err != nil { // 6
		return Outcome{}, err
	}
	return x.init(gas, made, module, tx.Value, p.InitArgs) // 7
}

// record writes the record of a new contract.
func (e *BlockExecutor) record(made contract, deployer types.Account, name string) error {
	record := state.Contract{CodeHash: made.hash, Deployer: deployer, Height: e.header.Height, Name: name}
	return e.state.Set(state.ContractKey(made.id), record.Encode())
}

// init runs the init function of the contract that a transaction made, if its module has one.
func (x *execution) init(
	gas *vm.Gas, made contract, module *vm.Module, value types.Amount, args []byte,
) (outcome Outcome, err error) {
	outcome.Contract = &made.id
	if !module.HasInit() {
		return outcome, nil
	}
	r := x.executor
	price, instance := callPrice(len(args)), instancePrice(module)
	if !gas.Take(price + instance) {
		return Outcome{Reason: OutOfGas}, nil
	}
	r.reportGas(CallPrice, price)
	r.reportGas(Instance, instance)
	x.loaded.add(made.hash, params.Load(module.Load()))
	f := &frame{execution: x, id: made.id, caller: x.sender, value: value, args: args}
	outcome.Reason, outcome.Cause, outcome.Output, err = f.enter(made, module, vm.InitFunction, gas)
	return outcome, err
}

func refusal(err error) string {
	if err == nil {
		return "init_args are given, but the module exports no init"
	}
	return err.Error()
}

// call executes a Call of a transaction, or of a step. The contract's record is in the access list.
func (x *execution) call(gas *vm.Gas, target types.Account, value types.Amount, p types.Call) (Outcome, error) {
	r := x.executor
	if !r.take(gas, CallPrice, callPrice(len(p.Args))) { // 1
		return Outcome{Reason: OutOfGas}, nil
	}
	callee, ok, err := r.lookUp(types.ContractID(target))
	if err != nil || !ok { // 2
		return Outcome{Reason: NoSuchContract}, err
	}
	module, ok, err := x.load(callee) // 3
	switch {
	case err != nil:
		return Outcome{}, err
	case !ok:
		return Outcome{Reason: LoadExceeded}, nil
	case !module.Callable(p.Function): // 4
		return Outcome{Reason: NoSuchFunction}, nil
	}
	if value > 0 { // listed from step 5 on, even if the gas for the instance is missing
		if _, err := r.state.Get(state.AccountKey(target)); err != nil {
			return Outcome{}, err
		}
	}
	if !r.take(gas, Instance, instancePrice(module)) { // 5
		return Outcome{Reason: OutOfGas}, nil
	}
	if paid, err := x.endow(gas, target, value); paid.Reason != Success || err != nil {
		return paid, err
	}
	f := &frame{ // 6
		execution: x,
		id:        callee.id,
		caller:    x.sender,
		value:     value,
		args:      p.Args,
		view:      r.view,
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
	if t := x.executor.tracer; t != nil {
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
	exit, err := x.executor.machine.Engine.Run(c.hash, module, function, f, gas)
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
	if t := x.executor.tracer; t != nil {
		used := before - gas.Left
		x.executor.reportGas(Memory, gas.Grown)
		x.executor.reportGas(Forfeited, gas.Forfeited)
		x.executor.reportGas(Instructions, used-f.reported-gas.Grown-gas.Forfeited)
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
