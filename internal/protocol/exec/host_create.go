package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// creation holds the arguments of host function create.
type creation struct {
	template types.ContractID
	salt     [32]byte
	name     string
	args     []byte
	value    types.Amount
	gas      uint64
	out      uint32
}

// create implements host function create. The steps are numbered as in docs/protocol.md, "Host functions".
func (i *invocation) create() (vm.Exit, error) {
	name, nameLen, args, argsLen := i.u32(2), i.u32(3), i.u32(4), i.u32(5)
	c := creation{value: types.Amount(i.stack[6]), gas: i.stack[7], out: i.u32(8)}
	price := uint64(vm.Functions[vm.Create].Price) +
		uint64(schedule.InstantiateByte)*(uint64(nameLen)+uint64(argsLen)) +
		copies(96+uint64(nameLen)+uint64(argsLen))
	if c.value > 0 {
		price += uint64(schedule.CallValue)
	}
	if !i.gas.Take(price) { // 1
		return vm.OutOfGas, nil
	}
	template, templateOK := i.account(i.u32(0))
	salt, saltOK := i.account(i.u32(1))
	text, nameOK := i.name(name, nameLen, contractName)
	given, argsOK := i.bounded(args, argsLen, argumentsSize)
	_, outOK := i.within(c.out, 32)
	if !templateOK || !saltOK || !nameOK || !argsOK || !outOK || i.refusesWrite() {
		return vm.Trapped, nil
	}
	i.result = nil
	c.template, c.salt, c.name, c.args = types.ContractID(template), salt, text, append([]byte(nil), given...)
	return i.instantiate(c)
}

// instantiate executes host function create from step 2 on.
func (i *invocation) instantiate(c creation) (vm.Exit, error) {
	if len(i.frames) >= maxCallDepth { // 2
		return i.code(codeLimits)
	}
	template, ok, err := i.executor.lookUp(c.template)
	if err != nil {
		return vm.Trapped, err
	}
	if !ok { // 3
		return i.code(codeNoContract)
	}
	module, ok, err := i.load(template)
	switch {
	case err != nil:
		return vm.Trapped, err
	case !ok: // 4
		return i.code(codeLimits)
	case len(c.args) > 0 && !module.HasInit(): // 5
		return i.code(codeNoFunction)
	}
	made := contract{id: types.NewInstanceID(i.id, template.hash, c.salt), hash: template.hash}
	_, exists, err := i.executor.lookUp(made.id)
	switch {
	case err != nil:
		return vm.Trapped, err
	case exists: // 6
		return i.code(codeExists)
	case module.HasInit() && i.execution.pages+module.Pages() > maxLivePages: // 7
		return i.code(codeLimits)
	}
	affordable, err := i.affords(types.Account(made.id), c.value)
	if err != nil {
		return vm.Trapped, err
	}
	if !affordable { // 8
		return i.code(codeBalanceTooLow)
	}
	if module.HasInit() && !i.takeInstance(module) { // 9
		return vm.OutOfGas, nil
	}
	return i.make(c, made, module)
}

// make executes host function create from step 10 on. The price of a new account, which step 9 takes, is taken with the
// payment: nothing can be seen in between.
func (i *invocation) make(c creation, made contract, module *vm.Module) (vm.Exit, error) {
	start := i.checkpoint()
	if err := i.executor.record(made, types.Account(i.id), c.name); err != nil { // 10
		return vm.Trapped, err
	}
	if exit, err := i.pay(types.Account(made.id), c.value); err != nil || exit != vm.Returned {
		return exit, err
	}
	if module.HasInit() { // 11
		callee := &frame{
			execution: i.execution, id: made.id, caller: types.Account(i.id), value: c.value, args: c.args,
		}
		code, err := i.forward(callee, made, module, vm.InitFunction, c.gas)
		if err != nil {
			return vm.Trapped, err
		}
		if code != 0 {
			i.rollback(start)
			return i.code(code)
		}
	}
	out, _ := i.memory.Range(c.out, 32) // 12; it was inside the memory in step 1, and memories only grow
	copy(out, made.id[:])
	return i.code(0)
}

// affords reports whether the contract has an amount, and records both keys of the payment if it does. It does nothing
// for an amount of 0.
func (i *invocation) affords(to types.Account, amount types.Amount) (bool, error) {
	if amount == 0 {
		return true, nil
	}
	own, err := i.executor.state.Account(types.Account(i.id))
	if err != nil || own.Balance < amount {
		return false, err
	}
	_, err = i.executor.state.Get(state.AccountKey(to)) // listed from the next step on, even if its gas is missing
	return true, err
}

// replaceCode implements host function replace_code. Calls that begin later run the new code.
func (i *invocation) replaceCode(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(32)) {
		return vm.OutOfGas, nil
	}
	template, ok := i.account(i.u32(0))
	if !ok || i.refusesWrite() {
		return vm.Trapped, nil
	}
	found, ok, err := i.executor.lookUp(types.ContractID(template))
	if err != nil {
		return vm.Trapped, err
	}
	if !ok {
		return i.code(codeNoContract)
	}
	key := state.ContractKey(i.id)
	encoded, err := i.executor.state.Get(key)
	if err != nil {
		return vm.Trapped, err
	}
	record, err := state.DecodeContract(encoded)
	if err != nil {
		return vm.Trapped, err
	}
	record.CodeHash = found.hash
	if err := i.executor.state.Set(key, record.Encode()); err != nil {
		return vm.Trapped, err
	}
	if !i.log(types.Log{Name: types.CodeReplaced, Topics: [][32]byte{i.id, found.hash}}) {
		return i.noRoom()
	}
	return i.code(0)
}
