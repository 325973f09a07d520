package contractbuild

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

const (
	wasmHeader = "\x00asm\x01\x00\x00\x00"

	abiSection = "cairn_abi"
	// SourceSection holds a byte 1 and the hash of the module's source (docs/protocol.md, "Conventions above
	// consensus").
	SourceSection = "cairn_source"

	// Section IDs.
	customSection = 0
	importSection = 2
	codeSection   = 10
)

var errModule = errors.New("the compiler wrote no WebAssembly module")

// section is a section of a module.
type section struct {
	id      byte
	name    string // name of a custom section
	content []byte // content, without the name of a custom section
	offset  int    // offset of the content in the module
}

// sections splits a module into its sections.
func sections(code []byte) ([]section, error) {
	if !bytes.HasPrefix(code, []byte(wasmHeader)) {
		return nil, errModule
	}
	var list []section
	r := reader{code: code, at: len(wasmHeader)}
	for r.at < len(code) {
		s := section{id: r.byte()}
		end := r.u32() + r.at
		if s.id == customSection {
			s.name = string(r.bytes(r.u32()))
		}
		if r.failed || end > len(code) || end < r.at {
			return nil, errModule
		}
		s.offset, s.content = r.at, code[r.at:end]
		r.at = end
		list = append(list, s)
	}
	return list, nil
}

// reader reads a compiler's module. failed is set if the input is truncated.
type reader struct {
	code   []byte
	at     int
	failed bool
}

func (r *reader) bytes(n int) []byte {
	if r.failed || n < 0 || n > len(r.code)-r.at {
		r.failed = true
		return nil
	}
	r.at += n
	return r.code[r.at-n : r.at]
}

func (r *reader) byte() byte {
	if b := r.bytes(1); len(b) == 1 {
		return b[0]
	}
	return 0
}

// u32 reads an unsigned LEB128.
func (r *reader) u32() int {
	v, n := binary.Uvarint(r.code[min(r.at, len(r.code)):])
	if n <= 0 || v > 1<<32-1 {
		r.failed = true
		return 0
	}
	r.at += n
	return int(v)
}

// strip keeps the parts of a linked module that the chain runs, and the ABI. It appends the source's hash unless that
// is nil.
func strip(linked []byte, source *contractsource.Hash) ([]byte, error) {
	list, err := sections(linked)
	if err != nil {
		return nil, err
	}
	out := []byte(wasmHeader)
	described := false
	for _, s := range list {
		switch {
		case s.id != customSection:
			out = appendSection(out, s.id, s.content)
		case s.name == abiSection && !described:
			described = true
			out = appendCustom(out, s.name, s.content)
		}
	}
	if source != nil {
		out = appendCustom(out, SourceSection, append([]byte{1}, source[:]...))
	}
	return out, nil
}

func appendSection(out []byte, id byte, content []byte) []byte {
	return append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
}

func appendCustom(out []byte, name string, content []byte) []byte {
	return appendSection(
		out, customSection, append(append(binary.AppendUvarint(nil, uint64(len(name))), name...), content...),
	)
}

// SourceOf returns the source hash that a module records. ok is false if it records none.
func SourceOf(code []byte) (hash contractsource.Hash, ok bool) {
	list, err := sections(code)
	if err != nil {
		return contractsource.Hash{}, false
	}
	for _, s := range list {
		if s.id == customSection && s.name == SourceSection {
			if len(s.content) != 1+len(hash) || s.content[0] != 1 {
				return contractsource.Hash{}, false
			}
			return contractsource.Hash(s.content[1:]), true
		}
	}
	return contractsource.Hash{}, false
}

// functions holds the names and bodies of a module's functions.
type functions struct {
	names    map[int]string // by function index; imported functions come first
	imported int
	bodies   [][]byte
	ends     []int // end of each body, as offset in the module
}

// functionsOf reads a module's functions, and their names from its name section.
func functionsOf(code []byte) (functions, error) {
	list, err := sections(code)
	if err != nil {
		return functions{}, err
	}
	f := functions{names: map[int]string{}}
	for _, s := range list {
		r := reader{code: s.content}
		switch {
		case s.id == importSection:
			f.imported = countImported(&r)
		case s.id == codeSection:
			for n := r.u32(); n > 0 && !r.failed; n-- {
				f.bodies = append(f.bodies, r.bytes(r.u32()))
				f.ends = append(f.ends, s.offset+r.at)
			}
		case s.id == customSection && s.name == "name":
			f.readNames(&r)
		}
		if r.failed {
			return functions{}, errModule
		}
	}
	return f, nil
}

