package rpc

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// simulator executes what is not of a block.
type simulator struct {
	ledger     Ledger
	engines    Engines
	executions *executions
	chainID    uint64
	gas        types.Gas // execution gas of a call at most
}

// trial is an engine for a deploy that is simulated. Its code is run in an engine beside, because nobody has paid for
// what the engine of other views keeps of it, on disk above all. The contracts that it calls are run in the engine of
// other views.
type trial struct {
	vm.Engine
	beside vm.Engine
	code   types.CodeHash // that is run beside
}

// machine runs what is not of a block.
func (s *simulator) machine() exec.Machine {
	machine := s.ledger.Machine()
	machine.Engine = s.engines.Views
	return machine
}

// machineFor is what simulates a transaction.
func (s *simulator) machineFor(tx types.Transaction) exec.Machine {
	machine := s.machine()
	if p, ok := tx.Payload.(types.Deploy); ok {
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
