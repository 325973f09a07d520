package wasm

import (
	"container/list"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// Options are an engine's settings. A zero value takes its default.
type Options struct {
	// Dir is the directory that machine code is kept in, made if need be; empty: it is compiled again in each process.
	// What falls out of it, or is lost, is compiled again at its next call, for which the caller pays no more than for
	// loading. So DirBytes is ample. The code used longest ago falls out first. So to have that of deployed contracts
	// fall out, others must pay for as many deploys, and 1 MiB of it costs at least 100 M gas.
	Dir      string
	DirBytes int64 // DefaultDirBytes
	// Build says what made the machine code: that of another build does not count. Programs say it by themselves, but for
	// those of tests.
	Build string

	// What is kept in memory beside running instances. What falls out was not used for longest.
	Codes       int // modules: 65,536
	Idle        int // instances: 4,096, more than a block of the default gas limit can load codes; they have no memory
	IdlePerCode int // instances of one module: 64
	Bytes       int // of modules, machine code and instances together, about: DefaultBytes

	// Fresh makes every call in an instance of its own, and keeps none. The results are the same.
	Fresh bool
	// Interpreter runs modules in wazero's interpreter instead of compiling them: the second opinion. It implies Fresh
	// and uses no Dir.
	Interpreter bool
	// Covered is told after each call which blocks of the code ran, as [vm.Module.Blocks] numbers them: for tests. Stopped
	// is told of each call that failed where it stood, before Run returns. Both need Fresh and no Dir. A module that was
	// not asked for ([Engine.Module]) before it is compiled or run is told of as one without blocks. Stopped alone is
	// told no places of one whose notes would take too long to compile ([vm.CheckNoted]).
	Covered func(code types.CodeHash, ran []uint64)
	Stopped func(code types.CodeHash, at []vm.Place)

	Log *slog.Logger // discards
}

// Defaults of [Options].
const (
	DefaultDirBytes = 64 << 30
	DefaultBytes    = 512 << 20
)

func (o Options) withDefaults() Options {
	setDefault(&o.DirBytes, DefaultDirBytes)
	setDefault(&o.Codes, 65_536)
	setDefault(&o.Idle, 4096)
	setDefault(&o.IdlePerCode, 64)
	setDefault(&o.Bytes, DefaultBytes)
	o.Fresh = o.Fresh || o.Interpreter
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Engine runs contracts. It is a [vm.Engine]; its methods may be called concurrently.
type Engine struct {
	opts    Options
	files   *cache   // nil: none; engines beside share it
	program [32]byte // see [record]
	regions *regions
	stacks  *stacks // nil: the interpreter needs none
	// generationBytes is how many bytes of modules a wazero runtime compiles, ever; see [generation].
	generationBytes int
	stats           counters

	mu          sync.Mutex  // guards the fields below
	generation  *generation // that new modules are compiled in
	codes       map[types.CodeHash]*list.Element
	recent      *list.List // of *code, last used first
	idle        int        // instances of all codes
	bytes       int        // of all codes and idle instances, about
	closed      bool
	interpreter *Engine // nil until the first request for it
}

type counters struct {
	compiled, loaded, instantiated, reused, discarded, refills, deeper atomic.Uint64
}

// Stats are what an engine holds, and what it did since it was made.
type Stats struct {
	Codes, Idle int // modules, and instances that wait for a call
	Bytes       int // that they take, about
	DiskBytes   int64

	Compiled     uint64 // modules made ready: compiled, or loaded from disk
	Loaded       uint64 // of these, loaded from disk
	Rejected     uint64 // files that were damaged, of all engines beside each other
	Instantiated uint64 // instances made
	Reused       uint64 // calls in an instance that had run before; the others were made for theirs
	Discarded    uint64 // instances closed after their call
	Refills      uint64 // slices of gas handed out after the first of a call
	Deeper       uint64 // calls that used more machine stack than metering allows: a fault of the engine, without effect
}

var errClosed = vm.ErrClosed

var _ vm.Engine = (*Engine)(nil)

// New makes an engine. It fails if the directory cannot be used or if wazero does not behave as it must.
func New(opts Options) (*Engine, error) {
	setDefault(&opts.Build, engineBuild())
	return open(opts, opts.Build)
}

// Beside makes an engine that shares nothing with this one but the files of machine code: neither instances nor memory
// nor locks. Of the options Dir and DirBytes count for nothing.
func (e *Engine) Beside(opts Options) (*Engine, error) {
	beside := unopened(opts)
	beside.files, beside.program = e.files, e.program
	return beside.begin()
}

func unopened(opts Options) *Engine {
	return &Engine{
		opts:            opts.withDefaults(),
		generationBytes: 16 << 20,
		codes:           map[types.CodeHash]*list.Element{},
		recent:          list.New(),
	}
}

func open(opts Options, build string) (*Engine, error) {
	e := unopened(opts)
	if e.opts.Dir != "" && !e.opts.Interpreter {
		if build == "" {
			e.opts.Log.Warn("compiled code is not kept on disk: this program does not say which wazero it was built with")
		} else if err := e.openFiles(build); err != nil {
			return nil, fmt.Errorf("compiled code: %w", err)
		}
	}
	return e.begin()
}

// openFiles opens the files of machine code. wazero's key of a module that is always the same tells the features of the
// processor.
func (e *Engine) openFiles(build string) error {
	probe, err := compileMachine(testModule)
	if err != nil {
		return err
	}
	if e.program, err = thisProgram(); err != nil {
		e.opts.Log.Warn("compiled code takes longer to load: the program's own file cannot be read", "error", err)
		rand.Read(e.program[:]) //nolint:errcheck // crypto/rand.Read never fails
	}
	e.files, err = openCache(e.opts.Dir, e.opts.DirBytes, fmt.Sprintf("%s %x", build, probe.key), e.opts.Log)
	return err
}

// begin opens what the engine works with.
func (e *Engine) begin() (_ *Engine, err error) {
	e.regions = &regions{}
	if e.regions.written, err = openPagemap(); err != nil {
		e.opts.Log.Info(
			"calls of contracts take longer to set up: the kernel does not tell which memory was written", "error", err,
		)
	}
	if e.generation, err = e.newGeneration(); err == nil {
		err = e.tryWazero()
	}
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Close ends the engine. No call may be active.
func (e *Engine) Close() error {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil
	}
	e.closed = true
	var leftovers leftovers
	for e.recent.Len() > 0 {
		e.evict(e.recent.Back().Value.(*code), &leftovers)
	}
	generation, interpreter := e.generation, e.interpreter
	e.generation = nil
	e.mu.Unlock()
	err := leftovers.close()
	if interpreter != nil {
		err = errors.Join(err, interpreter.Close())
	}
	if generation != nil {
		err = errors.Join(err, generation.close())
	}
	if e.regions != nil {
		e.regions.close()
	}
	if e.stacks != nil {
		e.stacks.close()
	}
	return err
}

// Stats says what the engine holds and did.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	s := Stats{Codes: e.recent.Len(), Idle: e.idle, Bytes: e.bytes}
	e.mu.Unlock()
	s.Compiled, s.Instantiated = e.stats.compiled.Load(), e.stats.instantiated.Load()
	s.Reused, s.Discarded, s.Refills = e.stats.reused.Load(), e.stats.discarded.Load(), e.stats.refills.Load()
	s.Deeper = e.stats.deeper.Load()
	s.Loaded = e.stats.loaded.Load()
	if e.files != nil {
		s.Rejected, s.DiskBytes = e.files.held()
	}
	return s
}

// Module is [vm.Engine].Module.
func (e *Engine) Module(hash types.CodeHash, read func() ([]byte, error)) (*vm.Module, error) {
	e.mu.Lock()
	if element, ok := e.codes[hash]; ok {
		e.recent.MoveToFront(element)
		module := element.Value.(*code).module
		e.mu.Unlock()
		return module, nil
	}
	e.mu.Unlock()
	module, machine := e.restore(hash)
	if module == nil {
		binary, err := read()
		if err != nil {
			return nil, err
		}
		check := vm.Check
		switch {
		case e.opts.Covered != nil:
			check = vm.CheckCovered
		case e.opts.Stopped != nil:
			check = vm.CheckNoted
		}
		if module, err = check(binary); err != nil {
			return nil, err
		}
	}
	c, err := e.hold(hash, module)
	if err != nil {
		return nil, err
	}
	if machine != nil {
		err = c.prepare(machine)
	}
	return c.module, errors.Join(err, e.release(c))
}

// Compile is [vm.Engine].Compile.
func (e *Engine) Compile(hash types.CodeHash, module *vm.Module) error {
	c, err := e.hold(hash, module)
	if err != nil {
		return err
	}
	return errors.Join(c.prepare(nil), e.release(c))
}

// Run is [vm.Engine].Run.
func (e *Engine) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	return e.call(hash, module, function, host, gas, e.opts.Fresh)
}

// call runs a function, in an instance of its own if it is to be fresh.
func (e *Engine) call(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas, fresh bool,
) (vm.Exit, error) {
	i, err := e.take(hash, module, fresh)
	if err != nil {
		return 0, err
	}
	exit, fault := i.run(function, host, gas)
	if err := e.put(i, fault == nil && !fresh); fault == nil && err != nil {
		fault = err
	}
	if fault != nil {
		return 0, fmt.Errorf("contract code %s, function %q: %w", hash, function, fault)
	}
	return exit, nil
}

// ctx is of calls into wazero that nothing cancels: what a guest may do is bounded by its gas.
var ctx = context.Background()
