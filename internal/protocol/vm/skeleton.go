package vm

import (
	"bytes"
	"slices"
)

// Skeleton is the part of a module that an engine needs when it already has the machine code. It is the rewritten
// module without function bodies, without functions that only code refers to, and without data. Everything that machine
// code finds by its index keeps its index in the rewritten module: imports, globals, the table, the memory and, if the
// table has entries, the types.
type Skeleton struct {
	Module []byte // in the binary format; each body is `unreachable`
	// Functions maps the skeleton's own functions, in their order, to functions of the rewritten module, imports not
	// counted. They are the first function, those that a call or the engine enters, and those in the table.
	Functions []uint32
	// Data holds the initial contents of the memory in the order of writing. They lie within the memory's initial size.
	Data []Segment
}

// Segment is a part of a memory's initial contents.
type Segment struct {
	Offset uint32
	Bytes  []byte
}

// Skeleton returns the module's skeleton. The caller must not modify it.
func (m *Module) Skeleton() *Skeleton { return &m.skeleton }

// elementSegment is a segment of the table, with function indices of the rewritten module.
type elementSegment struct {
	offset    []byte // constant expression without its end
	functions []uint32
}

// skeletonWriter writes the skeleton of a contract's module.
type skeletonWriter struct {
	*parsed
	added    added
	exports  []exportEntry // exports that are kept
	elements []elementSegment
	types    []functionType
	kept     []bool   // by function, imports not counted
	place    []uint32 // index in the skeleton by function, imports not counted
}

// skeleton returns the module's skeleton. enters reports whether an export is a function that a call or a deploy
// enters.
func (p *parsed) skeleton(enters func(name string) bool) Skeleton {
	w := skeletonWriter{parsed: p, added: newAdded(p), elements: p.elementSegments(), kept: make([]bool, p.bodyCount+3)}
	w.kept[0] = true // an address in the machine code belongs to the last function before it
	w.keep(w.added.resetFunction)
	for _, e := range p.exports {
		switch {
		case e.kind == memoryKind && e.name == memoryExport:
			w.exports = append(w.exports, e)
		case enters(e.name):
			w.exports = append(w.exports, e)
			w.keep(p.moved(e.index))
		}
	}
	for _, s := range w.elements {
		for _, f := range s.functions {
			w.keep(f)
		}
	}
	s := Skeleton{Data: p.dataSegments()}
	w.place = make([]uint32, len(w.kept))
	for f, kept := range w.kept {
		if kept {
			w.place[f] = uint32(len(s.Functions))
			s.Functions = append(s.Functions, uint32(f))
		}
	}
	w.chooseTypes()
	s.Module = w.write(s.Functions)
	return s
}

// firstOwn returns the index of the first function that is not an import.
func (w *skeletonWriter) firstOwn() uint32 { return uint32(w.imported + addedImports) }

func (w *skeletonWriter) keep(function uint32) {
	if own := w.firstOwn(); function >= own {
		w.kept[function-own] = true
	}
}

// moved returns the skeleton's index of a kept function of the rewritten module.
func (w *skeletonWriter) moved(function uint32) uint32 {
	if own := w.firstOwn(); function >= own {
		return own + w.place[function-own]
	}
	return function
}

func (w *skeletonWriter) write(functions []uint32) []byte {
	p, add := w.parsed, &w.added
	out := append(make([]byte, 0, 1024), p.code[:8]...)
	var content, bodies []byte
	for _, t := range w.types {
		content = appendType(content, t)
	}
	out = appendSection(out, typeSection, len(w.types), content)
	out = appendSection(out, importSection, len(p.imports)+addedImports, w.importSection())
	content = nil
	for _, f := range functions {
		content = appendU32(content, w.typeIndex(w.typeOf(f)))
		bodies = appendBody(bodies, []byte{0, opUnreachable, opEnd})
	}
	out = appendSection(out, functionSection, len(functions), content)
	out = p.appendTableAndMemory(out)
	out = appendSection(out, globalSection, p.ownGlobals()+2+p.noteGlobals(), p.globalsWith())
	content = nil
	for _, e := range w.exports {
		index := e.index
		if e.kind == functionKind {
			index = w.moved(p.moved(index))
		}
		content = appendU32(append(appendName(content, GuestPrefix+e.name), e.kind), index)
	}
	reset := *add
	reset.resetFunction = w.moved(add.resetFunction)
	own := p.appendOwnExports(content, &reset)
	out = appendSection(out, exportSection, len(w.exports)+3+p.noteExports(), own)
	if len(w.elements) > 0 {
		content = nil
		for _, s := range w.elements {
			content = append(append(append(content, 0), s.offset...), opEnd)
			content = appendU32(content, uint32(len(s.functions)))
			for _, f := range s.functions {
				content = appendU32(content, w.moved(f))
			}
		}
		out = appendSection(out, elementSection, len(w.elements), content)
	}
	return appendSection(out, codeSection, len(functions), bodies)
}

