package vm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Limits of a module (docs/protocol.md, "Modules"); bounds of the parser are in contractBounds.
const (
	// 1 MiB, which the cache next to a core holds: a load that waits for memory takes ten times as long
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

// What a code, a defined function and an item of the instance take to load, in bytes of code that take as long.
const (
	codeLoad     = 12_000
	functionLoad = 40
	itemLoad     = 100
)

// Exports that mean something by their name.
const (
	InitFunction  = "init"       // runs once, in the deploy; it cannot be called otherwise
	memoryExport  = "memory"     // must be there
	reentrantMark = "_reentrant" // the contract may be entered while it is on the call stack
	privatePrefix = "_"          // exports of such names cannot be called
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
	notes
}

// notes are what a covered module has in addition.
type notes struct {
	blocks []Block
	places int // functions that note where they stand
}

// Block is a metered block of a module's code: instructions that run one after the other, up to a branch.
type Block struct {
	Function int // in the order of the code; imported ones are not counted
	From, To int // where its instructions are in the code as submitted, in bytes
}

// Blocks are the metered blocks of a module from [CheckCovered], but for those that cost nothing or that nothing leads
// to. The bit i mod 64 of the global i / 64 says whether block i ran.
func (m *Module) Blocks() []Block { return m.blocks }

// CoverWords is how many globals say which blocks ran.
func (m *Module) CoverWords() int { return coverWords(len(m.blocks)) }

func coverWords(blocks int) int { return (blocks + 63) / 64 }

// Place is where a function stands that is active.
type Place struct {
	Function int // in the order of the code; imported ones are not counted
	At       int // where in the code as submitted, in bytes: an instruction that calls, or where its block begins
}

// Standing gives the functions that are active in an instance of a module from [CheckCovered], the innermost first. One
// that calls itself is there once. Global gives an exported global.
func (m *Module) Standing(global func(name string) uint64) (places []Place) {
	var noted []uint64 // their notes, in the same order
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
// in the length of the code: what it writes has at most ten times its length and 384 KiB.
func Check(code []byte) (*Module, error) { return check(code, false) }

// CheckCovered is [Check] for tests: the rewritten module notes which of its blocks run, in globals that an engine can
// read ([CoverName]). Its price, what it does, and the gas that it uses are those of the other.
func CheckCovered(code []byte) (*Module, error) { return check(code, true) }

// mostNotedGas is what compiling notes may cost, were it paid for.
const mostNotedGas = 4 * params.DefaultGasLimit

// CheckNoted is [CheckCovered] with a bound on what compiling takes. Where a deploy of what that writes would cost more
// than 4,000,000,000 gas, it is [Check]. So it is where the calls of one function alone would cost more than a quarter
// of that, as an engine has one function in memory at a time.
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
	if far := farther(p.weight); far > 0 { // which only the end of the code tells
		if p, err = parse(code, contractBounds, covered, far); err != nil {
			return nil, err
		}
	}
	if reason, offset := p.checkContract(); reason != "" {
		return nil, &Refused{Reason: reason, Offset: offset, Import: p.refused}
	}
	return p, nil
}

// farther is what each jump of a module costs more for its weight.
func farther(weight uint64) uint32 {
	above := types.Gas(weight) - min(types.Gas(weight), schedule.WeightNear)
	return uint32(min(above/schedule.WeightFar, schedule.Far))
}

// notedGas is what a deploy of a covered module would cost, had the submitted one its globals and calls.
func (p *parsed) notedGas() types.Gas {
	return schedule.Deploy + p.deployGas + p.noteGas + p.callsGas(p.calls+p.looks)
}

// callsGas is the part of it that calls have: behind each an engine reads all globals again.
func (p *parsed) callsGas(calls int) types.Gas {
	return schedule.DeployCallGlobal * types.Gas(calls) * types.Gas(p.mutable+p.noteGlobals())
}

// module is what was read, as engines run it.
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
		notes:        notes{p.blocks, p.places()},
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

// items is how many things a fresh instance sets beside its memory.
func (p *parsed) items() uint64 { return uint64(len(p.globals) + p.indices + p.dataCount) }

// mostShown bounds what is shown of a name that a module gives.
const mostShown = 64

// checkContract applies the rules of contracts that parsing has not, and says which is broken and where.
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

// DeployGas is what a deploy of this code takes in execution, before init runs.
func (m *Module) DeployGas() types.Gas { return m.deployGas }

// CodeSize is the length in bytes of the code as submitted.
func (m *Module) CodeSize() int { return m.size }

// Load is what it takes to make the code ready to run when an engine does not hold it, in the time of a byte of code.
func (m *Module) Load() uint64 { return m.load }

// InstanceItems is how many globals, indices of element segments and data segments a fresh instance sets.
func (m *Module) InstanceItems() uint64 { return m.items }

// Pages is the initial size of the memory in pages of 64 KiB.
func (m *Module) Pages() uint32 { return m.pages }

// MaxPages is what the memory may grow to, in pages of 64 KiB.
func (m *Module) MaxPages() uint32 { return m.maxPages }

// Callable reports whether a transaction or a contract may call the export of this name.
func (m *Module) Callable(name string) bool {
	_, ok := m.callable[name]
	return ok
}

// HasInit reports whether the deploy runs [InitFunction].
func (m *Module) HasInit() bool { return m.hasInit }

// Reentrant reports whether the contract may be entered while it is on the call stack.
func (m *Module) Reentrant() bool { return m.reentrant }

// Instrumented is the module rewritten for an engine; the same code always gives the same bytes. It must not be
// changed. It is nil of a module from [DecodeModule].
func (m *Module) Instrumented() []byte { return m.instrumented }