// replaceCode is the host function by which a contract changes its code.
const replaceCode = "replace_code"

// CanChange reports whether a contract with this code can change it: whether the code imports the host function
// replace_code. Without that import, the code can never change.
func CanChange(code []byte) (bool, error) {
	list, err := sections(code)
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if s.id != importSection {
			continue
		}
		r := reader{code: s.content}
		found := false
		for n := r.u32(); n > 0 && !r.failed; n-- {
			r.bytes(r.u32())
			name := string(r.bytes(r.u32()))
			found = found || name == replaceCode
			if r.byte() != 0 { // contracts import functions and nothing else
				return false, errModule
			}
			r.u32()
		}
		if r.failed {
			return false, errModule
		}
		return found, nil
	}
	return false, nil
}

// countImported counts the imported functions. Contracts import nothing else.
func countImported(r *reader) int {
	count := 0
	for n := r.u32(); n > 0 && !r.failed; n-- {
		r.bytes(r.u32())
		r.bytes(r.u32())
		if r.byte() != 0 {
			return count
		}
		r.u32()
		count++
	}
	return count
}

// readNames reads the names of functions (WebAssembly Core 1.0, appendix, "Name Section").
func (f *functions) readNames(r *reader) {
	for r.at < len(r.code) && !r.failed {
		id := r.byte()
		part := reader{code: r.bytes(r.u32())}
		if id != 1 {
			continue
		}
		for n := part.u32(); n > 0 && !part.failed; n-- {
			index := part.u32()
			f.names[index] = string(part.bytes(part.u32()))
		}
		r.failed = r.failed || part.failed
	}
}

// name returns a defined function's source name, or its index if the module has no names.
func (f *functions) name(defined int) string {
	if name, ok := f.names[f.imported+defined]; ok {
		return name
	}
	return fmt.Sprintf("%d", f.imported+defined)
}

// at returns the defined function whose body contains an offset of the module.
func (f *functions) at(offset int) (defined int, ok bool) {
	for i, end := range f.ends {
		if offset <= end {
			return i, offset > end-len(f.bodies[i])
		}
	}
	return 0, false
}

// costliestCount is the number of functions that Build reports.
const costliestCount = 3

// FunctionGas is a function's share of the gas of its module's deploy.
type FunctionGas struct {
	Function string    `json:"function"` // source or export name, else its index
	Gas      types.Gas `json:"gas"`
}

// Costliest returns the functions of a module that cost the most in a deploy, most expensive first. named is the same
// module with names, or the module itself.
func Costliest(code, named []byte) ([]FunctionGas, error) {
	costs, err := vm.FunctionCosts(code)
	if err != nil {
		return nil, err
	}
	functions, err := functionsOf(named)
	if err != nil {
		return nil, err
	}
	costliest := []FunctionGas{}
	for _, c := range costs[:min(costliestCount, len(costs))] {
		name := demangled(functions.name(c.Function))
		if _, known := functions.names[functions.imported+c.Function]; !known && c.Export != "" {
			name = c.Export
		}
		costliest = append(costliest, FunctionGas{name, c.Gas})
	}
	return costliest, nil
}

// checkModule checks a module against the rules of a deploy, and names the function that breaks one. linked is the same
// module with names.
func checkModule(code, linked []byte) (*vm.Module, error) {
	module, err := vm.Check(code)
	var refused *vm.Refused
	if !errors.As(err, &refused) {
		return module, err
	}
	own, err := functionsOf(code)
	if err != nil {
		return nil, refused
	}
	named, err := functionsOf(linked)
	if err != nil {
		return nil, refused
	}
	if i, ok := own.at(refused.Offset); ok {
		return nil, fmt.Errorf("the chain would refuse the module: %s, in the function %s", refused.Reason, named.name(i))
	}
	return nil, fmt.Errorf("the chain would refuse the module: %s", refused.Reason)
}
