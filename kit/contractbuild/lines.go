package contractbuild

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/internal/contractsource"
)

// Position is a line of a source file, named by its path in the archive. The zero value means unknown.
type Position struct {
	File string
	Line int
}

// SourceMap maps the instructions of a module to positions in its source.
type SourceMap struct {
	functions []mappedFunction // in the module's order
}

// mappedFunction is a defined function.
type mappedFunction struct {
	name string // name in the source
	at   []int  // offsets of its instructions in the module, ascending
	from []Position
	// inlined maps an instruction to the call sites of the functions inlined at it, innermost first.
	inlined map[int][]Position
}

// Functions returns the number of functions that the module defines.
func (m *SourceMap) Functions() int { return len(m.functions) }

// Function returns the source name of a defined function.
func (m *SourceMap) Function(defined int) string { return m.functions[defined].name }

// Between returns the lines of a function's instructions at module offsets from first to before last, each once, in
// order.
func (m *SourceMap) Between(defined, first, last int) (lines []Position) {
	f := m.functions[defined]
	i, _ := slices.BinarySearch(f.at, first)
	for ; i < len(f.at) && f.at[i] < last; i++ {
		if p := f.from[i]; p != (Position{}) && !slices.Contains(lines, p) {
			lines = append(lines, p)
		}
	}
	return lines
}

// At returns the line of the instruction at a module offset. If the instruction is inlined, the lines of the call sites
// follow, innermost first.
func (m *SourceMap) At(defined, offset int) (lines []Position) {
	f := m.functions[defined]
	i, found := slices.BinarySearch(f.at, offset)
	if !found {
		return nil
	}
	if f.from[i] != (Position{}) {
		lines = append(lines, f.from[i])
	}
	return append(lines, f.inlined[i]...)
}

// Before returns the last position accepted by wanted among a function's instructions before an offset. It serves
// AssemblyScript, whose source maps have no inlining information.
func (m *SourceMap) Before(defined, offset int, wanted func(Position) bool) Position {
	f := m.functions[defined]
	i, _ := slices.BinarySearch(f.at, offset)
	for _, p := range slices.Backward(f.from[:i]) {
		if wanted(p) {
			return p
		}
	}
	return Position{}
}

// IsOwn reports whether a position is in the contract's own sources, rather than in the SDK, the language's library or
// generated code.
func IsOwn(s contractsource.Source, p Position) bool {
	return strings.HasPrefix(p.File, own(s)) && !strings.Contains(p.File, "~") // ~ marks generated files
}

// own returns the path prefix of the contract's own sources in a [Position].
func own(s contractsource.Source) string {
	if s.Manifest.Language == contractsource.AssemblyScript {
		return "assembly/"
	}
	return path.Join(s.Manifest.Package, "src") + "/"
}

// Map compiles a source with debug information, and maps the instructions of module, which [Build] made from the same
// source, to source positions. It matches functions by their code, and returns an error if the two builds differ.
func Map(ctx context.Context, s contractsource.Source, o Options, module []byte) (*SourceMap, error) {
	if err := checkToolchain(ctx, s); err != nil {
		return nil, err
	}
	o.debug = true
	debug, _, err := compile(ctx, s, o)
	if err != nil {
		return nil, err
	}
	return mapModule(module, debug)
}

// compiled is the output of a compiler.
type compiled struct {
	module    []byte
	sourceMap []byte // from AssemblyScript with debug information
}

func mapModule(module []byte, debug compiled) (*SourceMap, error) {
	ours, err := codeOf(module)
	if err != nil {
		return nil, err
	}
	theirs, err := codeOf(debug.module)
	if err != nil {
		return nil, err
	}
	matched, err := ours.match(theirs)
	if err != nil {
		return nil, err
	}
	named, err := functionsOf(debug.module)
	if err != nil {
		return nil, err
	}
	rows, calls, err := rowsOf(debug, theirs.offset)
	if err != nil {
		return nil, err
	}
	m := &SourceMap{functions: make([]mappedFunction, len(ours.functions))}
	for i, f := range ours.functions {
		twin := theirs.functions[matched[i]]
		if len(f.at) != len(twin.at) {
			return nil, errOtherCode
		}
		mapped := mappedFunction{
			name: demangled(named.name(matched[i])), from: make([]Position, len(f.at)), inlined: map[int][]Position{},
		}
		for k, at := range f.at {
			mapped.at = append(mapped.at, ours.offset+at)
			mapped.from[k] = rowAt(rows, twin.at[k])
		}
		for _, c := range slices.Backward(calls) {
			first, _ := slices.BinarySearch(twin.at, c.first)
			for k := first; k < len(twin.at) && twin.at[k] < c.end; k++ {
				mapped.inlined[k] = append(mapped.inlined[k], c.from)
			}
		}
		m.functions[i] = mapped
	}
	return m, nil
}

// row maps the instructions from an offset in the code section's content on to a position.
type row struct {
	at   int
	from Position
}

func rowAt(rows []row, at int) Position {
	i, found := slices.BinarySearchFunc(rows, at, func(r row, at int) int { return cmp.Compare(r.at, at) })
	switch {
	case found:
		return rows[i].from
	case i == 0:
		return Position{}
	}
	return rows[i-1].from
}

// inlinedCall is a call site whose callee is inlined in the instructions between two offsets of the code section's
// content.
type inlinedCall struct {
	first, end int
	from       Position
}

// rowsOf reads the debug information of a module: line rows by offset, and inlined calls, outer before inner.
func rowsOf(debug compiled, codeOffset int) (rows []row, calls []inlinedCall, err error) {
	if debug.sourceMap != nil {
		rows, err = readSourceMap(debug.sourceMap, codeOffset)
	} else {
		rows, calls, err = readDWARF(debug.module)
	}
	if err == nil && len(rows) == 0 {
		err = errors.New("the compiler wrote no debug information")
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	return rows, calls, err
}

// demangled converts a mangled function name for people. rustc mangles names like C++, and appends a hash.
func demangled(name string) string {
	rest, ok := strings.CutPrefix(name, "_ZN")
	if !ok {
		return name
	}
	var parts []string
	for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' {
		n := 0
		for len(rest) > 0 && rest[0] >= '0' && rest[0] <= '9' && n < len(name) {
			n, rest = 10*n+int(rest[0]-'0'), rest[1:]
		}
		if n > len(rest) {
			return name
		}
		part := rest[:n]
		if strings.HasPrefix(part, "_$") {
			part = part[1:]
		}
		parts, rest = append(parts, part), rest[n:]
	}
	if rest != "E" || len(parts) < 2 {
		return name
	}
	return escapes.Replace(strings.Join(parts[:len(parts)-1], "::"))
}

// escapes decodes the escapes of rustc's mangled names.
var escapes = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$LP$", "(", "$RP$", ")",
	"$C$", ",", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "$u5b$", "[", "$u5d$", "]", "..", "::")
