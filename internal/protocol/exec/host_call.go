package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// nestedCall holds the arguments of host functions call and call_view.
type nestedCall struct {
	contract, function, functionLen, args, argsLen uint32
	value                                          types.Amount
	gas                                            uint64
	view                                           bool // applies to the callee and all calls below it
}

// call implements host functions call and call_view. The steps are numbered as in docs/protocol.md, "Host functions".
func (i *invocation) call(n nestedCall) (vm.Exit, error) {
	price := uint64(schedule.NestedTimes*schedule.ContractCall) + uint64(schedule.ContractCallArgByte)*uint64(n.argsLen) +
		copies(32+uint64(n.functionLen)+uint64(n.argsLen))
	if n.value > 0 {
		price += uint64(schedule.CallValue)
	}
	if !i.gas.Take(price) { // 1
		return vm.OutOfGas, nil
	}
	id, idOK := i.account(n.contract)
	function, functionOK := i.name(n.function, n.functionLen, functionSize)
	args, argsOK := i.bounded(n.args, n.argsLen, argumentsSize)
	if !idOK || !functionOK || !argsOK || n.value > 0 && i.refusesWrite() {
		return vm.Trapped, nil
	}
	i.result = nil
	callee := &frame{
		execution: i.execution,
		id:        types.ContractID(id),
		caller:    types.Account(i.id),
		value:     n.value,
		args:      append([]byte(nil), args...),
		view:      n.view,
	}
	return i.enterNested(callee, function, n.gas)
}

// enterNested executes a nested call from step 2 on.
func (i *invocation) enterNested(callee *frame, function string, limit uint64) (vm.Exit, error) {
	if len(i.frames) >= maxCallDepth { // 2
		return i.code(codeLimits)
	}
	found, ok, err := i.executor.lookUp(callee.id)
	if err != nil {
		return vm.Trapped, err
	}
	if !ok { // 3
		return i.code(codeNoContract)
	}
	module, ok, err := i.load(found)
	switch {
	case err != nil:
		return vm.Trapped, err
	case !ok: // 4
		return i.code(codeLimits)
	case !module.Callable(function): // 5
		return i.code(codeNoFunction)
	case !module.Reentrant() && i.active(callee.id): // 6
		return i.code(codeReentryRefused)
	case i.execution.pages+module.Pages() > maxLivePages: // 7
		return i.code(codeLimits)
	}
	affordable, err := i.affords(types.Account(callee.id), callee.value)
	if err != nil {
		return vm.Trapped, err
	}
	if !affordable { // 8
		return i.code(codeBalanceTooLow)
	}
	if !i.takeInstance(module) { // 9
		return vm.OutOfGas, nil
	}
	start := i.checkpoint()
	if exit, err := i.pay(types.Account(callee.id), callee.value); err != nil || exit != vm.Returned {
		return exit, err
	}
	code, err := i.forward(callee, found, module, function, limit) // 10
	if err != nil {
		return vm.Trapped, err
	}
	if code != 0 {
		i.rollback(start)
	}
	return i.code(code)
}

// takeInstance takes the price of the instance of a nested call.
func (i *invocation) takeInstance(module *vm.Module) bool {
	price := nestedInstancePrice(module)
	if !i.executor.take(i.gas, Instance, price) {
		return false
	}
	i.reported += price
	return true
}

// forward runs a function of a contract on at most limit of the gas, of which a 64th stays with the caller. It returns
// 0 or the code of the failure; the caller undoes the call's effects then.
func (i *invocation) forward(
	callee *frame, c contract, module *vm.Module, function string, limit uint64,
) (code uint64, err error) {
	forwarded := vm.Gas{Left: min(limit, i.gas.Left-i.gas.Left/64)}
	i.gas.Left -= forwarded.Left
	given := forwarded.Left
	reason, _, output, err := callee.enter(c, module, function, &forwarded)
	if err != nil {
		return 0, err
	}
	i.reported += given - forwarded.Left
	switch reason {
	case Success:
	case Reverted:
		code = codeReverted
	default:
		return codeFailed, nil
	}
	i.gas.Left += forwarded.Left
	i.result = output
	return code, nil
}

// active reports whether a contract is on the call stack.
func (x *execution) active(id types.ContractID) bool {
	for _, f := range x.frames {
		if f.id == id {
			return true
		}
	}
	return false
}

// code returns a result code to the guest.
func (i *invocation) code(code uint64) (vm.Exit, error) {
	i.stack[0] = code
	return vm.Returned, nil
}
