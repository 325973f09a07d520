package wasm

import (
	"cmp"
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

// Options configure an engine. Zero fields take their defaults.
type Options struct {
	// Dir is the directory for machine code, created if necessary; if it is empty, each process compiles again. Evicted
	// or lost code is compiled at its next call, which costs the caller no more than loading, so DirBytes should be
	// ample. The least recently used code is evicted first. To evict the code of deployed contracts, an attacker must
	// pay for as many deploys, and 1 MiB of machine code costs at least 100 M gas.
	Dir      string
	DirBytes int64 // DefaultDirBytes
	// Build identifies the producer of machine code; code of another build is not used. Programs other than tests leave
	// it empty, as [New] then determines it; a test binary lacks the necessary information.
	Build string

	// Bounds of memory use beside running instances. The least recently used items are evicted first.
	Codes       int // modules: 65,536
	Idle        int // instances, without memory: 4,096, more than a block of the default gas limit can load codes
	IdlePerCode int // instances of one module: 64
	Bytes       int // approximate size of modules, machine code and instances: DefaultBytes

	// Fresh runs every call in a new instance, and keeps none. The results are the same.
	Fresh bool
	// Interpreter runs modules in wazero's interpreter instead of compiling them, as a second opinion. It implies
	// Fresh, and ignores Dir.
	Interpreter bool
	// Covered, for tests, is called after each call with the blocks of the code that ran, as numbered by
	// [vm.Module.Blocks]. Stopped is called before Run returns from a failed call, with the places at which it stopped.
	// Both need Fresh and no Dir. A module that was not requested ([Engine.Module]) before it is compiled or run is
	// reported without blocks. With Stopped alone, a module whose notes would take too long to compile is reported
	// without places ([vm.CheckNoted]).
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
	o.DirBytes = cmp.Or(o.DirBytes, DefaultDirBytes)
	o.Codes = cmp.Or(o.Codes, 65_536)
	o.Idle = cmp.Or(o.Idle, 4096)
	o.IdlePerCode = cmp.Or(o.IdlePerCode, 64)
	o.Bytes = cmp.Or(o.Bytes, DefaultBytes)
	o.Fresh = o.Fresh || o.Interpreter
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Engine runs contracts. It implements [vm.Engine], and is safe for concurrent use.
type Engine struct {
	opts    Options
	files   *cache   // nil without a cache; shared with engines from Beside
	program [32]byte // see [record]
	regions *regions
	stacks  *stacks // nil for the interpreter
	// generationBytes bounds the bytes of modules that a wazero runtime compiles in its lifetime; see [generation].
	generationBytes int

	compiled, loaded, instantiated, reused, discarded, refills, deeper atomic.Uint64

	mu          sync.Mutex  // guards the fields below
	generation  *generation // compiles new modules
	codes       map[types.CodeHash]*list.Element
	recent      *list.List // *code, last used first
	idle        int        // idle instances of all codes
	bytes       int        // approximate size of all codes and idle instances
	closed      bool
	interpreter *Engine // nil until the first call of Interpreter
}

// Stats describes the content of an engine, and its events since its creation.
type Stats struct {
	Codes, Idle int // modules, and idle instances
	Bytes       int // approximate size of both
	DiskBytes   int64

	Compiled     uint64 // modules made ready: compiled or loaded from disk
	Loaded       uint64 // part of Compiled that was loaded from disk
	Rejected     uint64 // invalid files, of all engines that share the files
	Instantiated uint64 // instances created
	Reused       uint64 // calls in an instance that had run before; others ran in a new one
	Discarded    uint64 // instances closed after their call
	Refills      uint64 // slices of gas given to calls after their first
	Deeper       uint64 // calls that used more machine stack than metering allows: a harmless fault of the engine
}

var errClosed = vm.ErrClosed

var _ vm.Engine = (*Engine)(nil)

// New returns an engine. It fails if the directory is unusable or wazero does not behave as required.
func New(opts Options) (*Engine, error) {
	opts.Build = cmp.Or(opts.Build, engineBuild())
	return open(opts, opts.Build)
}

// Beside returns an engine that shares only the files of machine code with this one: no instances, memory or locks. It
// ignores the options Dir and DirBytes.
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
			e.opts.Log.Warn("not caching compiled code on disk: this program has no build information about wazero")
		} else if err := e.openFiles(build); err != nil {
			return nil, fmt.Errorf("compiled code: %w", err)
		}
	}
	return e.begin()
}

// openFiles opens the cache of machine code. wazero's key of a fixed module identifies the features of the processor.
func (e *Engine) openFiles(build string) error {
	probe, err := compileMachine(testModule)
	if err != nil {
		return err
	}
	if e.program, err = thisProgram(); err != nil {
		e.opts.Log.Warn("compiled code loads more slowly: cannot read the program's own file", "error", err)
		rand.Read(e.program[:]) //nolint:errcheck // crypto/rand.Read never fails
	}
	e.files, err = openCache(e.opts.Dir, e.opts.DirBytes, fmt.Sprintf("%s %x", build, probe.key), e.opts.Log)
	return err
}

// begin sets up the engine's resources and tests wazero.
func (e *Engine) begin() (_ *Engine, err error) {
	e.regions = &regions{}
	if e.regions.written, err = openPagemap(); err != nil {
		e.opts.Log.Info(
			"contract calls start more slowly: the kernel does not track written memory pages", "error", err,
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

// Close closes the engine. No call may be active.
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

// Stats returns the engine's statistics.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	s := Stats{Codes: e.recent.Len(), Idle: e.idle, Bytes: e.bytes}
	e.mu.Unlock()
	s.Compiled, s.Instantiated = e.compiled.Load(), e.instantiated.Load()
	s.Reused, s.Discarded, s.Refills = e.reused.Load(), e.discarded.Load(), e.refills.Load()
	s.Deeper = e.deeper.Load()
	s.Loaded = e.loaded.Load()
	if e.files != nil {
		s.Rejected, s.DiskBytes = e.files.held()
	}
	return s
}

// Module implements [vm.Engine].
func (e *Engine) Module(hash types.CodeHash, read func() ([]byte, error)) (*vm.Module, error) {
	e.mu.Lock()
	if element, ok := e.codes[hash]; ok {
		e.recent.MoveToFront(element)
		module := element.Value.(*code).module
		e.mu.Unlock()
		return module, nil
	}
	e.mu.Unlock()
	module, r := e.restore(hash)
	defer r.free()
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
	if r.machine != nil {
		err = c.prepare(r.machine)
	}
	return c.module, errors.Join(err, e.release(c))
}

// Compile implements [vm.Engine].
func (e *Engine) Compile(hash types.CodeHash, module *vm.Module) error {
	c, err := e.hold(hash, module)
	if err != nil {
		return err
	}
	return errors.Join(c.prepare(nil), e.release(c))
}

// Run implements [vm.Engine].
func (e *Engine) Run(
	hash types.CodeHash, module *vm.Module, function string, host vm.Host, gas *vm.Gas,
) (vm.Exit, error) {
	return e.call(hash, module, function, host, gas, e.opts.Fresh)
}

// call runs a function, in a new instance if fresh is set.
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

// ctx is the context of calls into wazero, which are never canceled: gas bounds the work of a guest.
var ctx = context.Background()
