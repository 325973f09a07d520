package wasmgen

import "slices"

// Value types.
const (
	I32 = 0x7F
	I64 = 0x7E
	F32 = 0x7D
	F64 = 0x7C
)

// Kinds of imports and exports.
const (
	FunctionKind = iota
	TableKind
	MemoryKind
	GlobalKind
)

// Module is a module by the entries of its sections. A section without entries is left out; nothing is checked.
type Module struct {
	Types, Imports, Functions, Tables, Memories, Globals, Exports [][]byte
	Start                                                         []byte // content of the section; nil: none
	Elements, Code, Data                                          [][]byte
}

// Header begins every module.
var Header = []byte("\x00asm\x01\x00\x00\x00")

// Encode writes the module.
func (m *Module) Encode() []byte {
	out := slices.Clone(Header)
	for id, entries := range [][][]byte{
		1: m.Types, 2: m.Imports, 3: m.Functions, 4: m.Tables, 5: m.Memories, 6: m.Globals, 7: m.Exports,
		9: m.Elements, 10: m.Code, 11: m.Data,
	} {
		if len(entries) > 0 {
			out = append(out, Section(byte(id), Vector(entries...))...)
		}
		if id == 7 && m.Start != nil {
			out = append(out, Section(8, m.Start)...)
		}
	}
	return out
}

// AddType adds a type and returns its index. result 0 is none.
func (m *Module) AddType(params []byte, result byte) uint32 {
	m.Types = append(m.Types, Type(params, result))
	return uint32(len(m.Types) - 1)
}

// AddFunction adds a function and returns its index. All imports must be functions, and there before it.
func (m *Module) AddFunction(typeIndex uint32, locals []byte, instructions ...byte) uint32 {
	m.Functions = append(m.Functions, U32(typeIndex))
	m.Code = append(m.Code, Body(locals, instructions...))
	return uint32(len(m.Imports) + len(m.Functions) - 1)
}

// Export exports something.
func (m *Module) Export(name string, kind byte, index uint32) {
	m.Exports = append(m.Exports, Export(name, kind, index))
}

// Contract is a module with a memory of some pages, exported as contracts must, and room to grow to most.
func Contract(pages, most uint32) *Module {
	m := &Module{Memories: [][]byte{Concat([]byte{1}, U32(pages), U32(most))}}
	m.Export("memory", MemoryKind, 0)
	return m
}

// Section writes a section.
func Section(id byte, content []byte) []byte {
	return Concat([]byte{id}, U32(uint32(len(content))), content)
}

// Vector writes the number of entries and the entries.
func Vector(entries ...[]byte) []byte {
	return Concat(U32(uint32(len(entries))), Concat(entries...))
}

// Type writes the type of a function. result 0 is none.
func Type(params []byte, result byte) []byte {
	t := Concat([]byte{0x60}, U32(uint32(len(params))), params)
	if result == 0 {
		return append(t, 0)
	}
	return append(t, 1, result)
}

// Name writes a name.
func Name(name string) []byte { return Concat(U32(uint32(len(name))), []byte(name)) }

// ImportFunction writes the import of a function.
func ImportFunction(module, name string, typeIndex uint32) []byte {
	return Concat(Name(module), Name(name), []byte{FunctionKind}, U32(typeIndex))
}

// Export writes an export.
func Export(name string, kind byte, index uint32) []byte {
	return Concat(Name(name), []byte{kind}, U32(index))
}

// Global writes a global with its initial value: an i32 or i64.
func Global(valueType byte, mutable bool, value int64) []byte {
	g := []byte{valueType, 0}
	if mutable {
		g[1] = 1
	}
	return Concat(g, Const(valueType, value), []byte{End})
}

// Element writes an element segment.
func Element(offset int32, functions ...uint32) []byte {
	s := Concat([]byte{0}, Const(I32, int64(offset)), []byte{End}, U32(uint32(len(functions))))
	for _, f := range functions {
		s = append(s, U32(f)...)
	}
	return s
}

// Data writes a data segment.
func Data(offset int32, data string) []byte {
	return Concat([]byte{0}, Const(I32, int64(offset)), []byte{End}, Name(data))
}

// Body writes a code entry: locals one by one, instructions without the last end.
func Body(locals []byte, instructions ...byte) []byte {
	groups := make([][]byte, len(locals))
	for i, t := range locals {
		groups[i] = []byte{1, t}
	}
	b := Concat(Vector(groups...), instructions, []byte{End})
	return Concat(U32(uint32(len(b))), b)
}

// Concat joins.
func Concat(parts ...[]byte) []byte { return slices.Concat(parts...) }

// U32 writes an unsigned integer.
func U32(v uint32) (b []byte) {
	for ; v >= 0x80; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v))
}

// S64 writes a signed integer of any width.
func S64(v int64) (b []byte) {
	for ; v < -64 || v > 63; v >>= 7 {
		b = append(b, byte(v)|0x80)
	}
	return append(b, byte(v)&0x7F)
}
