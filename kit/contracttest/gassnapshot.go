package contracttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// GasSnapshotVariable is the environment variable that selects the mode of a [GasSnapshot]. If it is empty or "check",
// the test fails if gas differs from the file; "diff" only logs the difference; "update" writes the file.
const GasSnapshotVariable = "GAS_SNAPSHOT"

// gasCase is the gas used by a call, with its parts by their names in traces; the parts of nested calls are added. Host
// functions have names that end in "()". The parts add up to the total.
type gasCase struct {
	Total types.Gas            `json:"total"`
	Parts map[string]types.Gas `json:"parts"`
}

// GasFile is a file with the gas of named calls, one call per line, with its total and parts.
type GasFile struct {
	path  string
	kept  map[string]gasCase // contents of the file
	cases map[string]gasCase // recorded in this run
}

// ReadGasFile reads a file. The file need not exist before it is first written.
func ReadGasFile(path string) (*GasFile, error) {
	f := &GasFile{path: path, cases: map[string]gasCase{}}
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &f.kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the gas snapshot %s: %w", path, err)
	}
	return f, nil
}

// Take records the gas used by a call under a unique name.
func (f *GasFile) Take(name string, r Result) error {
	if _, taken := f.cases[name]; taken {
		return fmt.Errorf("the gas snapshot has two calls of the name %q", name)
	}
	parts, err := partsOf(r.Trace)
	f.cases[name] = gasCase{Total: r.GasUsed, Parts: parts}
	return err
}

// Diff describes the calls whose gas differs from the file by more than tolerance percent of the older total, with
// their parts. It returns "" if there are none.
func (f *GasFile) Diff(tolerance float64) string { return diffGas(f.kept, f.cases, tolerance) }

// Write writes the recorded calls to the file.
func (f *GasFile) Write() error { return writeCases(f.path, f.cases) }

// GasSnapshot compares the gas of named calls with a file. The file belongs to a single test:
//
//	snapshot := contracttest.NewGasSnapshot(t, "testdata/gas.json", 0)
//	snapshot.Take("transfer", token.Call(alice, "transfer", transfer).Must(t))
//
// When the test ends, it fails if a call's gas differs from the file, or if the file and the test do not have the same
// calls. The message shows the differences in total and by part. Set GAS_SNAPSHOT=update to write the file.
type GasSnapshot struct {
	t         testing.TB
	file      *GasFile
	tolerance float64
}

// NewGasSnapshot reads a file, which need not exist before it is first written. tolerance is the allowed difference of
// a call's total, in percent.
func NewGasSnapshot(t testing.TB, file string, tolerance float64) *GasSnapshot {
	t.Helper()
	mode := os.Getenv(GasSnapshotVariable)
	if !slices.Contains([]string{"", "check", "diff", "update"}, mode) {
		t.Fatalf("%s is check, diff or update, not %q", GasSnapshotVariable, mode)
	}
	f, err := ReadGasFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &GasSnapshot{t: t, file: f, tolerance: tolerance}
	t.Cleanup(func() { s.finish(mode) })
	return s
}

// Take records the gas used by a call under a unique name.
func (s *GasSnapshot) Take(name string, r Result) {
	s.t.Helper()
	if err := s.file.Take(name, r); err != nil {
		s.t.Fatal(err)
	}
}

// finish compares the calls with the file, or writes the file. It does neither if the test has failed, as calls may be
// missing then.
func (s *GasSnapshot) finish(mode string) {
	s.t.Helper()
	if s.t.Failed() {
		return
	}
	if mode == "update" {
		if err := s.file.Write(); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	diff := s.file.Diff(s.tolerance)
	switch {
	case diff == "":
	case mode == "diff":
		s.t.Logf("gas differs from %s:\n%s", s.file.path, diff)
	default:
		s.t.Errorf("gas differs from %s (%s=update writes it):\n%s", s.file.path, GasSnapshotVariable, diff)
	}
}

// diffGas describes the calls whose gas differs by more than tolerance percent of the older total: one line per call,
// and one per differing part. It returns "" if no call differs.
func diffGas(before, after map[string]gasCase, tolerance float64) string {
	all := maps.Clone(after)
	maps.Copy(all, before)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		old, was := before[name]
		now, is := after[name]
		switch {
		case !was:
			fmt.Fprintf(&b, "  %s: new, %d\n", name, now.Total)
		case !is:
			fmt.Fprintf(&b, "  %s: gone, was %d\n", name, old.Total)
		default:
			diffCase(&b, name, old, now, tolerance)
		}
	}
	return b.String()
}

