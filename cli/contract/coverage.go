package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
)

// coverage summarizes the executed parts of a contract's code. Blocks are the branch targets.
type coverage struct {
	Functions ran      `json:"functions"`
	Blocks    ran      `json:"blocks"`
	Lines     ran      `json:"lines"` // only of known sources
	Missed    []string `json:"missed"`
	File      string   `json:"file"`
}

// ran counts executed items and all items.
type ran struct {
	Ran int `json:"ran"`
	Of  int `json:"of"`
}

func (r *ran) count(ran bool) {
	if r.Of++; ran {
		r.Ran++
	}
}

func (r ran) String() string { return fmt.Sprintf("%d of %d", r.Ran, r.Of) }

// coveredFunction is a function with a line in the contract's own sources; without sources, any function.
type coveredFunction struct {
	name   string
	from   contractbuild.Position // its first line
	blocks []coveredBlock
	ran    bool
}

type coveredBlock struct {
	lines []contractbuild.Position // in the contract's own sources
	ran   bool
}

// cover collects the coverage, writes it to the file and adds it to the result.
func (c *contractTest) cover(ctx context.Context, tested *testedContract) error {
	if c.coverage == "" {
		return nil
	}
	if err := c.playCalls(); err != nil {
		return err
	}
	blocks, err := contracttest.Coverage(c.module)
	if err != nil {
		return err
	}
	var sources *contractbuild.SourceMap
	if c.source != nil {
		if sources, err = contractbuild.Map(ctx, *c.source, c.build, c.module); err != nil {
			return err
		}
	}
	functions := c.coveredFunctions(blocks, sources)
	sum, lines := summed(functions)
	sum.File = c.coverage
	tested.Coverage = &sum
	return os.WriteFile(c.coverage, lcov(functions, lines), 0o644) //nolint:gosec // it is for others to read
}

// playCalls makes the calls of the project's calls file, if any, as they count as covered, too.
func (c *contractTest) playCalls() error {
	g := contractGas{givenModule: c.givenModule, init: c.init, setup: c.setup}
	_, err := g.measure()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// summed sums up the coverage, and returns the executed lines by file.
func summed(functions []coveredFunction) (sum coverage, lines map[string]map[int]bool) {
	lines = map[string]map[int]bool{}
	sum.Missed = []string{}
	for _, f := range functions {
		sum.Functions.count(f.ran)
		for _, b := range f.blocks {
			sum.Blocks.count(b.ran)
			for _, at := range b.lines {
				if lines[at.File] == nil {
					lines[at.File] = map[int]bool{}
				}
				lines[at.File][at.Line] = lines[at.File][at.Line] || b.ran
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(lines)) {
		var missed []int
		for _, line := range slices.Sorted(maps.Keys(lines[file])) {
			ran := lines[file][line]
			if sum.Lines.count(ran); !ran {
				missed = append(missed, line)
			}
		}
		if len(missed) > 0 {
			sum.Missed = append(sum.Missed, file+": "+spans(missed))
		}
	}
	return sum, lines
}

// coveredFunctions assigns blocks to functions. A module given as a file has no sources.
func (c *contractTest) coveredFunctions(
	blocks []contracttest.Block, sources *contractbuild.SourceMap,
) (functions []coveredFunction) {
	for len(blocks) > 0 {
		defined := blocks[0].Function
		f := coveredFunction{name: fmt.Sprintf("function %d", defined)}
		for len(blocks) > 0 && blocks[0].Function == defined {
			b := coveredBlock{ran: blocks[0].Ran}
			if sources != nil {
				for _, at := range sources.Between(defined, blocks[0].From, blocks[0].To) {
					if contractbuild.IsOwn(*c.source, at) {
						b.lines = append(b.lines, at)
					}
				}
			}
			if f.from.Line == 0 && len(b.lines) > 0 {
				f.from = b.lines[0]
			}
			f.ran = f.ran || b.ran
			f.blocks, blocks = append(f.blocks, b), blocks[1:]
		}
		if sources != nil {
			f.name = sources.Function(defined)
		}
		if sources == nil || f.from.Line > 0 {
			functions = append(functions, f)
		}
	}
	return functions
}

// lcov writes functions, branches and lines by file in the format of geninfo(1).
func lcov(functions []coveredFunction, lines map[string]map[int]bool) []byte {
	var b bytes.Buffer
	taken := map[bool]int{true: 1}
	for _, file := range slices.Sorted(maps.Keys(lines)) {
		fmt.Fprintf(&b, "TN:\nSF:%s\n", file)
		for i, f := range functions {
			if f.from.File == file {
				fmt.Fprintf(&b, "FN:%d,%s\nFNDA:%d,%s\n", f.from.Line, f.name, taken[f.ran], f.name)
			}
			for k, block := range f.blocks {
				if len(block.lines) > 0 && block.lines[0].File == file {
					fmt.Fprintf(&b, "BRDA:%d,%d,%d,%d\n", block.lines[0].Line, i, k, taken[block.ran])
				}
			}
		}
		for _, line := range slices.Sorted(maps.Keys(lines[file])) {
			fmt.Fprintf(&b, "DA:%d,%d\n", line, taken[lines[file][line]])
		}
		b.WriteString("end_of_record\n")
	}
	return b.Bytes()
}

// spans formats sorted numbers compactly: 3, 7–9.
func spans(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		first := i
		for i++; i < len(numbers) && numbers[i] == numbers[i-1]+1; i++ {
		}
		if part := fmt.Sprint(numbers[first]); i-first == 1 {
			parts = append(parts, part)
		} else {
			parts = append(parts, fmt.Sprintf("%s–%d", part, numbers[i-1]))
		}
	}
	return strings.Join(parts, ", ")
}

func (c coverage) people(t *output.Text) {
	lines := c.Lines.String() + " lines"
	if c.Lines.Of == 0 {
		lines = "lines unknown without the source"
	}
	t.Line("\nRan: %s functions, %s blocks, %s (%s)", c.Functions, c.Blocks, lines, c.File)
	for _, line := range c.Missed {
		t.Line("Never ran: %s", line)
	}
}
