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
	bounds bounds

	contents [sectionCount][]byte // of the sections as they are, without the number of entries

	types     []functionType
	imports   []importEntry
	functions []uint32 // index of the type by index of the function; imported ones come first
	imported  int      // how many functions are
	tables    []limits // imported ones come first, as with memories and globals
	memories  []limits
	globals   []globalEntry
	exports   []exportEntry
	names     map[string]int // index in exports by name
	start     int            // index of the start function, −1 if there is none

	mutable                 int // of the globals
	elementCount, dataCount int
	indices                 int    // in element segments
	elementEnd, dataEnd     uint64 // the highest end of a segment whose offset is an i32.const

	elements  []byte    // element segments, rewritten
	bodyCount int       // code entries
	bodies    []byte    // the same, rewritten
	allLocals uint64    // declared locals
	calls     int       // in bodies, growth of memory included
	deployGas types.Gas // what the functions cost in a deploy
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
// bodies of its functions. It takes time and memory linear in the length of the code.
func parse(code []byte, bounds bounds) (p *parsed, err error) {
	p = &parsed{reader: reader{code: code, end: len(code)}, bounds: bounds, start: -1}
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

// valueType reads one value type.
func (p *parsed) valueType() ValueType {
	t := p.byte()
	if t < f64 || t > I32 {
		p.refuse(reasonValueType)
	}
	if isFloat(t) && !p.bounds.floats {
		p.refuse(reasonFloat)
	}
	return t
}

func (p *parsed) readType() (t functionType) {
	if p.byte() != functionForm {
		p.refuse(reasonTypeForm)
	}
	n := p.count()
	if n > p.bounds.params {
		p.refuse(reasonParams)
	}
	from := p.at
	for range n {
		p.valueType()
	}
	t.params = p.code[from:p.at]
	switch p.u32() {
	case 0:
	case 1:
		t.result = p.valueType()
	default:
		p.refuse(reasonResults)
	}
	return t
}

func (p *parsed) readImport() {
	if len(p.imports) == p.bounds.imports {
		p.refuse(reasonImports)
	}
	i := importEntry{offset: p.at}
	i.module, i.name = p.name(), p.name()
	i.kind = p.byte()
	switch i.kind {
	case functionKind:
		i.typeIndex = p.typeIndex()
		p.addFunction(i.typeIndex)
		p.imported++
	case tableKind:
		p.readTable()
	case memoryKind:
		p.readMemory()
	case globalKind:
		g := globalEntry{valueType: p.valueType()}
		g.mutable = p.mutability()
		p.addGlobal(g)
	default:
		p.refuse(reasonImportKind)
	}
	p.imports = append(p.imports, i)
}

func (p *parsed) addFunction(typeIndex uint32) {
	if len(p.functions) == p.bounds.functions {
		p.refuse(reasonFunctions)
	}
	p.functions = append(p.functions, typeIndex)
}

func (p *parsed) readTable() {
	if p.byte() != funcRef {
		p.refuse(reasonElementType)
	}
	if p.tables = append(p.tables, p.limits(unlimitedElements)); len(p.tables) > 1 {
		p.refuse(reasonTables)
	}
}

func (p *parsed) readMemory() {
	l := p.limits(unlimitedPages)
	if l.least > unlimitedPages || l.most > unlimitedPages {
		p.refuse(reasonMemorySize)
	}
	if p.memories = append(p.memories, l); len(p.memories) > 1 {
		p.refuse(reasonMemories)
	}
}

func (p *parsed) mutability() bool {
	b := p.byte()
	if b > 1 {
		p.refuse(reasonMutability)
	}
	return b == 1
}

func (p *parsed) readGlobal() {
	g := globalEntry{valueType: p.valueType()}
	g.mutable = p.mutability()
	g.initial, _, _ = p.constant(g.valueType)
	p.addGlobal(g)
}

func (p *parsed) addGlobal(g globalEntry) {
	if g.mutable {
		p.mutable++
	}
	switch {
	case p.mutable > p.bounds.mutable:
		p.refuse(reasonMutable)
	case len(p.globals) == p.bounds.globals:
		p.refuse(reasonGlobals)
	}
	p.globals = append(p.globals, g)
}

// constant reads a constant expression of a type. It gives the bytes without the end and, of an i32.const, the value.
func (p *parsed) constant(want ValueType) (expression []byte, value uint32, isConst bool) {
	from := p.at
	var got ValueType
	switch p.byte() {
	case opI32Const:
		value, isConst, got = uint32(p.signed(32)), true, I32
	case opI64Const:
		p.signed(64)
		got = I64
	case opF32Const:
		p.bytes(4)
		got = f32
	case opF64Const:
		p.bytes(8)
		got = f64
	case opGlobalGet:
		// Only imported globals are before this one and constant (Core 1.0, section 3.3.7).
		index := p.u32()
		if uint64(index) >= uint64(len(p.globals)) || p.globals[index].initial != nil {
			p.refuse(reasonGlobalIndex)
		}
		if p.globals[index].mutable {
			p.refuse(reasonConstant)
		}
		got = p.globals[index].valueType
	default:
		p.refuse(reasonConstant)
	}
	if got != want {
		p.refuse(reasonConstantType)
	}
	if p.byte() != opEnd {
		p.refuse(reasonConstant)
	}
	return p.code[from : p.at-1], value, isConst
}

func (p *parsed) readExport() {
	if len(p.exports) == p.bounds.exports {
		p.refuse(reasonExports)
	}
	e := exportEntry{name: p.name(), kind: p.byte(), index: p.u32()}
	spaces := [...]struct {
		size   int
		reason Reason
	}{
		functionKind: {len(p.functions), reasonFunctionIndex},
		tableKind:    {len(p.tables), reasonTableIndex},
		memoryKind:   {len(p.memories), reasonMemoryIndex},
		globalKind:   {len(p.globals), reasonGlobalIndex},
	}
	if int(e.kind) >= len(spaces) {
		p.refuse(reasonExportKind)
	}
	if space := spaces[e.kind]; uint64(e.index) >= uint64(space.size) {
		p.refuse(space.reason)
	}
	if _, taken := p.names[e.name]; taken {
		p.refuse(reasonExportTwice)
	}
	if p.names == nil {
		p.names = make(map[string]int)
	}
	p.names[e.name] = len(p.exports)
	p.exports = append(p.exports, e)
}

func (p *parsed) readElement() {
	if index := p.u32(); uint64(index) >= uint64(len(p.tables)) {
		p.refuse(reasonTableIndex)
	}
	expression, offset, isConst := p.constant(I32)
	n := p.count()
	if p.indices += n; p.indices > p.bounds.indices {
		p.refuse(reasonElements)
	}
	p.elements = append(append(append(p.elements, 0), expression...), opEnd)
	p.elements = appendU32(p.elements, uint32(n))
	for range n {
		p.elements = appendU32(p.elements, p.moved(p.functionIndex()))
	}
	if p.elementCount++; isConst {
		p.elementEnd = max(p.elementEnd, uint64(offset)+uint64(n))
	}
}

func (p *parsed) readData() {
	if index := p.u32(); uint64(index) >= uint64(len(p.memories)) {
		p.refuse(reasonMemoryIndex)
	}
	_, offset, isConst := p.constant(I32)
	n := p.u32()
	p.bytes(n)
	if p.dataCount == p.bounds.data {
		p.refuse(reasonDataSegments)
	}
	if p.dataCount++; isConst {
		p.dataEnd = max(p.dataEnd, uint64(offset)+uint64(n))
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
