package contractbuild

import (
	"debug/dwarf"
	"errors"
	"fmt"
	"io"
	"path"
)

// readDWARF reads the line tables and the inlined calls in rustc's debug information. Addresses are offsets in the
// content of the code section (https://yurydelendik.github.io/webassembly-dwarf).
func readDWARF(module []byte) (rows []row, calls []inlinedCall, err error) {
	list, err := sections(module)
	if err != nil {
		return nil, nil, err
	}
	part := map[string][]byte{}
	for _, s := range list {
		part[s.name] = s.content
	}
	data, err := dwarf.New(part[".debug_abbrev"], nil, nil, part[".debug_info"], part[".debug_line"], nil,
		part[".debug_ranges"], part[".debug_str"])
	if err != nil {
		return nil, nil, fmt.Errorf("debug information: %w", err)
	}
	var files []*dwarf.LineFile // files of the current unit
	for entries := data.Reader(); ; {
		entry, err := entries.Next()
		if err != nil {
			return nil, nil, fmt.Errorf("debug information: %w", err)
		}
		if entry == nil {
			return rows, calls, nil
		}
		switch entry.Tag {
		case dwarf.TagCompileUnit:
			rows, files, err = appendUnit(rows, data, entry)
		case dwarf.TagInlinedSubroutine:
			calls, err = appendInlined(calls, data, entry, files)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("debug information: %w", err)
		}
	}
}

// appendUnit appends the lines of a unit, and returns its files by the numbers that its entries refer to.
func appendUnit(rows []row, data *dwarf.Data, unit *dwarf.Entry) ([]row, []*dwarf.LineFile, error) {
	lines, err := data.LineReader(unit)
	if err != nil || lines == nil {
		return rows, nil, err
	}
	rows, err = appendLines(rows, lines)
	return rows, lines.Files(), err
}

// appendInlined appends the calls at which a function is inlined, unless their line is unknown.
func appendInlined(
	calls []inlinedCall, data *dwarf.Data, entry *dwarf.Entry, files []*dwarf.LineFile,
) ([]inlinedCall, error) {
	file, _ := entry.Val(dwarf.AttrCallFile).(int64)
	line, _ := entry.Val(dwarf.AttrCallLine).(int64)
	if file <= 0 || file >= int64(len(files)) || files[file] == nil || line <= 0 {
		return calls, nil
	}
	ranges, err := data.Ranges(entry)
	for _, r := range ranges {
		from := Position{path.Clean(files[file].Name), int(line)}
		calls = append(calls, inlinedCall{int(r[0]), int(r[1]), from})
	}
	return calls, err
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
