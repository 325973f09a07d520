package wasmgen

// HostImport is an import of a host function. Result 0 means none.
type HostImport struct {
	Name   string
	Params []byte
	Result byte
}

// AddImport imports a function of module `cairn` and returns its index.
func (m *Module) AddImport(i HostImport) uint32 {
	m.Imports = append(m.Imports, ImportFunction("cairn", i.Name, m.AddType(i.Params, i.Result)))
	return uint32(len(m.Imports) - 1)
}

func i32s(n int) []byte { return allOf(I32, n) }

func allOf(t byte, n int) (types []byte) {
	for range n {
		types = append(types, t)
	}
	return types
}

// Forger returns a contract that exports each host function under its own name. An export copies the call's arguments
// to address 0, calls the host function with the 8-byte little-endian numbers there, and returns the result in 8 bytes.
func Forger(functions []HostImport) *Module {
	m := Contract(1, 4)
	procedure := m.AddType(nil, 0)
	read := m.AddImport(HostImport{"args_read", i32s(1), 0})
	give := m.AddImport(HostImport{"return_data", i32s(2), 0})
	first := uint32(len(m.Imports))
	for _, f := range functions {
		m.AddImport(f)
	}
	for i, f := range functions {
		body := Concat(Const(I32, 0), Call(read))
		for k, t := range f.Params {
			body = Concat(body, Const(I32, 0), Op(loadOf(t), 0, uint32(8*k)))
		}
		body = Concat(body, Call(first+uint32(i)))
		switch f.Result {
		case I32:
			body = Concat(body, []byte{I64ExtendI32U}, Op(LocalSet, 0))
		case I64:
			body = Concat(body, Op(LocalSet, 0))
		}
		body = Concat(body, Const(I32, 64), Op(LocalGet, 0), Op(I64Store, 0, 0), Const(I32, 64), Const(I32, 8), Call(give))
		m.Export(f.Name, FunctionKind, m.AddFunction(procedure, []byte{I64}, body...))
	}
	return m
}

func loadOf(t byte) byte {
	if t == I32 {
		return I32Load
	}
	return I64Load
}

const namesAt = 1024 // address of the names of the functions that the hostile contract calls

