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

// Position is a line of a source; the file is a path in the archive. Its zero value is unknown.
type Position struct {
	File string
	Line int
}

// SourceMap says where in the source the instructions of a module come from.
type SourceMap struct {
	functions []mappedFunction // in the order of the module's code
}

// mappedFunction is a defined function.
type mappedFunction struct {
	name string // as in the source
	at   []int  // where its instructions are in the module, in order
	from []Position
	// inlined has where the calls are of the functions that an instruction is inlined from, the innermost first.
	inlined map[int][]Position
}

// Functions is how many functions the module defines.
func (m *SourceMap) Functions() int { return len(m.functions) }

// Function is what a defined function is called in the source.
func (m *SourceMap) Function(defined int) string { return m.functions[defined].name }

// Between gives the lines that instructions of a function at offsets of the module from a first one to before a last
// one come from, each once, in their order.
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

// At gives the line that the instruction at an offset of the module comes from. If it is inlined, the line of the call
// follows, and so on.
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

// Before gives the last wanted line that instructions of a function before an offset come from. Source maps of
// AssemblyScript do not say what is inlined where.
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

// IsOwn tells the contract's own sources from those of the SDK and of the language, and from generated ones.
func IsOwn(s contractsource.Source, p Position) bool {
	return strings.HasPrefix(p.File, own(s)) && !strings.Contains(p.File, "~") // it marks generated files
}

// own is what the paths of the contract's own sources begin with, as [Position] has them.
func own(s contractsource.Source) string {
	if s.Manifest.Language == contractsource.AssemblyScript {
		return "assembly/"
	}
	return path.Join(s.Manifest.Package, "src") + "/"
}

// Map compiles a source with debug information, and says where the instructions of its module come from. The module is
// what [Build] made of the same source; its functions are found again by what they do, so a difference is an error.
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

// compiled is what a compiler wrote.
type compiled struct {
	module    []byte
	sourceMap []byte // of AssemblyScript with debug information
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

// row says that the instructions from an offset of the code section's content on come from a position.
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

// inlinedCall says that the instructions between two offsets of the code section's content are those of a function that
// is called at a position.
type inlinedCall struct {
	first, end int
	from       Position
}

// rowsOf reads the debug information of a module: lines by offsets, and inlined calls, the outer before the inner.
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

// demangled is a function's name for people: rustc's names are mangled as those of C++, with a hash at the end.
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

// escapes are those of rustc's mangled names.
var escapes = strings.NewReplacer("$LT$", "<", "$GT$", ">", "$RF$", "&", "$BP$", "*", "$LP$", "(", "$RP$", ")",
	"$C$", ",", "$u20$", " ", "$u7b$", "{", "$u7d$", "}", "$u5b$", "[", "$u5d$", "]", "..", "::")
