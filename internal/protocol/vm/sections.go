package vm

import (
	"bytes"

	"github.com/cairn-chain/cairn/types"
)

// Numbers of sections, in the order of the format.
const (
	customSection = iota
	typeSection
	importSection
	functionSection
	tableSection
	memorySection
	globalSection
	exportSection
	startSection
	elementSection
	codeSection
	dataSection
	sectionCount
)

// Kinds of imports and exports.
const (
	functionKind = iota
	tableKind
	memoryKind
	globalKind
)

const (
	functionForm = 0x60 // first byte of a function's type
	funcRef      = 0x70 // the only element type of tables

	unlimitedPages    = 65536 // maximum for a memory without one
	unlimitedElements = 1<<32 - 1
)

type functionType struct {
	params []ValueType
	result ValueType // 0 for none
}

type importEntry struct {
	module, name string
	kind         byte
	typeIndex    uint32 // only for functions
	offset       int    // offset in the code
}

type globalEntry struct {
	valueType ValueType
	mutable   bool
	initial   []byte // constant expression without its end; nil if imported
}

type exportEntry struct {
	name  string
	kind  byte
	index uint32
}

// limits are the limits of a table or memory.
type limits struct {
	least, most uint32
	bounded     bool // there is a maximum; otherwise most is the format's
}

// parsed is a parsed module. Its byte slices alias the code.
type parsed struct {
	reader
	bounds   bounds
	refused  string               // the import that is refused
	contents [sectionCount][]byte // contents of the sections, without the number of entries
	declared

	// The element and data segments:
	elementCount, dataCount int
	indices                 int    // number of indices in element segments
	elementEnd, dataEnd     uint64 // highest end of a segment whose offset is an i32.const
	elements                []byte // element segments, rewritten

	// The rewritten code section:
	bodyCount int       // number of code entries
	bodies    []byte    // rewritten code entries
	allLocals uint64    // number of declared locals
	calls     int       // number of calls in bodies, including memory.grow
	deployGas types.Gas // price of the functions in a deploy
	// functionGas is the price of each function in a deploy.
	functionGas []types.Gas
	weight      uint64    // weight of the functions (docs/protocol.md, "Weight"); meaningless if far is not 0
	far         uint32    // surcharge on each jump
	covered     bool      // blocks record that they run
	blocks      []Block   // these blocks, in the order of their bits
	looks       int       // number of added calls, at the gas checks
	mostCalls   int       // maximum number of calls of one function, including the added ones
	noteGas     types.Gas // additional price of the functions in a deploy if the submitted code noted its places
}

// declared holds the entries of a module's sections.
type declared struct {
	types     []functionType
	imports   []importEntry
	functions []uint32 // type index by function index; imported functions come first
	imported  int      // number of imported functions
	tables    []limits // imported tables come first; likewise memories and globals
	memories  []limits
	globals   []globalEntry
	mutable   int // number of mutable globals
	exports   []exportEntry
	names     map[string]int // index in exports by name
	start     int            // index of the start function; −1 if there is none
}

// bounds are the limits that parsing enforces, so that it stays linear in the code.
type bounds struct {
	floats    bool
	types     int
	params    int // per type
	imports   int
	functions int
	exports   int
	globals   int
	mutable   int    // mutable globals
	indices   int    // indices in element segments
	data      int    // data segments
	body      uint32 // bytes per body
	locals    uint64 // params and declared locals per function; a localSet has room for 128
	allLocals uint64 // declared locals
	nesting   int
	targets   uint32
	slots     int // slots per frame
}

// parse reads and validates code by WebAssembly 1.0 with the sign-extension operators, within bounds, and rewrites the
// bodies of its functions. far is the surcharge on each jump. parse takes time and memory linear in the length of the
// code.
func parse(code []byte, bounds bounds, covered bool, far uint32) (p *parsed, err error) {
	p = &parsed{reader: reader{code: code, end: len(code)}, bounds: bounds, declared: declared{start: -1}}
	p.covered, p.far = covered, far
	defer func() {
		if fault := recover(); fault != nil {
			refused, ok := fault.(*Refused)
			if !ok {
				panic(fault)
			}
			p, err = nil, refused
		}
	}()
	if !bytes.Equal(p.bytes(min(8, uint32(len(code)))), []byte("\x00asm\x01\x00\x00\x00")) {
		p.refuse(reasonMagic)
	}
	for last := byte(customSection); p.at < p.end; {
		id := p.byte()
		if id >= sectionCount {
			p.refuse(reasonSection)
		}
		if id != customSection && id <= last {
			p.refuse(reasonSectionOrder)
		}
		size := p.u32()
		if uint64(size) > uint64(len(code)-p.at) {
			p.refuse(reasonEnd)
		}
		p.end = p.at + int(size)
		p.section(id)
		if p.at != p.end {
			p.refuse(reasonSectionSize)
		}
		p.end = len(code)
		if id != customSection {
			last = id
		}
	}
	if p.bodyCount != len(p.functions)-p.imported {
		p.refuse(reasonCodeCount)
	}
	return p, nil
}

func (p *parsed) section(id byte) {
	if id == customSection {
		p.name()
		p.at = p.end
		return
	}
	if id == startSection {
		p.start = int(p.functionIndex())
		if t := p.functionTypeOf(uint32(p.start)); len(t.params) > 0 || t.result != 0 {
			p.refuse(reasonStartType)
		}
		return
	}
	n := p.count()
	p.contents[id] = p.code[p.at:p.end]
	if id == codeSection {
		p.readBodies(n)
		return
	}
	for range n {
		switch id {
		case typeSection:
			if len(p.types) == p.bounds.types {
				p.refuse(reasonTypes)
			}
			p.types = append(p.types, p.readType())
		case importSection:
			p.readImport()
		case functionSection:
			p.addFunction(p.typeIndex())
		case tableSection:
			p.readTable()
		case memorySection:
			p.readMemory()
		case globalSection:
			p.readGlobal()
		case exportSection:
			p.readExport()
		case elementSection:
			p.readElement()
		case dataSection:
			p.readData()
		}
	}
}

func (p *parsed) typeIndex() uint32 {
	index := p.u32()
	if uint64(index) >= uint64(len(p.types)) {
		p.refuse(reasonTypeIndex)
	}
	return index
}

func (p *parsed) functionIndex() uint32 {
	index := p.u32()
	if uint64(index) >= uint64(len(p.functions)) {
		p.refuse(reasonFunctionIndex)
	}
	return index
}

// functionTypeOf returns the type of an existing function.
func (p *parsed) functionTypeOf(index uint32) *functionType { return &p.types[p.functions[index]] }
