package rpc

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// simulator executes transactions and calls outside blocks.
type simulator struct {
	ledger     Ledger
	engines    Engines
	executions *executions
	chainID    uint64
	network    types.Network
	gas        types.Gas // greatest execution gas of a call
}

// trial is an engine for a simulated deploy. It runs the deploy's code in an engine of its own: nobody has paid for
// caching that code, above all on disk, in the engine of views. It runs the contracts that the code calls in the engine
// of views.
type trial struct {
	vm.Engine
	beside vm.Engine
	code   types.CodeHash // code of the simulated deploy; runs in beside
}

// machine returns a machine for execution outside blocks.
func (s *simulator) machine() exec.Machine {
	machine := s.ledger.Machine()
	machine.Engine = s.engines.Views
	return machine
}

// machineFor returns a machine for simulating a transaction with a payload.
func (s *simulator) machineFor(payload types.Payload) exec.Machine {
	machine := s.machine()
	if p, ok := payload.(types.Deploy); ok {
		machine.Engine = trial{Engine: machine.Engine, beside: s.engines.Trials, code: sha256.Sum256(p.Code)}
	}
	return machine
}

func (t trial) of(hash types.CodeHash) vm.Engine {
	if hash == t.code {
		return t.beside
	}
	return t.Engine
}

// Module implements [vm.Engine].
func (t trial) Module(hash types.CodeHash, code func() ([]byte, error)) (*vm.Module, error) {
	return t.of(hash).Module(hash, code)
}

// Compile implements [vm.Engine].
func (t trial) Compile(hash types.CodeHash, m *vm.Module) error { return t.of(hash).Compile(hash, m) }

// Run implements [vm.Engine].
func (t trial) Run(hash types.CodeHash, m *vm.Module, function string, host vm.Host, gas *vm.Gas) (vm.Exit, error) {
	return t.of(hash).Run(hash, m, function, host, gas)
}