// diffCase describes the difference of a call. With tolerance 0 the parts must be equal, too, not only their sum.
func diffCase(b *strings.Builder, name string, old, now gasCase, tolerance float64) {
	change := float64(now.Total) - float64(old.Total)
	percent := 100 * change / max(1, float64(old.Total))
	if max(percent, -percent) <= tolerance && (tolerance > 0 || maps.Equal(old.Parts, now.Parts)) {
		return
	}
	fmt.Fprintf(b, "  %s: %d → %d (%+.0f, %+.2f %%)\n", name, old.Total, now.Total, change, percent)
	all := maps.Clone(now.Parts)
	maps.Copy(all, old.Parts)
	for _, part := range slices.Sorted(maps.Keys(all)) {
		if was, is := old.Parts[part], now.Parts[part]; was != is {
			fmt.Fprintf(b, "      %s: %d → %d (%+d)\n", part, was, is, int64(is)-int64(was))
		}
	}
}

// writeCases writes one line per call, so that a changed call changes one line.
func writeCases(file string, cases map[string]gasCase) error {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		value, err := json.Marshal(cases[name])
		if err != nil {
			return err
		}
		lines = append(lines, fmt.Sprintf("%s: %s", key, value))
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte("{\n"+strings.Join(lines, ",\n")+"\n}\n"), 0o644)
}

// partsOf adds up the parts of a transaction and of all its calls. It returns an error if the tracer failed to account
// for all gas, in total or for a call.
func partsOf(t *api.Trace) (map[string]types.Gas, error) {
	if t == nil {
		return nil, errors.New("the result has no trace")
	}
	parts := map[string]types.Gas{}
	sum := addParts(parts, t.Parts, "")
	for _, call := range callsOf(t) {
		sum += types.Gas(call.GasUsed)
		if err := partsOfCall(parts, call, t.Truncated); err != nil {
			return nil, err
		}
	}
	if sum != types.Gas(t.GasUsed) {
		return nil, fmt.Errorf("the parts of a transaction add up to %d gas, but it used %d", sum, t.GasUsed)
	}
	return parts, nil
}

// callsOf returns the calls that a transaction makes: none, one, or one for each calling step of a batch.
func callsOf(t *api.Trace) []api.TraceCall {
	if t.Root == nil {
		return nil
	}
	return append([]api.TraceCall{*t.Root}, t.Further...)
}

func partsOfCall(parts map[string]types.Gas, call api.TraceCall, truncated bool) error {
	own := addParts(parts, call.Parts, "") + addParts(parts, call.HostGas, "()")
	if own+types.Gas(call.BelowGas) != types.Gas(call.GasUsed) {
		return fmt.Errorf(
			"the parts of %s add up to %d gas, and the calls below it to %d, but it used %d",
			call.Function, own, call.BelowGas, call.GasUsed,
		)
	}
	var below types.Gas
	for _, inner := range call.Calls {
		below += types.Gas(inner.GasUsed)
		if err := partsOfCall(parts, inner, truncated); err != nil {
			return err
		}
	}
	if leftOut := types.Gas(call.BelowGas) - below; leftOut > 0 {
		if !truncated {
			return fmt.Errorf("the calls below %s used %d gas, not %d", call.Function, below, call.BelowGas)
		}
		parts["calls that the trace leaves out"] += leftOut
	}
	return nil
}

// addParts adds the parts of one call and returns their sum.
func addParts(parts map[string]types.Gas, of map[string]api.Quantity, suffix string) (sum types.Gas) {
	for name, gas := range of {
		parts[name+suffix] += types.Gas(gas)
		sum += types.Gas(gas)
	}
	return sum
}
