package sequencer

import (
	"errors"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/wasmgen"
	"github.com/cairn-chain/cairn/types"
)

// fakeEngine runs a module that the test deploys under several codes. Function "loop" takes the time that the test sets
// for the code.
type fakeEngine struct {
	clock *handClock
	// duration of each step of a call of the code; a code that is not listed takes no time
	step   map[types.CodeHash]time.Duration
	steps  int    // of a call
	used   uint64 // gas of a call
	faulty map[types.CodeHash]bool
	calls  map[types.CodeHash]int
}

func newFakeEngine(clock *handClock) *fakeEngine {
	return &fakeEngine{
		clock:  clock,
		step:   map[types.CodeHash]time.Duration{},
		steps:  1,
		used:   50_000,
		faulty: map[types.CodeHash]bool{},
		calls:  map[types.CodeHash]int{},
	}
}

func (e *fakeEngine) Module(_ types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	binary, err := code()
	if err != nil {
		return nil, err
	}
	return vm.Check(binary)
}

func (*fakeEngine) Compile(types.CodeHash, *vm.Module) error { return nil }

func (e *fakeEngine) Run(hash types.CodeHash, _ *vm.Module, _ string, host vm.Host, gas *vm.Gas) (vm.Exit, error) {
	e.calls[hash]++
	if e.faulty[hash] {
		return 0, errors.New("injected fault of the engine")
	}
	if !gas.Take(e.used) {
		return vm.OutOfGas, nil
	}
	for range e.steps {
		e.clock.now = e.clock.now.Add(e.step[hash])
		if err := host.Continue(); err != nil {
			return 0, err
		}
	}
	return vm.Returned, nil
}

// variant is a contract with a function "loop"; its code differs for each n.
func variant(n int) []byte {
	m := wasmgen.Contract(1, 1)
	procedure := m.AddType(nil, 0)
	m.Export(
		"loop", wasmgen.FunctionKind,
		m.AddFunction(procedure, nil, wasmgen.Concat(wasmgen.Const(wasmgen.I64, int64(n)), wasmgen.Op(wasmgen.Drop))...),
	)
	return m.Encode()
}

func codeHash(code []byte) types.CodeHash {
	codes, err := CodesOf(nil, &types.Transaction{Payload: types.Deploy{Code: code}})
	if err != nil || len(codes.Run) != 1 {
		panic(err)
	}
	return codes.Run[0]
}

// withFakes returns a chain whose contracts the fake engine runs, one of each variant, deployed by alice, and funded
// accounts.
func withFakes(t *testing.T, blockTime time.Duration, variants int) (*contractFixture, *fakeEngine, []action) {
	t.Helper()
	clock := new(handClock)
	engine := newFakeEngine(clock)
	f := withMachine(t, engine, clock, blockTime)
	calls := make([]action, variants)
	for i := range variants {
		f.block(f.send(alice, uint64(i), 1, deploy("fake", variant(i))))
		calls[i] = call(types.NewContractID(types.Account(alice.PublicKey()), uint64(i)), "loop")
	}
	return f, engine, calls
}
