package hunt

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

// Objective is a cost of candidates to maximize.
type Objective struct {
	Name string
	Unit string
	// Kinds lists the kinds of candidates to measure.
	Kinds []Kind
	// Timed means that the value is a duration, the least of some runs.
	Timed   bool
	Measure func(g Genes, runs int) (Score, error)
}

// Score is the result of a measurement.
type Score struct {
	Value float64 // in the objective's unit
	Gas   types.Gas
	Took  time.Duration // 0 for untimed objectives
}

// Objectives lists all objectives.
var Objectives = []Objective{
	{"execute", "ns a gas of execution", []Kind{Code}, true, execute},
	{"frame", "bytes of machine stack for each 8 of a slot", []Kind{Code}, false, frame},
	{"compile", "ns a gas of the deploy", []Kind{Code, Chain}, true, compile},
	{"noted", "ms to compile the form that notes where calls stand", []Kind{Code, Chain}, true, noted},
	{"memory", "bytes allocated a gas of the deploy", []Kind{Code, Chain}, false, compileMemory},
	{"block", "processor ns a gas of a whole block", []Kind{Chain, Code}, true,
		onChain(wasm.Options{}, (*Made).processor)},
	{"fresh", "the same, every call in a new instance", []Kind{Chain}, true,
		onChain(wasm.Options{Fresh: true}, (*Made).processor)},
	{"cold", "the same, every contract's machine code from disk once, 32 gas a unit of load at least", []Kind{Chain},
		true, cold},
	{"end", "ns by the clock of the block's end a gas", []Kind{Chain}, true, onChain(wasm.Options{}, (*Made).End)},
	{"allocate", "bytes allocated a gas of a whole block", []Kind{Chain, Code}, false,
		onChain(wasm.Options{}, (*Made).allocated)},
	{"differ", "nodes that see another outcome", []Kind{Chain, Code}, false, differ},
}

// ObjectiveOf returns the objective with a name.
func ObjectiveOf(name string) (Objective, error) {
	i := slices.IndexFunc(Objectives, func(o Objective) bool { return o.Name == name })
	if i < 0 {
		return Objective{}, fmt.Errorf("there is no objective %q", name)
	}
	return Objectives[i], nil
}

// IsRefusal reports whether an error means that a candidate is invalid or ends before anything is measured, in contrast
// to a fault.
func IsRefusal(err error) bool {
	var refused *vm.Refused
	return errors.As(err, &refused) || errors.Is(err, ErrDear) || errors.Is(err, errEarly)
}

// Unit returns the time, in ns, in which this machine does what takes 1 ns on the reference machine.
func Unit() (float64, error) {
	chained, err := Chained()
	return chained / ChainedThere, err
}

// ChainedThere is the result of [Chained] on the reference machine.
const ChainedThere = 1.54

