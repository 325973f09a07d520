package node

import (
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/types"
)

// viewMemory is the approximate limit in bytes for the compiled code and idle instances of simulated calls.
const viewMemory = 64 << 20

// openEngines opens the engines for contracts in blocks, for simulated calls, and for simulated deploys. Simulated
// calls cost nothing, so they must not evict the code that blocks keep in memory.
func (n *Node) openEngines() (err error) {
	const name = "the contract engine"
	if n.engine, err = n.dir.Engine(); err != nil {
		return err
	}
	n.opened(name, n.engine.Close)
	if n.views, err = n.engine.Beside(wasm.Options{Bytes: viewMemory, Idle: 128, Log: n.config.Log}); err != nil {
		return err
	}
	n.opened(name, n.views.Close)
	if n.trials, err = wasm.New(wasm.Options{Codes: 16, Fresh: true, Log: n.config.Log}); err != nil {
		return err
	}
	n.opened(name, n.trials.Close)
	return nil
}

// noting makes an engine for one trace. It compiles code in another form than the engine for blocks, so it caches
// nothing, not even on disk. It does not report the use of machine stack, which may be larger in that form.
func (n *Node) noting(
	stopped func(types.CodeHash, []vm.Place),
) (engine vm.Engine, shut func() error, err error) {
	e, err := wasm.New(wasm.Options{Fresh: true, Bytes: viewMemory, Stopped: stopped})
	if err != nil {
		return nil, nil, err
	}
	return n.book.DenyOnly(e), e.Close, nil
}

// engineStats returns the statistics of the engine for blocks. The count of exceeded stacks includes all engines.
func (n *Node) engineStats() wasm.Stats {
	s := n.engine.Stats()
	s.Deeper += n.views.Stats().Deeper + n.trials.Stats().Deeper
	return s
}

func engineMetrics() []telemetry.Metric[wasm.Stats] {
	type stats = wasm.Stats
	return []telemetry.Metric[stats]{
		telemetry.Gauge("contract_modules", "Contract modules cached in memory.", func(s stats) int { return s.Codes }),
		telemetry.Gauge("contract_idle_instances", "Idle contract instances ready for a call.", func(s stats) int { return s.Idle }),
		telemetry.Gauge("contract_code_bytes",
			"Approximate memory used by modules, their machine code and idle instances.",
			func(s stats) int { return s.Bytes }),
		telemetry.Gauge("contract_code_disk_bytes", "Size of the machine code cache on disk.",
			func(s stats) int64 { return s.DiskBytes }),
		telemetry.Counters("contract_calls_total",
			"Contract calls, including nested ones, by whether they reused an instance.", "instance",
			func(s stats) map[string]uint64 { return map[string]uint64{"reused": s.Reused, "new": s.Instantiated} }),
		telemetry.Counters("contract_loads_total", "Modules loaded into memory, by the source of their machine code.",
			"from", func(s stats) map[string]uint64 {
				return map[string]uint64{"disk": s.Loaded, "compiler": s.Compiled - min(s.Loaded, s.Compiled)}
			}),
		telemetry.Counter("contract_stack_exceeded_total",
			"Calls that used more native stack than metering accounts for; their outcome is unaffected.",
			func(s stats) uint64 { return s.Deeper }),
		telemetry.Counter("contract_code_rejected_total",
			"Damaged machine code files found on disk.",
			func(s stats) uint64 { return s.Rejected }),
	}
}

func viewMetrics() []telemetry.Metric[wasm.Stats] {
	return []telemetry.Metric[wasm.Stats]{
		telemetry.Gauge("simulation_code_bytes",
			"Approximate memory used by modules, machine code and idle instances for view calls and estimates.",
			func(s wasm.Stats) int { return s.Bytes }),
	}
}
