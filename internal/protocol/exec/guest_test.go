package exec

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// guest is a contract's instance whose code is a Go function: it reaches the chain through host functions, as code
// does.
type guest struct {
	host   vm.Host
	gas    *vm.Gas
	memory testMemory
}

// script is the code of a function.
type script func(g *guest)

// testMemory is two pages of memory.
type testMemory []byte

func (m testMemory) Range(pointer, n uint32) ([]byte, bool) {
	end := uint64(pointer) + uint64(n)
	if end > uint64(len(m)) {
		return nil, false
	}
	return m[pointer:end], true
}

func (m testMemory) Pages() uint32 { return uint32(len(m) >> 16) }

// ended unwinds a guest that a host function stopped.
type ended struct {
	exit vm.Exit
	err  error
}

// call calls a host function and returns its result.
func (g *guest) call(f vm.Function, args ...uint64) uint64 {
	stack := append(slices.Clone(args), 0)
	exit, err := g.host.Invoke(f, g.memory, stack, g.gas)
	if err != nil || exit != vm.Returned {
		panic(ended{exit, err})
	}
	return stack[0]
}

// trap ends the guest.
func (g *guest) trap() { panic(ended{exit: vm.Trapped}) }

// put writes bytes to the memory and returns their address.
func (g *guest) put(pointer uint64, b []byte) uint64 {
	copy(g.memory[pointer:], b)
	return pointer
}

// text is put for a string, and also returns the length.
func (g *guest) text(pointer uint64, s string) (uint64, uint64) {
	return g.put(pointer, []byte(s)), uint64(len(s))
}

// write writes a value to the contract's storage.
func (g *guest) write(key, value string) {
	k, kn := g.text(0x100, key)
	v, vn := g.text(0x200, value)
	g.call(vm.StorageWrite, k, kn, v, vn)
}

// read reads a value of the contract's storage.
func (g *guest) read(key string) string {
	k, n := g.text(0x100, key)
	length := uint32(g.call(vm.StorageRead, k, n, 0x1000, 0x1000))
	if length == none {
		return ""
	}
	return string(g.memory[0x1000 : 0x1000+length])
}

// emit emits an event without topics.
func (g *guest) emit(name, data string) {
	n, nn := g.text(0x100, name)
	d, dn := g.text(0x200, data)
	g.call(vm.Emit, n, nn, 0, 0, d, dn)
}

// nested calls another contract with all its gas.
func (g *guest) nested(to types.ContractID, function string, value types.Amount, args string) uint64 {
	f, fn := g.text(0x100, function)
	a, an := g.text(0x200, args)
	return g.call(vm.Call, g.put(0x80, to[:]), f, fn, a, an, uint64(value), 1<<62)
}

// result returns the content of the result buffer.
func (g *guest) result() string {
	n := g.call(vm.ResultLen)
	g.call(vm.ResultRead, 0x3000)
	return string(g.memory[0x3000 : 0x3000+n])
}

// answer sets the return data.
func (g *guest) answer(format string, args ...any) {
	p, n := g.text(0x4000, fmt.Sprintf(format, args...))
	g.call(vm.ReturnData, p, n)
}

// scripted is an engine that runs scripts instead of the code of modules.
type scripted struct {
	modules map[types.CodeHash]*vm.Module
	scripts map[types.CodeHash]map[string]script
	codes   map[types.CodeHash][]byte

	compiled []types.CodeHash
}

func (e *scripted) Code(hash types.CodeHash) ([]byte, error) { return e.codes[hash], nil }

func (e *scripted) Module(hash types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	if m, ok := e.modules[hash]; ok {
		return m, nil
	}
	b, err := code()
	if err != nil {
		return nil, err
	}
	m, err := vm.Check(b)
	e.modules[hash] = m
	return m, err
}

func (e *scripted) Run(
	hash types.CodeHash, m *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (exit vm.Exit, err error) {
	defer func() {
		if e, ok := recover().(ended); ok {
			exit, err = e.exit, e.err
		}
		if exit != vm.Returned && exit != vm.Reverted {
			gas.Forfeit()
		}
	}()
	g := &guest{host: host, gas: gas, memory: make(testMemory, m.Pages()<<16)}
	e.scripts[hash][function](g)
	return vm.Returned, nil
}

// withMachine sets an engine of scripts for a chain.
func withMachine(t *testing.T) (*testChain, *scripted) {
	t.Helper()
	c := newTestChain(t)
	e := &scripted{
		modules: map[types.CodeHash]*vm.Module{}, scripts: map[types.CodeHash]map[string]script{},
		codes: map[types.CodeHash][]byte{},
	}
	c.machine = Machine{Engine: e, Codes: e}
	return c, e
}

// Compile implements [vm.Engine].
func (e *scripted) Compile(hash types.CodeHash, _ *vm.Module) error {
	e.compiled = append(e.compiled, hash)
	return nil
}

// code makes a module that exports the scripts' names; label makes it unique. The options are pages (default 2) and
// further exports.
func (e *scripted) code(label string, pages uint32, scripts map[string]script) []byte {
	m := wasmgen.Contract(pages, 16)
	procedure := m.AddType(nil, 0)
	f := m.AddFunction(procedure, nil)
	names := make([]string, 0, len(scripts))
	for name := range scripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		m.Export(name, wasmgen.FunctionKind, f)
	}
	code := append(m.Encode(), wasmgen.Section(0, wasmgen.Name(label))...)
	hash := types.CodeHash(sha256.Sum256(code))
	e.scripts[hash], e.codes[hash] = scripts, code
	return code
}

// deploy deploys scripts in a block of their own, with coins.
func (c *testChain) deploy(e *scripted, label string, value types.Amount, scripts map[string]script) types.ContractID {
	c.t.Helper()
	code := e.code(label, 2, scripts)
	result := c.block(c.action(alice, 400_000_000, deploying(value, types.Deploy{
		Name: label[:min(len(label), types.MaxNameBytes)], Code: code,
	})))
	r := result.Receipts[0]
	if r.Contract == nil {
		c.t.Fatalf("deploy of %s: %s", label, result.Reasons[0])
	}
	if len(result.Codes) != 1 || string(result.Codes[sha256.Sum256(code)]) != string(code) {
		c.t.Fatalf("the block has the codes %v", result.Codes)
	}
	if n := len(e.compiled); n == 0 || e.compiled[n-1] != sha256.Sum256(code) {
		c.t.Fatalf("the deploy did not compile its code: got %v", e.compiled)
	}
	return *r.Contract
}

// action returns a transaction with an action.
func (c *testChain) action(key crypto.PrivateKey, gas types.Gas, a action) *types.VerifiedTx {
	c.t.Helper()
	return c.transfer(key, func(tx *types.Transaction) { tx.GasLimit = gas; a.in(tx) })
}

// run calls a function in a block of its own and returns the block.
func (c *testChain) run(to types.ContractID, function string) Result {
	c.t.Helper()
	return c.block(c.action(alice, 100_000_000, calling(to, function, 0)))
}

// runWith is run with a value.
func (c *testChain) runWith(to types.ContractID, function string, value types.Amount) Result {
	c.t.Helper()
	return c.block(c.action(alice, 100_000_000, calling(to, function, value)))
}

// listed returns the keys of a result's accesses as bytes.
func listed(r Result) (keys []string) {
	for _, a := range r.Accesses {
		keys = append(keys, string(a.Key))
	}
	return keys
}

// repeat returns n equal bytes.
func repeat(n int) string { return strings.Repeat("x", n) }