// Chained returns the time in ns of a multiplication and an addition in a dependency chain: about 5 cycles. It is the
// least processor time of some runs.
func Chained() (float64, error) {
	const times = 20_000_000
	best := math.Inf(1)
	for run := range 5 {
		took, err := measuring(func() error {
			x := uint64(run)
			for range times {
				x = x*6364136223846793005 + 1442695040888963407
			}
			if x == 0 {
				return errors.New("an odd chance")
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		best = min(best, float64(took)/times)
	}
	return best, nil
}

func (m *Made) processor() time.Duration { return m.Took }

// allocated returns Allocated as a duration of one nanosecond per byte.
func (m *Made) allocated() time.Duration { return time.Duration(m.Allocated) }

// check returns a candidate's module if the rules accept it and its deploy fits into a block.
func (c Candidate) check() (*vm.Module, error) {
	module, err := vm.Check(c.Code)
	if err == nil && DeployGas(c.Code, module) > params.DefaultGasLimit-1_000_000 {
		err = ErrDear
	}
	return module, err
}

// DeployGas returns the gas of deploying a module.
func DeployGas(code []byte, module *vm.Module) types.Gas {
	return fees.PayloadGas(types.Deploy{Code: code}) + fees.WitnessGas(nil) + module.DeployGas()
}

// measuring runs f with the garbage collector off and returns its processor time.
func measuring(f func() error) (time.Duration, error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	before, err := cputime.Used()
	if err != nil {
		return 0, err
	}
	if err := f(); err != nil {
		return 0, err
	}
	after, err := cputime.Used()
	return after - before, err
}

// quiet is a host that returns 0, for measuring code without a chain.
type quiet struct{}

func (quiet) Invoke(function vm.Function, _ vm.Memory, stack []uint64, gas *vm.Gas) (vm.Exit, error) {
	if !gas.Take(uint64(vm.Functions[function].Price)) {
		return vm.OutOfGas, nil
	}
	if vm.Functions[function].Result != 0 {
		stack[0] = 0
	}
	return vm.Returned, nil
}

func (quiet) Grow(vm.Memory, uint32) bool { return true }
func (quiet) Continue() error             { return nil }

// A call measured for its execution first has probeGas, and then executionGas unless it already took long.
const (
	probeGas     = 100_000
	executionGas = 8_000_000
	leastGas     = 50_000 // below it the fixed cost of a call dominates, which "fresh" and "block" measure
	long         = 4 * time.Millisecond
)

// execute measures the execution of code without a chain.
func execute(g Genes, runs int) (best Score, err error) {
	c := g.Build()
	module, err := c.check()
	if err != nil {
		return best, err
	}
	engine, err := wasm.New(wasm.Options{})
	if err != nil {
		return best, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	hash := types.CodeHash(sha256.Sum256(c.Code))
	if err := engine.Compile(hash, module); err != nil {
		return best, err
	}
	run := func(gas uint64) (exit vm.Exit, left uint64, err error) {
		lent := vm.Gas{Left: gas}
		exit, err = engine.Run(hash, module, "run", quiet{}, &lent)
		return exit, lent.Left, err
	}
	gas := uint64(probeGas)
	if took, err := measuring(func() error { _, _, err := run(gas); return err }); err != nil {
		return best, err
	} else if took < long {
		gas = executionGas
	}
	best.Value = math.Inf(1)
	for range runs {
		var exit vm.Exit
		var left uint64
		took, err := measuring(func() (err error) { exit, left, err = run(gas); return err })
		if err != nil {
			return best, err
		}
		used := gas - left
		if exit == vm.Trapped || exit == vm.StackOverflow || used < leastGas {
			return best, errEarly // after the first two the gas is lost, not used
		}
		if value := float64(took) / float64(used); value < best.Value {
			best = Score{value, types.Gas(used), took}
		}
	}
	return best, nil
}

// errEarly is returned for code that traps or ends too early.
var errEarly = errors.New("the call ended too early")

// frame returns the score of the function with the worst frame.
func frame(g Genes, _ int) (s Score, err error) {
	module, err := vm.Check(g.Build().Code)
	if err != nil {
		return s, err
	}
	frames, err := Frames(module)
	for _, f := range frames {
		s.Value = max(s.Value, float64(f.Native)/float64(8*f.Slots))
	}
	return s, err
}

// compileOnce compiles in a new engine, and returns the price of the deploy, the processor time and the allocated
// bytes.
func compileOnce(code []byte, options wasm.Options) (gas types.Gas, took time.Duration, allocated uint64, err error) {
	engine, err := wasm.New(options)
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	var before, after runtime.MemStats
	took, err = measuring(func() error {
		runtime.ReadMemStats(&before)
		module, err := engine.Module(types.CodeHash{}, func() ([]byte, error) { return code, nil })
		if err != nil {
			return err
		}
		if gas = DeployGas(code, module); gas > params.DefaultGasLimit {
			return ErrDear
		}
		return engine.Compile(types.CodeHash{}, module)
	})
	runtime.ReadMemStats(&after)
	return gas, took, after.TotalAlloc - before.TotalAlloc, err
}

func compile(g Genes, runs int) (Score, error) {
	best, err := compileBest(g, wasm.Options{}, runs)
	best.Value = float64(best.Took) / float64(best.Gas)
	return best, err
}

// noted measures the time of compiling for a node that reports where calls failed, which is not paid for.
func noted(g Genes, runs int) (Score, error) {
	best, err := compileBest(g, noting, runs)
	best.Value = float64(best.Took) / float64(time.Millisecond)
	return best, err
}

// compileBest compiles in several new engines, and returns the price of the deploy and the least time.
func compileBest(g Genes, options wasm.Options, runs int) (best Score, err error) {
	code := g.Build().Code
	for run := range runs {
		gas, took, _, err := compileOnce(code, options)
		if err != nil {
			return best, err
		}
		if run == 0 || took < best.Took {
			best = Score{Gas: gas, Took: took}
		}
	}
	return best, nil
}

func compileMemory(g Genes, _ int) (Score, error) {
	gas, _, allocated, err := compileOnce(g.Build().Code, wasm.Options{})
	if err != nil {
		return Score{}, err
	}
	return Score{Value: float64(allocated) / float64(gas), Gas: gas}, nil
}

// blockGas is the approximate gas of a measured block.
const blockGas = 20_000_000

// onChain returns a measurement of blocks full of calls of a candidate, on a node with an engine of the given options.
func onChain(options wasm.Options, value func(*Made) time.Duration) func(Genes, int) (Score, error) {
	return func(g Genes, runs int) (best Score, err error) {
		n, calls, err := deployed(g.Build(), options, false)
		if err != nil {
			return best, err
		}
		defer func() { err = errors.Join(err, n.Close()) }()
		made, err := n.Measure(calls, blockGas, runs, value)
		if err != nil {
			return best, err
		}
		return Score{float64(value(&made)) / float64(made.Gas), made.Gas, value(&made)}, nil
	}
}

// deployed returns a node with a candidate's contracts, at most as many as a block can load, and a call of each.
func deployed(c Candidate, options wasm.Options, onDisk bool) (n *ChainNode, calls []Action, err error) {
	if _, err = c.check(); err != nil {
		return nil, nil, err
	}
	module, err := vm.Check(c.copy(0))
	if err != nil {
		return nil, nil, err
	}
	const spare = 8 // a builder leaves 1/spare of a block's load to calls that pay little
	most := params.BlockLoad(params.DefaultGasLimit) / spare / params.Load(module.Load())
	c.Copies = min(c.Copies, int(most))
	if n, err = NewChain(options, onDisk); err != nil {
		return nil, nil, err
	}
	if calls, err = n.Deploy(c); err != nil {
		return nil, nil, errors.Join(err, n.Close())
	}
	return n, calls, nil
}

func cold(g Genes, runs int) (Score, error) { return Cold(g.Build(), runs) }

// Cold measures blocks with a call of each of a candidate's contracts on a restarted node, whose machine code is only
// on disk. A block may load one unit per 32 gas of its limit, so loading counts as that much gas.
func Cold(c Candidate, runs int) (best Score, err error) {
	module, err := c.check()
	if err != nil {
		return best, err
	}
	n, calls, err := deployed(c, wasm.Options{}, true)
	if err != nil {
		return best, err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	each := max(1_000_000, blockGas/types.Gas(len(calls)))
	first, err := n.Block(each, 1, calls[0])
	if err != nil {
		return best, err
	}
	count := max(len(calls), int(blockGas/first.Receipts[0].GasUsed))
	best.Value = math.Inf(1)
	for range runs {
		if err := n.Restart(); err != nil {
			return best, err
		}
		runtime.GC()
		made, err := n.Block(each, count, calls...)
		if err != nil {
			return best, err
		}
		gas := max(made.Gas, 32*types.Gas(module.Load())*types.Gas(len(calls)))
		if value := float64(made.Took) / float64(gas); value < best.Value {
			best = Score{value, gas, made.Took}
		}
	}
	return best, nil
}

// Measure makes blocks of alternating calls with about the given gas in total, after a first block that warms up. It
// returns the block with the least value.
func (n *ChainNode) Measure(calls []Action, gas types.Gas, runs int,
	value func(*Made) time.Duration) (best Made, err error) {
	probe, err := n.Block(min(gas, 1_000_000), 1, calls[0])
	if err != nil {
		return best, err
	}
	if probe.Took > 20*time.Millisecond { // expensive enough
		return n.Block(min(gas, 1_000_000), 1, calls[0])
	}
	first, err := n.Block(gas, 1, calls[0])
	if err != nil {
		return best, err
	}
	const most = 3_000 // transactions per block
	used := first.Receipts[0].GasUsed
	count := max(1, min(most, int(gas/used)))
	for i := range runs {
		runtime.GC()
		made, err := n.Block(min(gas, used+used/4+100_000), count, calls...)
		if err != nil {
			return best, err
		}
		if i == 0 || value(&made) < value(&best) {
			best = made
		}
	}
	return best, nil
}
