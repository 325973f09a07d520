package exec

import (
	"unicode/utf8"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// invocation is a running host function: a frame and the engine's arguments. Each function first takes its whole price,
// then checks ranges, lengths, names and view context, and only then reads the state, which records the key.
type invocation struct {
	*frame
	memory vm.Memory
	stack  []uint64
	gas    *vm.Gas
}

// Invoke implements [vm.Host].
func (f *frame) Invoke(function vm.Function, memory vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	i := &invocation{f, memory, stack, gas}
	t := f.executor.tracer
	if t == nil {
		return i.dispatch(function)
	}
	before, reported := gas.Left+gas.Forfeited, f.reported
	exit, err := i.dispatch(function)
	if err == nil {
		took := before - gas.Left - gas.Forfeited - (f.reported - reported)
		f.reported += took
		t.Host(function, types.Gas(took))
	}
	return exit, err
}

// Grow implements [vm.Host].
func (f *frame) Grow(_ vm.Memory, pages uint32) bool {
	if pages > maxLivePages || f.execution.pages+pages > maxLivePages {
		return false
	}
	f.execution.pages += pages
	f.pages += pages
	return true
}

// Continue implements [vm.Host].
func (f *frame) Continue() error { return f.executor.mayContinue() }

func (e *BlockExecutor) mayContinue() error {
	if e.stop == nil {
		return nil
	}
	return e.stop()
}

func (i *invocation) dispatch(function vm.Function) (vm.Exit, error) {
	price := uint64(vm.Functions[function].Price)
	switch function {
	case vm.ArgsLen:
		return i.answer(price, uint64(len(i.args)))
	case vm.ArgsRead:
		return i.give(price, i.args, i.u32(0))
	case vm.ReturnData:
		return i.setOutput(price, vm.Returned)
	case vm.Revert:
		return i.setOutput(price, vm.Reverted)
	case vm.StorageRead:
		return i.storageRead(price)
	case vm.StorageWrite:
		return i.storageWrite()
	case vm.StorageDelete:
		return i.storageDelete(i.u32(0), i.u32(1), true)
	case vm.Caller:
		return i.give(price, i.caller[:], i.u32(0))
	case vm.Sender:
		return i.give(price, i.sender[:], i.u32(0))
	case vm.Self:
		return i.give(price, i.id[:], i.u32(0))
	case vm.Value:
		return i.answer(price, uint64(i.value))
	case vm.BlockHeight:
		return i.answer(price, uint64(i.executor.header.Height))
	case vm.BlockTime:
		return i.answer(price, i.executor.header.Timestamp/1_000)
	case vm.ChainID:
		return i.answer(price, i.executor.header.ChainID)
	case vm.GasLeft:
		if !i.gas.Take(price) {
			return vm.OutOfGas, nil
		}
		i.stack[0] = i.gas.Left
		return vm.Returned, nil
	case vm.IsView:
		var view uint64
		if i.view {
			view = 1
		}
		return i.answer(price, view)
	case vm.Balance:
		return i.balance(price)
	case vm.Transfer:
		return i.transfer(price)
	case vm.CodeHash:
		return i.codeHash(price)
	case vm.Call:
		return i.call(nestedCall{
			i.u32(0), i.u32(1), i.u32(2), i.u32(3), i.u32(4), types.Amount(i.stack[5]), i.stack[6], i.view,
		})
	case vm.CallView:
		return i.call(nestedCall{i.u32(0), i.u32(1), i.u32(2), i.u32(3), i.u32(4), 0, i.stack[5], true})
	case vm.ResultLen:
		return i.answer(price, uint64(len(i.result)))
	case vm.ResultRead:
		return i.give(price, i.result, i.u32(0))
	case vm.Create:
		return i.create()
	case vm.ReplaceCode:
		return i.replaceCode(price)
	case vm.Emit:
		return i.emit(price)
	case vm.Debug:
		return i.debug(price)
	default:
		return i.cryptography(function, price)
	}
}

// refusesWrite reports whether the call is in view context. Functions that change the state call it and trap if it is.
func (i *invocation) refusesWrite() bool {
	i.wrote = i.view
	return i.view
}

// u32 returns argument n, which is an i32.
func (i *invocation) u32(n int) uint32 { return uint32(i.stack[n]) }

// copies returns the price of copying n bytes from or to the guest's memory.
func copies(n uint64) uint64 {
	per := uint64(schedule.CopyBytesPerGas)
	return (n + per - 1) / per
}

// answer takes a price and returns a number to the guest.
func (i *invocation) answer(price, number uint64) (vm.Exit, error) {
	if !i.gas.Take(price) {
		return vm.OutOfGas, nil
	}
	i.stack[0] = number
	return vm.Returned, nil
}

// give takes a price and copies bytes to the guest's memory.
func (i *invocation) give(price uint64, b []byte, out uint32) (vm.Exit, error) {
	if !i.gas.Take(price + copies(uint64(len(b)))) {
		return vm.OutOfGas, nil
	}
	target, ok := i.within(out, uint32(len(b)))
	if !ok {
		return vm.Trapped, nil
	}
	copy(target, b)
	return vm.Returned, nil
}

// account reads 32 bytes from the guest's memory.
func (i *invocation) account(pointer uint32) (a types.Account, ok bool) {
	b, ok := i.within(pointer, uint32(len(a)))
	copy(a[:], b)
	return a, ok
}

// refuse records the cause of a trap. It returns false.
func (i *invocation) refuse(cause vm.Cause) bool {
	i.gas.Cause = cause
	return false
}

// within returns a range of the guest's memory. If ok is false, the host function must trap.
func (i *invocation) within(pointer, n uint32) ([]byte, bool) {
	b, ok := i.memory.Range(pointer, n)
	return b, ok || i.refuse(vm.OutOfBounds)
}

// Causes of traps for operands over their size limits, with the limits in bytes.
var (
	resultSize    = vm.Cause{Name: "result_size", Limit: types.MaxArgsBytes}
	argumentsSize = vm.Cause{Name: "arguments_size", Limit: types.MaxArgsBytes}
	functionSize  = vm.Cause{Name: "function_size", Limit: types.MaxFunctionBytes}
	keySize       = vm.Cause{Name: "key_size", Limit: types.MaxStorageKeyBytes}
	valueSize     = vm.Cause{Name: "value_size", Limit: types.MaxStorageValueBytes}
	eventNameSize = vm.Cause{Name: "event_name_size", Limit: types.MaxLogNameBytes}
	eventDataSize = vm.Cause{Name: "event_data_size", Limit: types.MaxLogDataBytes}
	debugSize     = vm.Cause{Name: "debug_size", Limit: maxDebug}
	contractName  = vm.Cause{Name: "name_size", Limit: types.MaxNameBytes}
	messageSize   = vm.Cause{Name: "message_size", Limit: maxVerifiedMessage}
	witnessSize   = vm.Cause{Name: "witness_size", Limit: maxVerifiedWitness}
)

// bounded returns a range of the guest's memory that is at most limit.Limit bytes long.
func (i *invocation) bounded(pointer, n uint32, limit vm.Cause) ([]byte, bool) {
	if n > limit.Limit {
		return nil, i.refuse(limit)
	}
	return i.within(pointer, n)
}

// name returns a bounded range that must be valid UTF-8.
func (i *invocation) name(pointer, n uint32, limit vm.Cause) (string, bool) {
	b, ok := i.bounded(pointer, n, limit)
	return string(b), ok && (utf8.Valid(b) || i.refuse(vm.InvalidUTF8))
}

// setOutput implements return_data and revert.
func (i *invocation) setOutput(price uint64, exit vm.Exit) (vm.Exit, error) {
	pointer, n := i.u32(0), i.u32(1)
	if !i.gas.Take(price + uint64(schedule.OutputByte)*uint64(n) + copies(uint64(n))) {
		return vm.OutOfGas, nil
	}
	data, ok := i.bounded(pointer, n, resultSize)
	if !ok {
		return vm.Trapped, nil
	}
	i.output = append(i.output[:0], data...)
	return exit, nil
}

func (i *invocation) emit(price uint64) (vm.Exit, error) {
	namePointer, nameLen, topicsPointer := i.u32(0), i.u32(1), i.u32(2)
	topicCount, dataPointer, dataLen := i.u32(3), i.u32(4), i.u32(5)
	bytes := uint64(nameLen) + 32*uint64(topicCount) + uint64(dataLen)
	if !i.gas.Take(price + uint64(schedule.EmitByte)*bytes + copies(bytes)) {
		return vm.OutOfGas, nil
	}
	if topicCount > types.MaxLogTopics && !i.refuse(vm.TooManyTopics) || i.refusesWrite() {
		return vm.Trapped, nil
	}
	name, nameOK := i.name(namePointer, nameLen, eventNameSize)
	topics, topicsOK := i.within(topicsPointer, 32*topicCount)
	data, dataOK := i.bounded(dataPointer, dataLen, eventDataSize)
	if !nameOK || !topicsOK || !dataOK {
		return vm.Trapped, nil
	}
	log := types.Log{Contract: i.id, Name: name, Data: append([]byte(nil), data...)}
	for len(topics) > 0 {
		log.Topics = append(log.Topics, [32]byte(topics))
		topics = topics[32:]
	}
	if !i.log(log) {
		return i.noRoom()
	}
	if i.executor.tracer != nil {
		i.executor.tracer.Event(log)
	}
	return vm.Returned, nil
}

// tooManyLogs is the output of a call, or of a step, that reverts because its log exceeds a limit of the transaction.
// It is a revert, not a trap, so that unused gas is refunded: no contract can know how many logs the transaction's
// other contracts emitted.
const tooManyLogs = "too many logs"

// log adds a log. It reports false if the transaction's logs would exceed their count or size limit.
func (x *execution) log(log types.Log) bool {
	bytes := len(log.Name) + 32*len(log.Topics) + len(log.Data)
	if len(x.logs) == types.MaxTransactionLogs || x.logBytes+bytes > types.MaxTransactionLogData {
		return false
	}
	x.logs = append(x.logs, log)
	x.logBytes += bytes
	return true
}

// noRoom reverts the call of a contract whose log has no room.
func (i *invocation) noRoom() (vm.Exit, error) {
	i.output = []byte(tooManyLogs)
	return vm.Reverted, nil
}

func (i *invocation) debug(price uint64) (vm.Exit, error) {
	pointer, n := i.u32(0), i.u32(1)
	if !i.gas.Take(price + copies(uint64(n))) {
		return vm.OutOfGas, nil
	}
	message, ok := i.bounded(pointer, n, debugSize)
	if !ok {
		return vm.Trapped, nil
	}
	if i.executor.tracer != nil {
		i.executor.tracer.Debug(message)
	}
	return vm.Returned, nil
}
