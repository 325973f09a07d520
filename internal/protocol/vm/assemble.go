package vm

// assemble writes the rewritten module: the guest's module with the additions for metering. It omits custom sections.
func (p *parsed) assemble() []byte {
	add := newAdded(p)
	out := make([]byte, 0, len(p.code)+len(p.bodies)+512)
	out = append(out, p.code[:8]...)

	types := append(p.copyOf(typeSection), functionForm, 0, 0)
	types = append(types, functionForm, 1, I64, 1, I64)
	types = append(types, functionForm, 1, I32, 1, I32)
	out = appendSection(out, typeSection, len(p.types)+3, types)

	out = appendSection(out, importSection, len(p.imports)+addedImports, p.importsWith(&add))

	functions := p.copyOf(functionSection)
	functions = appendU32(functions, add.refillType) // settle
	functions = appendU32(functions, add.growType)
	functions = appendU32(functions, add.emptyType) // reset
	out = appendSection(out, functionSection, p.bodyCount+3, functions)

	out = p.appendTableAndMemory(out)

	out = appendSection(out, globalSection, p.ownGlobals()+2+p.noteGlobals(), p.globalsWith())
	out = appendSection(out, exportSection, len(p.exports)+3+p.noteExports(), p.appendExports(nil, &add))
	if p.start >= 0 {
		start := appendU32(nil, p.moved(uint32(p.start)))
		out = append(appendU32(append(out, startSection), uint32(len(start))), start...)
	}
	if p.elementCount > 0 {
		out = appendSection(out, elementSection, p.elementCount, p.elements)
	}
	out = appendSection(out, codeSection, p.bodyCount+3, p.appendAddedBodies(p.bodies, &add))
	if p.dataCount > 0 {
		out = appendSection(out, dataSection, p.dataCount, p.contents[dataSection])
	}
	return out
}

// importsWith returns the contents of the import section, including the added imports.
func (p *parsed) importsWith(add *added) []byte {
	return appendAddedImports(p.copyOf(importSection), add)
}

// appendAddedImports appends the added imports.
func appendAddedImports(imports []byte, add *added) []byte {
	imports = appendU32(append(appendName(appendName(imports, EngineModule), RefillName), functionKind), add.refillType)
	return appendU32(append(appendName(appendName(imports, EngineModule), GrowName), functionKind), add.growType)
}

// globalsWith returns the contents of the global section, including the added globals.
func (p *parsed) globalsWith() []byte {
	globals := append(p.copyOf(globalSection), I64, 1, opI64Const, 0, opEnd)
	globals = append(appendS64(append(globals, I64, 1, opI64Const), fullStack), opEnd)
	for range p.noteGlobals() {
		globals = append(globals, I64, 1, opI64Const, 0, opEnd)
	}
	return globals
}

// places returns the number of place globals: one per defined function if the module is covered, else 0.
func (p *parsed) places() int {
	if !p.covered {
		return 0
	}
	return len(p.functions) - p.imported
}

// placeGlobals returns the number of place globals and the clock that precedes them.
func (p *parsed) placeGlobals() int {
	if !p.covered {
		return 0
	}
	return 1 + p.places()
}

// noteGlobals returns the number of globals that a covered module has in addition; noteExports returns how many of them
// are exported.
func (p *parsed) noteGlobals() int { return p.placeGlobals() + coverWords(len(p.blocks)) }
func (p *parsed) noteExports() int { return p.places() + coverWords(len(p.blocks)) }

// copyOf returns a copy of a section's entries with capacity for the additions.
func (p *parsed) copyOf(section int) []byte {
	return append(make([]byte, 0, len(p.contents[section])+64), p.contents[section]...)
}

// appendTableAndMemory writes the table and memory that the module declares; imported ones are not repeated. The
// declared maximum of the memory is one page above the guest's, which leaves an engine a page to undo a growth.
// [Module.Grow] enforces the guest's maximum.
func (p *parsed) appendTableAndMemory(out []byte) []byte {
	if p.contents[tableSection] != nil {
		out = appendSection(out, tableSection, len(p.tables), p.contents[tableSection])
	}
	if p.contents[memorySection] != nil && len(p.memories) > 0 {
		memory := p.memories[0]
		content := appendU32([]byte{1}, memory.least)
		out = appendSection(out, memorySection, 1, appendU32(content, min(memory.most+1, unlimitedPages)))
	}
	return out
}

// ownGlobals returns the number of globals that the module declares itself.
func (p *parsed) ownGlobals() (n int) {
	for _, g := range p.globals {
		if g.initial != nil {
			n++
		}
	}
	return n
}

func (p *parsed) appendExports(out []byte, add *added) []byte {
	for _, e := range p.exports {
		index := e.index
		if e.kind == functionKind {
			index = p.moved(index)
		}
		out = appendU32(append(appendName(out, GuestPrefix+e.name), e.kind), index)
	}
	return p.appendOwnExports(out, add)
}

// appendOwnExports appends the added exports.
func (p *parsed) appendOwnExports(out []byte, add *added) []byte {
	for i := range p.places() {
		out = appendU32(append(appendName(out, PlaceName(i)), globalKind), add.stack+2+uint32(i))
	}
	for i := range coverWords(len(p.blocks)) {
		out = appendU32(append(appendName(out, CoverName(i)), globalKind), add.stack+1+uint32(p.placeGlobals()+i))
	}
	out = appendU32(append(appendName(out, GasName), globalKind), add.gas)
	out = appendU32(append(appendName(out, StackName), globalKind), add.stack)
	return appendU32(append(appendName(out, ResetName), functionKind), add.resetFunction)
}

// appendAddedBodies appends the bodies of the added functions: settle, grow and reset.
func (p *parsed) appendAddedBodies(out []byte, add *added) []byte {
	// settle exchanges the negative gas for a new slice and stores that in the global. A frame that does not fit traps
	// here. That trap takes precedence over running out of gas, as the function's first block is not paid yet.
	settle := append(add.appendOverflow([]byte{0}), opI64Const, 0, opI64LtS, opIf, emptyBlock, opUnreachable, opEnd)
	settle = appendU32(append(settle, opLocalGet, 0, opCall), add.refill)
	settle = appendU32(append(settle, opLocalTee, 0, opGlobalSet), add.gas)
	out = appendBody(out, append(settle, opLocalGet, 0, opEnd))

	// memory.grow of 0 is memory.size. Without a memory, nothing calls this function.
	grow := []byte{0, opUnreachable, opEnd}
	if len(p.memories) > 0 {
		grow = []byte{0, opLocalGet, 0, opIf, I32, opLocalGet, 0, opCall}
		grow = append(appendU32(grow, add.grow), opElse, opMemorySize, 0, opEnd, opEnd)
	}
	out = appendBody(out, grow)

	reset := []byte{0}
	for i, g := range p.globals {
		if g.mutable && g.initial != nil {
			reset = appendU32(append(append(reset, g.initial...), opGlobalSet), uint32(i))
		}
	}
	reset = appendS64(append(reset, opI64Const), fullStack)
	reset = appendU32(append(reset, opGlobalSet), add.stack)
	return appendBody(out, append(reset, opEnd))
}

func appendBody(out, body []byte) []byte {
	return append(appendU32(out, uint32(len(body))), body...)
}

func appendSection(out []byte, id byte, count int, content []byte) []byte {
	number := appendU32(nil, uint32(count))
	out = appendU32(append(out, id), uint32(len(number)+len(content)))
	return append(append(out, number...), content...)
}

func appendName(out []byte, name string) []byte {
	return append(appendU32(out, uint32(len(name))), name...)
}
