package vm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Limits of a module (docs/protocol.md, "Modules"). contractBounds holds the parser's bounds.
const (
	// 1 MiB, which fits in the cache next to a core: a load that waits for main memory takes ten times as long
	maxPages         = 16
	maxTableElements = 2_500
)

var contractBounds = bounds{
	types:     256,
	params:    100,
	imports:   64,
	functions: 5_000,
	exports:   128,
	globals:   1_024,
	mutable:   64,
	indices:   2_500,
	data:      1_024,
	body:      32_768,
	locals:    100,
	allLocals: 10_000,
	nesting:   128,
	targets:   256,
	slots:     16_384,
}

// Load of a code, a defined function and an item of the instance, in bytes of code that take as long to load.
const (
	codeLoad     = 12_000
	functionLoad = 40
	itemLoad     = 100
)

// Exports with a meaning.
const (
	InitFunction  = "init"       // runs once, in the deploy; cannot be called otherwise
	memoryExport  = "memory"     // required
	reentrantMark = "_reentrant" // the contract may be entered while it is on the call stack
	privatePrefix = "_"          // exports with this prefix cannot be called
)

// Module is a module that [Check] accepted. It is immutable and safe for concurrent use.
type Module struct {
	size         int
	instrumented []byte
	deployGas    types.Gas
	load         uint64
	items        uint64
	pages        uint32
	maxPages     uint32
	callable     map[string]struct{}
	hasInit      bool
	reentrant    bool
	skeleton     Skeleton

	// Of a covered module:
	blocks []Block
	places int // number of functions that note their places
}

// Block is a metered block of a module's code: a sequence of instructions without branches in between.
type Block struct {
	Function int // index in the order of the code; imported functions are not counted
	From, To int // range of its instructions in the submitted code, in bytes
}

// Blocks returns the metered blocks of a module from [CheckCovered], except those that cost nothing or are unreachable.
// Bit i mod 64 of cover global i / 64 is set if block i ran.
func (m *Module) Blocks() []Block { return m.blocks }

// CoverWords returns the number of cover globals.
func (m *Module) CoverWords() int { return coverWords(len(m.blocks)) }

func coverWords(blocks int) int { return (blocks + 63) / 64 }

// Place is the current place in an active function.
type Place struct {
	Function int // index in the order of the code; imported functions are not counted
	At       int // byte offset in the submitted code, of a calling instruction or of the start of its block
}

// Standing returns the active functions in an instance of a module from [CheckCovered], the innermost first. A
// recursive function appears once. global returns the value of an exported global.
func (m *Module) Standing(global func(name string) uint64) (places []Place) {
	var noted []uint64 // notes of places, in the same order
	for f := range m.places {
		note := global(PlaceName(f))
		if note == 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(noted, note, func(a, b uint64) int { return cmp.Compare(b, a) })
		noted = slices.Insert(noted, at, note)
		places = slices.Insert(places, at, Place{f, int(uint32(note))})
	}
	return places
}

// Check validates code by the module rules and rewrites it. An error is a [*Refused]. It takes time and memory linear
// in the length of the code: its output is at most ten times as long plus 384 KiB.
func Check(code []byte) (*Module, error) { return check(code, false) }

// CheckCovered is [Check] for tests: the rewritten module records which of its blocks run, in globals that an engine
// can read ([CoverName]). Its price, behaviour and gas use are the same as with Check.
func CheckCovered(code []byte) (*Module, error) { return check(code, true) }

// mostNotedGas bounds the hypothetical price of compiling notes.
const mostNotedGas = 4 * params.DefaultGasLimit

// CheckNoted is [CheckCovered] with a bound on the cost of compiling. It is [Check] if a deploy of the noted module
// would cost more than 4,000,000,000 gas, or if the calls of one function alone would cost more than a quarter of that,
// as an engine has one function in memory at a time.
func CheckNoted(code []byte) (*Module, error) {
	p, err := read(code, true)
	if err == nil && (p.notedGas() > mostNotedGas || p.callsGas(p.mostCalls) > mostNotedGas/4) {
		p, err = read(code, false)
	}
	if err != nil {
		return nil, err
	}
	return p.module(), nil
}

func check(code []byte, covered bool) (*Module, error) {
	p, err := read(code, covered)
	if err != nil {
		return nil, err
	}
	return p.module(), nil
}

// read validates and rewrites code.
func read(code []byte, covered bool) (*parsed, error) {
	if len(code) > types.MaxCodeBytes {
		return nil, &Refused{Reason: reasonSize, Offset: types.MaxCodeBytes}
	}
	p, err := parse(code, contractBounds, covered, 0)
	if err != nil {
		return nil, err
	}
	if far := farther(p.weight); far > 0 { // known only at the end of the code
		if p, err = parse(code, contractBounds, covered, far); err != nil {
			return nil, err
		}
	}
	if reason, offset := p.checkContract(); reason != "" {
		return nil, &Refused{Reason: reason, Offset: offset, Import: p.refused}
	}
	return p, nil
}

// farther returns the surcharge on each jump of a module of the given weight.
func farther(weight uint64) uint32 {
	above := types.Gas(weight) - min(types.Gas(weight), schedule.WeightNear)
	return uint32(min(above/schedule.WeightFar, schedule.Far))
}

// notedGas returns the price that a deploy of a covered module would have if the submitted code had its globals and
// calls.
func (p *parsed) notedGas() types.Gas {
	return schedule.Deploy + p.deployGas + p.noteGas + p.callsGas(p.calls+p.looks)
}

