package vm

import ()

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

// constant reads a constant expression of type want. It returns its bytes without the end and, for an i32.const, its
// value.
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
		// Besides imported globals, no global that precedes this one is constant (Core 1.0, section 3.3.7).
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
