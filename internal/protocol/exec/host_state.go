package exec

import (
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// none is −1 as an i32. storage_read returns it if the key has no value.
const none = 1<<32 - 1

// Result codes of transfer, call, create and replace_code; 0 is success.
const (
	codeReverted       = 1
	codeFailed         = 2 // trap, out of gas, stack overflow
	codeNoContract     = 3
	codeNoFunction     = 4 // or arguments for create although there is no init
	codeBalanceTooLow  = 5
	codeReentryRefused = 6
	codeLimits         = 7 // depth, load, memory
	codeExists         = 8 // the contract that create would make exists
)

// storageKey returns the state key of a storage key in the guest's memory.
func (i *invocation) storageKey(pointer, n uint32) ([]byte, bool) {
	name, ok := i.bounded(pointer, n, keySize)
	if !ok {
		return nil, false
	}
	return state.StorageKey(i.id, name), true
}

// mayLookUp reports whether the call has StorageReserve left, which the look-up of a value needs.
func (i *invocation) mayLookUp() bool {
	if t, ok := i.executor.tracer.(LookUpTracer); ok {
		t.LookUp(types.Gas(i.gas.Left))
	}
	return i.gas.Holds(uint64(schedule.StorageReserve))
}

func (i *invocation) storageRead(price uint64) (vm.Exit, error) {
	pointer, n, out, capacity := i.u32(0), i.u32(1), i.u32(2), i.u32(3)
	if !i.gas.Take(price+uint64(schedule.StorageReadKeyByte)*uint64(n)+copies(uint64(n))) ||
		!i.mayLookUp() {
		return vm.OutOfGas, nil
	}
	key, keyOK := i.storageKey(pointer, n)
	target, outOK := i.within(out, capacity)
	if !keyOK || !outOK {
		return vm.Trapped, nil
	}
	value, err := i.executor.state.Get(key)
	if err != nil {
		return vm.Trapped, err
	}
	copied := copy(target, value)
	i.gas.Left -= lookedUp(schedule.StorageReadValueByte, value) + copies(uint64(copied))
	i.stack[0] = uint64(len(value))
	if len(value) == 0 {
		i.stack[0] = none
	}
	return vm.Returned, nil
}

func (i *invocation) storageWrite() (vm.Exit, error) {
	pointer, n, valuePointer, valueLen := i.u32(0), i.u32(1), i.u32(2), i.u32(3)
	if valueLen == 0 {
		_, valueOK := i.within(valuePointer, 0)
		return i.storageDelete(pointer, n, valueOK)
	}
	price := uint64(schedule.StorageWrite) + uint64(schedule.StorageWriteKeyByte)*uint64(n) +
		uint64(schedule.StorageWriteValueByte)*uint64(valueLen) + copies(uint64(n)+uint64(valueLen))
	if !i.gas.Take(price) || !i.mayLookUp() {
		return vm.OutOfGas, nil
	}
	key, keyOK := i.storageKey(pointer, n)
	value, valueOK := i.bounded(valuePointer, valueLen, valueSize)
	if !keyOK || !valueOK || i.refusesWrite() {
		return vm.Trapped, nil
	}
	old, err := i.executor.state.Get(key)
	if err != nil {
		return vm.Trapped, err
	}
	if len(old) == 0 {
		i.gas.Left -= uint64(schedule.StorageNewKey)
	} else {
		i.gas.Left -= lookedUp(schedule.StorageOldByte, old)
	}
	return i.store(key, old, append([]byte(nil), value...))
}

// store writes a value. The caller has charged for it.
func (i *invocation) store(key, old, value []byte) (vm.Exit, error) {
	if i.executor.tracer != nil {
		i.executor.tracer.Storage(key[1+len(i.id):], old, value)
	}
	return vm.Returned, i.executor.state.Set(key, value)
}

// storageDelete deletes a value. valueOK is false if the call is a write of an empty value whose pointer is outside the
// memory.
func (i *invocation) storageDelete(pointer, n uint32, valueOK bool) (vm.Exit, error) {
	price := uint64(schedule.StorageWrite) + uint64(schedule.StorageWriteKeyByte)*uint64(n) + copies(uint64(n))
	if !i.gas.Take(price) || !i.mayLookUp() {
		return vm.OutOfGas, nil
	}
	key, ok := i.storageKey(pointer, n)
	if !ok || !valueOK || i.refusesWrite() {
		return vm.Trapped, nil
	}
	old, err := i.executor.state.Get(key)
	if err != nil {
		return vm.Trapped, err
	}
	i.gas.Left -= lookedUp(schedule.StorageOldByte, old)
	return i.store(key, old, nil)
}

// lookedUp returns the price of a stored value that was looked up. With the price of its copy it is at most
// StorageReserve, which was checked before the look-up.
func lookedUp(perByte types.Gas, value []byte) uint64 {
	price := uint64(perByte) * uint64(len(value))
	if len(value) > params.LongValue {
		price += uint64(schedule.StorageLongValue)
	}
	return price
}

func (i *invocation) balance(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(32)) {
		return vm.OutOfGas, nil
	}
	account, ok := i.account(i.u32(0))
	if !ok {
		return vm.Trapped, nil
	}
	record, err := i.executor.state.Account(account)
	i.stack[0] = uint64(record.Balance)
	return vm.Returned, err
}

func (i *invocation) codeHash(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(64)) {
		return vm.OutOfGas, nil
	}
	account, ok := i.account(i.u32(0))
	out, outOK := i.within(i.u32(1), 32)
	if !ok || !outOK {
		return vm.Trapped, nil
	}
	found, ok, err := i.executor.lookUp(types.ContractID(account))
	i.stack[0] = 0
	if ok {
		copy(out, found.hash[:])
		i.stack[0] = 1
	}
	return vm.Returned, err
}

func (i *invocation) transfer(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(32)) {
		return vm.OutOfGas, nil
	}
	to, ok := i.account(i.u32(0))
	if !ok || i.refusesWrite() {
		return vm.Trapped, nil
	}
	amount := types.Amount(i.stack[1])
	own, err := i.executor.state.Account(types.Account(i.id))
	if err != nil {
		return vm.Trapped, err
	}
	i.stack[0] = 0
	if own.Balance < amount {
		i.stack[0] = codeBalanceTooLow
		return vm.Returned, nil
	}
	return i.pay(to, amount)
}

// pay transfers an amount that the contract has, logs the payment and takes the price of a new account if it creates
// one.
func (i *invocation) pay(to types.Account, amount types.Amount) (vm.Exit, error) {
	if amount == 0 {
		return vm.Returned, nil
	}
	before := i.gas.Left + i.gas.Forfeited
	reason, err := i.executor.move(i.gas, types.Account(i.id), to, amount)
	i.reported += before - i.gas.Left - i.gas.Forfeited
	if err != nil || reason != Success {
		return vm.OutOfGas, err
	}
	if !i.log(payment(types.Account(i.id), to, amount)) {
		return i.noRoom()
	}
	return vm.Returned, nil
}