// Hostile returns a contract whose functions each exhaust a resource of a call:
//
//   - loop, recurse, mutual, indirect, wide: time, and the stack in four ways
//   - grow: memory, a page at a time, each touched; growAll: more pages than possible
//   - storage, bigStorage, events, bigEvents, output: data kept by the host
//   - relay, fork, growRelay: call the same function of the contract in the first 32 bytes of the arguments, with the
//     next 32 bytes moved to the front. They do so once, twice, or after growing, and return the code of the last call
//   - arguments: calls function sink of the contract in the arguments with 64 KiB repeatedly
//
// If reentrant, it may be entered while it is active.
func Hostile(reentrant bool) *Module {
	h := &hostile{Module: Contract(2, 16)}
	procedure := h.AddType(nil, 0)
	h.read = h.AddImport(HostImport{"args_read", i32s(1), 0})
	h.give = h.AddImport(HostImport{"return_data", i32s(2), 0})
	write := h.AddImport(HostImport{"storage_write", i32s(4), 0})
	emit := h.AddImport(HostImport{"emit", i32s(6), 0})
	h.call = h.AddImport(HostImport{"call", append(i32s(5), I64, I64), I32})
	add := func(name string, locals []byte, body ...byte) {
		h.Export(name, FunctionKind, h.AddFunction(procedure, locals, body...))
	}
	next := func() uint32 { return uint32(len(h.Imports) + len(h.Functions)) }

	add("sink", nil)
	add("loop", nil, forever(nil)...)
	add("recurse", nil, Call(next())...)
	add("mutual", nil, Call(next()+1)...)
	h.AddFunction(procedure, nil, Call(next()-1)...)
	h.Tables = [][]byte{Concat([]byte{0x70, 0}, U32(2_500))}
	h.Elements = [][]byte{Element(2_499, next())}
	add("indirect", nil, Concat(Const(I32, 2_499), Op(CallIndirect, procedure, 0))...)
	add("wide", allOf(I64, 100), Call(next())...)

	grow := forever(Concat(
		Const(I32, 1), Op(MemoryGrow, 0), Op(LocalTee, 0), Const(I32, -1), []byte{I32Eq}, Op(BrIfOp, 1),
		Op(LocalGet, 0), Const(I32, 16), []byte{I32Shl}, Const(I32, 1), Op(I32Store, 0, 0)))
	grow = Concat([]byte{BlockOp, Empty}, grow, []byte{End})
	add("grow", i32s(1), grow...)
	add("growAll", nil, Concat(Const(I32, 0x7FFFFFFF), Op(MemoryGrow, 0), Op(Drop))...)

	add(
		"storage", i32s(1), countingAt0(Concat(Const(I32, 0), Const(I32, 4), Const(I32, 0), Const(I32, 4), Call(write)))...,
	)
	add(
		"bigStorage", i32s(1),
		countingAt0(Concat(Const(I32, 0), Const(I32, 256), Const(I32, 0), Const(I32, 16<<10), Call(write)))...,
	)
	numbers := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = append(b, Const(I32, v)...)
		}
		return b
	}
	add("events", nil, forever(Concat(numbers(0, 0, 0, 0, 0, 0), Call(emit)))...)
	add("bigEvents", nil, forever(Concat(numbers(0, 64, 0, 3, 0, 16<<10), Call(emit)))...)
	add("output", nil, forever(Concat(numbers(0, 64<<10), Call(h.give)))...)

	for _, relay := range []struct {
		name   string
		before []byte
		times  int
	}{{"relay", nil, 1}, {"fork", nil, 2}, {"growRelay", grow, 1}} {
		add(relay.name, i32s(1), Concat(relay.before, h.relay(relay.name, relay.times))...)
	}
	name := h.name("sink")
	add("arguments", nil, Concat(Const(I32, 0), Call(h.read),
		forever(Concat(Const(I32, 0), name, numbers(0, 64<<10), Const(I64, 0), Const(I64, -1), Call(h.call), Op(Drop))))...)
	if reentrant {
		add("_reentrant", nil)
	}
	return h.Module
}

// hostile is the contract under construction.
type hostile struct {
	*Module
	read, give, call uint32
	names            int32 // bytes of names so far
}

// name adds a name to the memory and returns its pointer and length.
func (h *hostile) name(name string) []byte {
	at := namesAt + h.names
	h.Data = append(h.Data, Data(at, name))
	h.names += int32(len(name))
	return Concat(Const(I32, int64(at)), Const(I32, int64(len(name))))
}

func (h *hostile) relay(function string, times int) []byte {
	body := Concat(Const(I32, 0), Call(h.read))
	for at := int64(0); at < 32; at += 8 { // swaps the first 32 bytes behind the second
		body = Concat(body, Const(I32, at), Const(I32, at), Op(I64Load, 0, 0), Op(I64Store, 0, 64))
	}
	name := h.name(function)
	for range times {
		body = Concat(
			body, Const(I32, 0), name, Const(I32, 32), Const(I32, 64), Const(I64, 0), Const(I64, -1), Call(h.call),
			Op(LocalSet, 0),
		)
	}
	return Concat(body, Const(I32, 128), Op(LocalGet, 0), Op(I32Store, 0, 0), Const(I32, 128), Const(I32, 4), Call(h.give))
}

// forever repeats instructions.
func forever(body []byte) []byte {
	return Concat([]byte{LoopOp, Empty}, body, Op(BrOp, 0), []byte{End})
}

// countingAt0 repeats instructions with an increasing number at address 0. Local 0 is the counter.
func countingAt0(body []byte) []byte {
	return forever(Concat(
		Const(I32, 0), Op(LocalGet, 0), Const(I32, 1), Op(I32Add), Op(LocalTee, 0), Op(I32Store, 0, 0), body))
}
