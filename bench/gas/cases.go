package main

//lint:file-ignore ST1001 Modules are written in wasmgen's language, as in the tests.

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"github.com/cairn-chain/cairn/crypto"
	. "github.com/cairn-chain/cairn/internal/testkit/wasmgen"
)

// measured is a contract that is called, with its own ID twice as arguments.
type measured struct {
	name     string
	code     []byte
	function string
}

const pageSize = 64 << 10

// cases are the operations in what is taken for their worst case. Most go on until their gas ends.
func cases() []measured {
	all := instructions()
	all = append(all, hostFunctions()...)
	hostile := Hostile(true).Encode()
	for _, function := range []string{"loop", "recurse", "mutual", "indirect", "wide", "grow", "growRelay", "relay", "fork", "arguments", "storage", "bigStorage", "events", "bigEvents", "output"} {
		all = append(all, measured{"hostile: " + function, hostile, function})
	}
	return append(all, memories()...)
}

// instructions are loops of 50 times the same few instructions.
func instructions() (all []measured) {
	get, set := Op(LocalGet, 0), Op(LocalSet, 0)
	for _, c := range []struct {
		name   string
		locals []byte
		body   []byte
	}{
		{"additions", []byte{I64}, Concat(get, get, []byte{I64Add}, set)},
		{"multiplications", []byte{I64}, Concat(get, Const(I64, 3), []byte{I64Mul}, set)},
		{"divisions of 32 bits", []byte{I32}, Concat(Const(I32, -1), get, Const(I32, 3), []byte{I32Add, I32DivU}, set)},
		{"divisions of 64 bits", []byte{I64}, Concat(Const(I64, -1), get, Const(I64, 3), []byte{I64Add, I64DivU}, set)},
		{"loads that wait for each other, 1 MiB", []byte{I32, I32}, Concat(chase(), set)},
		{"stores over 1 MiB", []byte{I32}, Concat(walk(), Const(I32, 1), Op(I32Store, 0, 0))},
		{"globals", []byte{I32}, Concat(Op(GlobalGet, 0), Const(I32, 1), []byte{I32Add}, Op(GlobalSet, 0))},
		{"br_ifs that nobody can foresee", []byte{I64}, Concat([]byte{BlockOp, Empty}, random(), Op(BrIfOp, 0), []byte{End})},
		{"ifs that nobody can foresee", []byte{I64}, Concat(random(), []byte{IfOp, Empty}, Op(GlobalGet, 0), Op(GlobalSet, 0), []byte{End})},
		{"br_tables that nobody can foresee", []byte{I64}, Concat(bytes.Repeat([]byte{BlockOp, Empty}, 4), random(), BrTable(0, 1, 2, 3, 0, 2, 1, 3, 0), bytes.Repeat([]byte{End}, 4))},
	} {
		all = append(all, measured{c.name, repeated(nil, c.locals, 50, c.body), "run"})
	}
	return append(all, calls()...)
}

// random pushes 0 to 7 by a generator in local 0 (Knuth's MMIX).
func random() []byte {
	return Concat(Op(LocalGet, 0), Const(I64, 6364136223846793005), []byte{I64Mul}, Const(I64, 1442695040888963407), []byte{I64Add},
		Op(LocalTee, 0), Const(I64, 61), []byte{I64ShrU, I32WrapI64})
}

// chase pushes an address within 1 MiB that depends on what is at the last one, in local 0: memory is all zero, and who
// reads it cannot know.
func chase() []byte {
	return Concat(Op(LocalGet, 0), Op(I32Load, 2, 0), Op(LocalGet, 0), Const(I32, 516_136), []byte{I32Add, I32Add}, Const(I32, 0xF_FFFC), []byte{I32And})
}

// walk pushes local 0 within 1 MiB and moves it on to another cache line and page.
func walk() []byte {
	return Concat(Op(LocalGet, 0), Const(I32, 516_136), []byte{I32Add}, Const(I32, 0xF_FFF0), []byte{I32And}, Op(LocalTee, 0))
}

// calls are calls of functions that do nothing.
func calls() []measured {
	direct, indirect := Contract(1, 1), Contract(1, 1)
	direct.AddType(nil, 0)
	direct.AddFunction(0, nil)
	direct.Export("run", FunctionKind, direct.AddFunction(0, nil, Concat([]byte{LoopOp, Empty}, bytes.Repeat(Call(0), 50), Op(BrOp, 0), []byte{End})...))
	indirect.AddType(nil, 0)
	indirect.AddFunction(0, nil)
	indirect.Tables = [][]byte{{0x70, 0, 1}}
	indirect.Elements = [][]byte{Element(0, 0)}
	indirect.Export("run", FunctionKind, indirect.AddFunction(0, nil,
		Concat([]byte{LoopOp, Empty}, bytes.Repeat(Concat(Const(I32, 0), Op(CallIndirect, 0, 0)), 50), Op(BrOp, 0), []byte{End})...))
	return []measured{{"calls", direct.Encode(), "run"}, {"indirect calls", indirect.Encode(), "run"}}
}

