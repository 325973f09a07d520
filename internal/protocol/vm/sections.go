package vm

import (
	"bytes"

	"github.com/cairn-chain/cairn/types"
)

// Sections by their number, in the order in which they come.
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

// What can be imported and exported.
const (
	functionKind = iota
	tableKind
	memoryKind
	globalKind
)

const (
	functionForm = 0x60 // begins the type of a function
	funcRef      = 0x70 // the only type of a table's elements

	unlimitedPages    = 65536 // of a memory without a maximum
	unlimitedElements = 1<<32 - 1
)

type functionType struct {
	params []ValueType
	result ValueType // 0: none
}

type importEntry struct {
	module, name string
	kind         byte
	typeIndex    uint32 // of a function
	offset       int    // where it stands
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

// limits of a table or memory.
type limits struct {
	least, most uint32
	bounded     bool // there is a maximum; else most is what the format allows
}

// parsed is a module in its parts. Slices of bytes are parts of the code.
type parsed struct {
	reader
	bounds   bounds
	refused  string               // the import that is refused
	contents [sectionCount][]byte // of the sections as they are, without the number of entries
	declared
	segments
	rewritten
}

// declared is what a module has by the entries of its sections.
type declared struct {
	types     []functionType
	imports   []importEntry
	functions []uint32 // index of the type by index of the function; imported ones come first
	imported  int      // how many functions are
	tables    []limits // imported ones come first, as with memories and globals
	memories  []limits
	globals   []globalEntry
	mutable   int // of the globals
	exports   []exportEntry
	names     map[string]int // index in exports by name
	start     int            // index of the start function, −1 if there is none
}

// segments are those of elements and of data.
type segments struct {
	elementCount, dataCount int
	indices                 int    // in element segments
	elementEnd, dataEnd     uint64 // the highest end of a segment whose offset is an i32.const
	elements                []byte // element segments, rewritten
}

// rewritten is the code section as it is run.
type rewritten struct {
	bodyCount int       // code entries
	bodies    []byte    // the same, rewritten
	allLocals uint64    // declared locals
	calls     int       // in bodies, growth of memory included
	deployGas types.Gas // what the functions cost in a deploy
	// functionGas is the part of each.
	functionGas []types.Gas
	weight      uint64    // of the functions (docs/protocol.md, "Weight"); without a meaning if far is not 0
	far         uint32    // what each jump costs more
	covered     bool      // whether blocks note that they run
	blocks      []Block   // these
	looks       int       // calls that are written in addition, where a function looks at its gas
	mostCalls   int       // of one function, these included
	noteGas     types.Gas // what the functions would cost more in a deploy, did they note where they stand
}

// bounds are limits that parsing itself keeps, so that it stays linear in the code.
type bounds struct {
	floats    bool
	types     int
	params    int // of a type
	imports   int
	functions int
	exports   int
	globals   int
	mutable   int    // globals
	indices   int    // in element segments
	data      int    // segments
	body      uint32 // bytes
	locals    uint64 // params and declared locals of a function; a localSet has room for 128
	allLocals uint64 // declared
	nesting   int
	targets   uint32
	slots     int // of a frame
}

// parse reads and validates code by WebAssembly 1.0 with the sign-extension operators, within bounds, and rewrites the
// bodies of its functions, with a price that each jump costs more. It takes time and memory linear in the length of the
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

// functionTypeOf gives the type of a function that exists.
func (p *parsed) functionTypeOf(index uint32) *functionType { return &p.types[p.functions[index]] }
