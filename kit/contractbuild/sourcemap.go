package contractbuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var errSourceMap = errors.New("the compiler's source map is malformed")

// readSourceMap reads a source map of version 3, whose columns are offsets in the module
// (https://tc39.es/ecma426).
func readSourceMap(text []byte, codeOffset int) (rows []row, err error) {
	var given struct {
		Version  int      `json:"version"`
		Sources  []string `json:"sources"`
		Mappings string   `json:"mappings"`
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return nil, fmt.Errorf("%w: %w", errSourceMap, err)
	}
	if given.Version != 3 || strings.Contains(given.Mappings, ";") {
		return nil, errSourceMap
	}
	var column, source, line int
	for segment := range strings.SplitSeq(given.Mappings, ",") {
		fields, err := readVLQ(segment)
		if err != nil {
			return nil, err
		}
		if len(fields) == 0 {
			continue
		}
		column += fields[0]
		r := row{at: column - codeOffset}
		if len(fields) >= 4 {
			source, line = source+fields[1], line+fields[2]
			if source < 0 || source >= len(given.Sources) {
				return nil, errSourceMap
			}
			r.from = Position{given.Sources[source], line + 1}
		}
		rows = append(rows, r)
	}
	return rows, nil
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// readVLQ reads the numbers of a segment: digits of five bits, the lowest first, whose lowest bit is the sign.
func readVLQ(segment string) (numbers []int, err error) {
	value, shift := 0, 0
	for _, c := range segment {
		digit := strings.IndexRune(base64Digits, c)
		if digit < 0 || shift > 30 {
			return nil, errSourceMap
		}
		value |= digit & 31 << shift
		if shift += 5; digit&32 != 0 {
			continue
		}
		if value&1 == 1 {
			numbers = append(numbers, -(value >> 1))
		} else {
			numbers = append(numbers, value>>1)
		}
		value, shift = 0, 0
	}
	if shift != 0 {
		return nil, errSourceMap
	}
	return numbers, nil
}
