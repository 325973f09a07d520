package vm

import "fmt"

// Refused is the reason why code is not a contract.
type Refused struct {
	Reason Reason
	Offset int    // approximate offset in bytes
	Import string // module and name of the refused import; empty for other reasons
}

// Error returns the rule and the offset.
func (r *Refused) Error() string {
	text := fmt.Sprintf("module refused at byte %d: %s", r.Offset, r.Reason)
	if r.Import != "" {
		text += fmt.Sprintf(": %q", r.Import[:min(len(r.Import), mostShown)])
	}
	return text
}

// Reason is the rule that a module breaks, in words.
type Reason string

// Rules of the binary format (WebAssembly Core 1.0, chapter 5).
const (
	reasonSize         Reason = "the code is longer than 256 KiB"
	reasonMagic        Reason = "it does not begin with the magic number and version 1 of WebAssembly"
	reasonEnd          Reason = "the code ends in the middle of an element"
	reasonIntegerLong  Reason = "an integer has more bytes than its type allows"
	reasonIntegerLarge Reason = "an integer exceeds the range of its type"
	reasonSection      Reason = "the section id is unknown"
	reasonSectionOrder Reason = "a section is out of order or comes twice"
	reasonSectionSize  Reason = "a section is longer than its content"
	reasonName         Reason = "a name is not UTF-8"
	reasonValueType    Reason = "the value type is unknown"
	reasonTypeForm     Reason = "a type is not the type of a function"
	reasonResults      Reason = "a type has more than one result"
	reasonImportKind   Reason = "there is no kind of import of this number"
	reasonExportKind   Reason = "the kind of an export is unknown"
	reasonElementType  Reason = "a table has elements other than functions"
	reasonLimitsFlag   Reason = "limits begin with a flag other than 0 and 1"
	reasonMutability   Reason = "a global's mutability is neither 0 nor 1"
	reasonCodeCount    Reason = "the numbers of functions and bodies differ"
	reasonBodySize     Reason = "a body is longer than its instructions"
	reasonBodyEnd      Reason = "a body ends before its last end"
	reasonInstruction  Reason = "the instruction is unknown"
	reasonReserved     Reason = "a reserved byte is not 0"
)

// Rules of validation (chapter 3 and the algorithm in the appendix).
const (
	reasonTypeIndex     Reason = "a type index is out of range"
	reasonFunctionIndex Reason = "a function index is out of range"
	reasonTableIndex    Reason = "a table index is out of range"
	reasonMemoryIndex   Reason = "a memory index is out of range"
	reasonGlobalIndex   Reason = "a global index is out of range"
	reasonLocalIndex    Reason = "a local index is out of range"
	reasonLabel         Reason = "a label index is out of range"
	reasonOperandType   Reason = "an operand has another type"
	reasonNoOperand     Reason = "an operand is missing"
	reasonLeftOver      Reason = "values are left at the end of a block"
	reasonElse          Reason = "an else has no if"
	reasonNoElse        Reason = "an if with a result has no else"
	reasonLabelTypes    Reason = "the labels of a br_table differ in type"
	reasonAlignment     Reason = "an alignment is larger than the access"
	reasonImmutable     Reason = "a constant global is set"
	reasonConstant      Reason = "an initial value or offset is not a constant"
	reasonConstantType  Reason = "an initial value or offset has another type"
	reasonLimits        Reason = "a maximum is below its minimum"
	reasonMemorySize    Reason = "a memory has more than 65536 pages"
	reasonMemories      Reason = "more than one memory"
	reasonTables        Reason = "more than one table"
	reasonExportTwice   Reason = "two exports have the same name"
	reasonStartType     Reason = "the start function has params or a result"
)

// Rules of contracts (docs/protocol.md, "Modules").
const (
	reasonFloat         Reason = "it has floats"
	reasonStart         Reason = "it has a start function"
	reasonImportNot     Reason = "it imports something other than functions"
	reasonImportUnknown Reason = "it imports a function that is no host function"
	reasonImportType    Reason = "it imports a host function with another type"
	reasonNoMemory      Reason = "it declares no memory"
	reasonMemoryExport  Reason = "it does not export its memory as memory"
	reasonInit          Reason = "its export init is not a function without params and result"
	reasonReentrant     Reason = "its export _reentrant is not a function without params and result"
	reasonTypes         Reason = "more than 256 types"
	reasonParams        Reason = "a type has more than 100 params"
	reasonFunctions     Reason = "more than 5000 functions"
	reasonBodyBytes     Reason = "a body has more than 32768 bytes"
	reasonLocals        Reason = "a function has more than 100 params and locals"
	reasonAllLocals     Reason = "more than 10000 locals in all"
	reasonNesting       Reason = "blocks are nested deeper than 128"
	reasonTargets       Reason = "a br_table has more than 256 targets"
	reasonSlots         Reason = "a function's frame has more than 16384 slots"
	reasonImports       Reason = "more than 64 imports"
	reasonExports       Reason = "more than 128 exports"
	reasonGlobals       Reason = "more than 1024 globals"
	reasonMutable       Reason = "more than 64 mutable globals"
	reasonElements      Reason = "more than 2500 indices in element segments"
	reasonDataSegments  Reason = "more than 1024 data segments"
	reasonPages         Reason = "the initial memory has more than 16 pages"
	reasonMaxPages      Reason = "the maximum of the memory is more than 16 pages"
	reasonTableSize     Reason = "a table has more than 2500 elements"
	reasonData          Reason = "a data segment is outside the initial memory"
	reasonElement       Reason = "an element segment is outside the initial table"
)
