package contracttest_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// watched is a test whose end and failure another test observes.
type watched struct {
	testing.TB
	ends           []func()
	errors, logged string
}

func (w *watched) Cleanup(f func())                  { w.ends = append(w.ends, f) }
func (w *watched) Failed() bool                      { return w.errors != "" }
func (w *watched) Errorf(format string, args ...any) { w.errors += fmt.Sprintf(format, args...) }
func (w *watched) Logf(format string, args ...any)   { w.logged += fmt.Sprintf(format, args...) }

// snapshotOf runs a test that takes a snapshot of some increments of the counter. The first one writes a new key.
func snapshotOf(t *testing.T, file, mode string, tolerance float64, names ...string) *watched {
	t.Helper()
	t.Setenv(contracttest.GasSnapshotVariable, mode)
	w := &watched{TB: t}
	snapshot := contracttest.NewGasSnapshot(w, file, tolerance)
	chain := contracttest.New(t)
	alice := chain.Account("alice")
	k := chain.Deploy(alice, counter(), nil)
	for _, name := range names {
		snapshot.Take(name, k.Call(alice, "increment", nil).Must(t))
	}
	snapshot.Take("refused", k.Call(alice, "fail", nil))
	for _, end := range w.ends {
		end()
	}
	return w
}

func TestGasSnapshot(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "gas.json")
	if w := snapshotOf(t, file, "", 0, "first"); !strings.Contains(w.errors, "  first: new, ") {
		t.Errorf("without a file: %q", w.errors)
	}
	if w := snapshotOf(t, file, "update", 0, "first", "second", "third"); w.errors+w.logged != "" {
		t.Errorf("update says %q", w.errors+w.logged)
	}
	written, err := os.ReadFile(file)
	if lines := strings.Split(string(written), "\n"); err != nil || len(lines) != 7 ||
		!strings.HasPrefix(lines[1], `"first": {"total":`) || !strings.Contains(lines[1], `"storage_write()":`) {
		t.Errorf("got %s, error %v", written, err)
	}
	if w := snapshotOf(t, file, "check", 0, "first", "second", "third"); w.errors != "" {
		t.Errorf("the same differs: %s, want none", w.errors)
	}
	changed := []string{"second", "first", "fourth"}
	w := snapshotOf(t, file, "", 0, changed...)
	for _, want := range []string{
		"  first: ", "      storage_write(): ", "  second: ", "  third: gone, was ", "  fourth: new, ", "GAS_SNAPSHOT=update",
	} {
		if !strings.Contains(w.errors, want) {
			t.Errorf("there is no %q in %s", want, w.errors)
		}
	}
	if strings.Contains(w.errors, "refused") || strings.Contains(w.errors, "instructions") {
		t.Errorf("what is the same is shown: %s", w.errors)
	}
	if w := snapshotOf(t, file, "diff", 0, changed...); w.errors != "" || !strings.Contains(w.logged, "  first: ") {
		t.Errorf("diff fails with %q, shows %q", w.errors, w.logged)
	}
	if w := snapshotOf(t, file, "", 250, "second", "first", "third"); w.errors != "" {
		t.Errorf("with a tolerance: %s, want none", w.errors)
	}
}