// callsGas returns the part of notedGas for calls: after each call an engine reads all globals again.
func (p *parsed) callsGas(calls int) types.Gas {
	return schedule.DeployCallGlobal * types.Gas(calls) * types.Gas(p.mutable+p.noteGlobals())
}

// module returns the parsed module in the form that engines run.
func (p *parsed) module() *Module {
	memory := &p.memories[0]
	memory.most = min(memory.most, maxPages)
	m := &Module{
		size:         len(p.code),
		instrumented: p.assemble(),
		deployGas:    schedule.Deploy + p.deployGas + schedule.DeployCallGlobal*types.Gas(p.calls)*types.Gas(p.mutable),
		load:         codeLoad + uint64(len(p.code)) + functionLoad*uint64(p.bodyCount) + itemLoad*p.items(),
		items:        p.items(),
		pages:        memory.least,
		maxPages:     memory.most,
		callable:     make(map[string]struct{}),
		blocks:       p.blocks,
		places:       p.places(),
	}
	_, m.hasInit = p.names[InitFunction]
	_, m.reentrant = p.names[reentrantMark]
	for _, e := range p.exports {
		if e.name != InitFunction && !strings.HasPrefix(e.name, privatePrefix) && p.isProcedure(e) {
			m.callable[e.name] = struct{}{}
		}
	}
	m.skeleton = p.skeleton(func(name string) bool { return m.Callable(name) || name == InitFunction })
	return m
}

// items returns the number of items that a fresh instance sets besides its memory.
func (p *parsed) items() uint64 { return uint64(len(p.globals) + p.indices + p.dataCount) }

// mostShown bounds the displayed length of a name from a module.
const mostShown = 64

// checkContract applies the contract rules that parsing does not. It returns the rule that is broken and its offset.
func (p *parsed) checkContract() (Reason, int) {
	for _, i := range p.imports {
		if reason := p.checkImport(&i); reason != "" {
			p.refused = i.module + "." + i.name
			return reason, i.offset
		}
	}
	end := len(p.code)
	if p.start >= 0 {
		return reasonStart, end
	}
	if len(p.memories) == 0 {
		return reasonNoMemory, end
	}
	memory := p.memories[0]
	switch {
	case memory.least > maxPages:
		return reasonPages, end
	case memory.bounded && memory.most > maxPages:
		return reasonMaxPages, end
	case p.dataEnd > uint64(memory.least)<<16:
		return reasonData, end
	}
	var table limits
	if len(p.tables) > 0 {
		table = p.tables[0]
	}
	switch {
	case table.least > maxTableElements:
		return reasonTableSize, end
	case p.elementEnd > uint64(table.least):
		return reasonElement, end
	}
	return p.checkExports(), end
}

func (p *parsed) checkImport(i *importEntry) Reason {
	if i.kind != functionKind {
		return reasonImportNot
	}
	function := slices.IndexFunc(Functions[:], func(f HostFunction) bool { return f.Name == i.name })
	if i.module != HostModule || function < 0 {
		return reasonImportUnknown
	}
	want, got := &Functions[function], &p.types[i.typeIndex]
	if want.Result != got.result || !bytes.Equal(want.Params, got.params) {
		return reasonImportType
	}
	return ""
}

func (p *parsed) checkExports() Reason {
	memory, ok := p.names[memoryExport]
	if !ok || p.exports[memory].kind != memoryKind {
		return reasonMemoryExport
	}
	if init, ok := p.names[InitFunction]; ok && !p.isProcedure(p.exports[init]) {
		return reasonInit
	}
	if mark, ok := p.names[reentrantMark]; ok && !p.isProcedure(p.exports[mark]) {
		return reasonReentrant
	}
	return ""
}

// isProcedure reports whether an export is a function of type () → ().
func (p *parsed) isProcedure(e exportEntry) bool {
	if e.kind != functionKind {
		return false
	}
	t := p.functionTypeOf(e.index)
	return len(t.params) == 0 && t.result == 0
}

// DeployGas returns the gas that a deploy of this code takes in execution, before init runs.
func (m *Module) DeployGas() types.Gas { return m.deployGas }

// CodeSize returns the length in bytes of the submitted code.
func (m *Module) CodeSize() int { return m.size }

// Load returns the cost of loading the code into an engine, in units of the time to load a byte of code.
func (m *Module) Load() uint64 { return m.load }

// InstanceItems returns the number of globals, indices in element segments and data segments that a fresh instance
// sets.
func (m *Module) InstanceItems() uint64 { return m.items }

// Pages returns the initial size of the memory in pages of 64 KiB.
func (m *Module) Pages() uint32 { return m.pages }

// MaxPages returns the maximum size of the memory in pages of 64 KiB.
func (m *Module) MaxPages() uint32 { return m.maxPages }

// Callable reports whether a transaction or a contract may call the export with this name.
func (m *Module) Callable(name string) bool {
	_, ok := m.callable[name]
	return ok
}

// HasInit reports whether a deploy runs [InitFunction].
func (m *Module) HasInit() bool { return m.hasInit }

// Reentrant reports whether the contract may be entered while it is on the call stack.
func (m *Module) Reentrant() bool { return m.reentrant }

// Instrumented returns the module rewritten for an engine. The same code always gives the same bytes. The caller must
// not modify them. It returns nil for a module from [DecodeModule].
func (m *Module) Instrumented() []byte { return m.instrumented }
