package contractbuild

import (
	"cmp"
	"context"
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
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

// Own is what the paths of the contract's own sources begin with, as [Position] has them.
func (s Source) Own() string {
	if s.Manifest.Language == AssemblyScript {
		return "assembly/"
	}
	return path.Join(s.Manifest.Package, "src") + "/"
}

// Map compiles a source with debug information, and says where the instructions of its module come from. The module is
// what [Build] made of the same source; its functions are found again by what they do, so a difference is an error.
func Map(ctx context.Context, s Source, o Options, module []byte) (*SourceMap, error) {
	if err := s.checkToolchain(ctx); err != nil {
		return nil, err
	}
	o.debug = true
	debug, _, err := s.compile(ctx, o)
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
	rows, err := rowsOf(debug, theirs.offset)
	if err != nil {
		return nil, err
	}
	m := &SourceMap{functions: make([]mappedFunction, len(ours.functions))}
	for i, f := range ours.functions {
		twin := theirs.functions[matched[i]]
		if len(f.at) != len(twin.at) {
			return nil, errOtherCode
		}
		mapped := mappedFunction{name: demangled(named.name(matched[i])), from: make([]Position, len(f.at))}
		for k, at := range f.at {
			mapped.at = append(mapped.at, ours.offset+at)
			mapped.from[k] = rowAt(rows, twin.at[k])
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

// rowsOf reads the debug information of a module, sorted by offsets.
func rowsOf(debug compiled, codeOffset int) (rows []row, err error) {
	if debug.sourceMap != nil {
		rows, err = readSourceMap(debug.sourceMap, codeOffset)
	} else {
		rows, err = readDWARF(debug.module)
	}
	if err == nil && len(rows) == 0 {
		err = errors.New("the compiler wrote no debug information")
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.at, b.at) })
	return rows, err
}

// readDWARF reads the line tables that rustc writes, whose addresses are offsets in the code section's content
// (https://yurydelendik.github.io/webassembly-dwarf).
func readDWARF(module []byte) (rows []row, err error) {
	list, err := sections(module)
	if err != nil {
		return nil, err
	}
	part := map[string][]byte{}
	for _, s := range list {
		part[s.name] = s.content
	}
	data, err := dwarf.New(part[".debug_abbrev"], nil, nil, part[".debug_info"], part[".debug_line"], nil,
		part[".debug_ranges"], part[".debug_str"])
	if err != nil {
		return nil, fmt.Errorf("debug information: %w", err)
	}
	for units := data.Reader(); ; units.SkipChildren() {
		unit, err := units.Next()
		if err != nil || unit == nil {
			return rows, err
		}
		lines, err := data.LineReader(unit)
		if err != nil {
			return nil, fmt.Errorf("debug information: %w", err)
		}
		if lines == nil {
			continue
		}
		if rows, err = appendLines(rows, lines); err != nil {
			return nil, fmt.Errorf("debug information: %w", err)
		}
	}
}

func appendLines(rows []row, lines *dwarf.LineReader) ([]row, error) {
	for {
		var entry dwarf.LineEntry
		err := lines.Next(&entry)
		switch {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, err
		case entry.EndSequence:
			rows = append(rows, row{at: int(entry.Address)})
		case entry.File == nil:
		default:
			rows = append(rows, row{int(entry.Address), Position{path.Clean(entry.File.Name), entry.Line}})
		}
	}
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