// typeOf returns the type index of a function of the rewritten module, imports not counted.
func (w *skeletonWriter) typeOf(function uint32) uint32 {
	if guest := uint32(w.imported) + function; guest < uint32(len(w.functions)) {
		return w.functions[guest]
	}
	return [...]uint32{w.added.refillType, w.added.growType, w.added.emptyType}[function-uint32(w.bodyCount)]
}

// chooseTypes chooses the types of the skeleton. Only functions with an import's type or type () → () are called from
// outside, and call_indirect only needs to know which types are equal. So if the table has entries, the types keep
// their indices, and each other type is replaced by a small one; otherwise only the needed types are kept. An engine
// generates code to enter functions of each type, which takes long for many types and many params.
func (w *skeletonWriter) chooseTypes() {
	kept := []functionType{{}, {params: []byte{I64}, result: I64}, {params: []byte{I32}, result: I32}}
	for _, i := range w.parsed.imports {
		kept = append(kept, w.parsed.types[i.typeIndex])
	}
	written, taken := map[string]functionType{}, map[string]bool{}
	for _, t := range kept {
		written[t.key()], taken[t.key()] = t, true
	}
	if len(w.elements) == 0 {
		w.types = kept
		return
	}
	small := 0
	for _, t := range w.parsed.types {
		as, ok := written[t.key()]
		for !ok {
			as = smallType(small)
			small++
			ok = !taken[as.key()]
		}
		written[t.key()] = as
		w.types = append(w.types, as)
	}
	w.types = append(w.types, kept[:3]...)
}

func (t functionType) key() string { return string(t.params) + "→" + string(rune(t.result)) }

// typeIndex returns the skeleton's index for the type of an import or a function.
func (w *skeletonWriter) typeIndex(index uint32) uint32 {
	if len(w.elements) > 0 {
		return index
	}
	t := functionType{}
	switch {
	case index == w.added.refillType:
		return 1
	case index == w.added.growType:
		return 2
	case index != w.added.emptyType:
		t = w.parsed.types[index]
	}
	// A function that is kept only for its place, and not entered, may have any type.
	return uint32(max(0, slices.IndexFunc(w.types, func(other functionType) bool { return other.key() == t.key() })))
}

func (w *skeletonWriter) importSection() []byte {
	var out []byte
	for _, i := range w.parsed.imports {
		out = appendU32(append(appendName(appendName(out, i.module), i.name), functionKind), w.typeIndex(i.typeIndex))
	}
	add := w.added
	add.refillType, add.growType = w.typeIndex(add.refillType), w.typeIndex(add.growType)
	return appendAddedImports(out, &add)
}

// smallType returns the n-th of a sequence of distinct types with few params.
func smallType(n int) (t functionType) {
	for n++; n > 1; n /= 2 {
		t.params = append(t.params, [...]byte{I32, I64}[n%2])
	}
	return t
}

func appendType(out []byte, t functionType) []byte {
	out = appendU32(append(out, functionForm), uint32(len(t.params)))
	out = append(out, t.params...)
	if t.result == 0 {
		return append(out, 0)
	}
	return append(out, 1, t.result)
}

// elementSegments reads the rewritten element segments.
func (p *parsed) elementSegments() []elementSegment {
	segments := make([]elementSegment, p.elementCount)
	q := &parsed{reader: reader{code: p.elements, end: len(p.elements)}, declared: declared{globals: p.globals}}
	for i := range segments {
		q.u32() // table index
		segments[i].offset, _, _ = q.constant(I32)
		for range q.count() {
			segments[i].functions = append(segments[i].functions, q.u32())
		}
	}
	return segments
}

// dataSegments copies the data segments. A contract imports no global, so each offset is a number.
func (p *parsed) dataSegments() []Segment {
	segments := make([]Segment, p.dataCount)
	content := p.contents[dataSection]
	q := &parsed{reader: reader{code: content, end: len(content)}, declared: declared{globals: p.globals}}
	for i := range segments {
		q.u32() // memory index
		_, segments[i].Offset, _ = q.constant(I32)
		segments[i].Bytes = bytes.Clone(q.bytes(q.u32()))
	}
	return segments
}