// hostFunctions are loops of one call of a host function.
func hostFunctions() (all []measured) {
	pointers := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = append(b, Const(I32, v)...)
		}
		return b
	}
	const most = 1<<20 - 32
	for _, c := range []struct {
		name, function string
		params         int // i32
		result         byte
		args           []byte
	}{
		{"args_len", "args_len", 0, I32, nil},
		{"caller", "caller", 1, 0, pointers(0)},
		{"args_read", "args_read", 1, 0, pointers(0)},
		{"return_data", "return_data", 2, 0, pointers(0, 64<<10)},
		{"debug", "debug", 2, 0, pointers(0, 1<<10)},
		{"balance", "balance", 1, I64, pointers(0)},
		{"code_hash", "code_hash", 2, I32, pointers(0, 32)},
		{"storage_read of one key", "storage_read", 4, I32, pointers(0, 32, 0, 0)},
		{"storage_write of one key", "storage_write", 4, 0, pointers(0, 32, 0, 32)},
		{"storage_write of one key, 16 KiB", "storage_write", 4, 0, pointers(0, 32, 0, 16<<10)},
		{"sha256 of nothing", "sha256", 3, 0, pointers(0, 0, 0)},
		{"sha256 of 1 MiB − 32 bytes", "sha256", 3, 0, pointers(0, most, 0)},
		{"keccak256 of nothing", "keccak256", 3, 0, pointers(0, 0, 0)},
		{"keccak256 of 1 MiB − 32 bytes", "keccak256", 3, 0, pointers(0, most, 0)},
		{"blake3 of nothing", "blake3", 3, 0, pointers(0, 0, 0)},
		{"blake3 of 1 MiB − 32 bytes", "blake3", 3, 0, pointers(0, most, 0)},
		{"schnorr_verify", "schnorr_verify", 4, I32, pointers(64, 0, 0, 128)},
		{"ecdsa_recover", "ecdsa_recover", 3, I32, pointers(192, 224, 320)},
	} {
		body := Concat(c.args, Call(0))
		if c.result != 0 {
			body = append(body, Drop)
		}
		host := HostImport{Name: c.function, Params: manyI32(c.params), Result: c.result}
		all = append(all, measured{c.name, repeated(&host, nil, 1, body), "run"})
	}
	return all
}

func manyI32(n int) []byte { return bytes.Repeat([]byte{I32}, n) }

// memories are calls that take memory, use each of its pages, and end.
func memories() []measured {
	touch := func(m *Module, before []byte) []byte {
		const step = 4 << 10
		m.AddType(nil, 0)
		m.Export("run", FunctionKind, m.AddFunction(0, []byte{I32}, Concat(before, []byte{LoopOp, Empty},
			Op(LocalGet, 0), Const(I32, 1), Op(I32Store, 2, 0),
			Op(LocalGet, 0), Const(I32, step), []byte{I32Add}, Op(LocalTee, 0), Const(I32, 16*pageSize), []byte{I32LtU}, Op(BrIfOp, 0), []byte{End})...))
		return m.Encode()
	}
	return []measured{
		{"initial memory of 16 pages, all used", touch(Contract(16, 16), nil), "run"},
		{"memory grown to 16 pages, all used", touch(Contract(1, 16), Concat(Const(I32, 15), Op(MemoryGrow, 0), []byte{Drop})), "run"},
	}
}

// repeated makes a contract of 1 MiB that runs instructions n at a time without end. It holds a valid BIP-340 signature
// and a recoverable one where hostFunctions look for them.
func repeated(host *HostImport, locals []byte, n int, body []byte) []byte {
	m := Contract(16, 16)
	if host != nil {
		m.AddImport(*host)
	}
	m.Globals = [][]byte{Global(I32, true, 0)}
	m.Data = [][]byte{Data(64, signatures())}
	procedure := m.AddType(nil, 0)
	loop := Concat([]byte{LoopOp, Empty}, bytes.Repeat(body, n), Op(BrOp, 0), []byte{End})
	m.Export("run", FunctionKind, m.AddFunction(procedure, locals, loop...))
	return m.Encode()
}

// signatures is a BIP-340 key (at 64) and signature of nothing (at 128), and a hash (at 192) with an ECDSA signature from
// which a key can be recovered (at 224): any s does, with the generator's x for r.
func signatures() string {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("signer")))
	if err != nil {
		panic(err)
	}
	signature, err := key.Sign(nil, [32]byte{})
	if err != nil {
		panic(err)
	}
	public := key.PublicKey()
	generator := "\x79\xbe\x66\x7e\xf9\xdc\xbb\xac\x55\xa0\x62\x95\xce\x87\x0b\x07\x02\x9b\xfc\xdb\x2d\xce\x28\xd9\x59\xf2\x81\x5b\x16\xf8\x17\x98"
	s := sha256.Sum256([]byte("s"))
	s[0] &= 0x3F
	hash := sha256.Sum256(nil)
	return string(public[:]) + strings.Repeat("\x00", 32) + string(signature[:]) + string(hash[:]) + generator + string(s[:]) + "\x00"
}
