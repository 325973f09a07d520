package program

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestUsage(t *testing.T) {
	// A shell that counts, and starts another shell that does so too.
	count := `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; `
	n, _ := serve(t, shell(t, `for ready; do :; done; `+count+`sh -c '`+count+
		`echo "{}" >"$1.part"; mv "$1.part" "$1"; exec sleep 600' child "$ready" & wait`))
	own, err := n.CPU()
	if err != nil || own < 2*tick || own%tick != 0 {
		t.Errorf("it used %v, error %v", own, err)
	}
	children, err := n.ChildrenCPU()
	if err != nil || children < 2*tick {
		t.Errorf("what it started used %v, error %v", children, err)
	}
	resident, err := n.Resident()
	if err != nil || resident < 100<<10 || resident > 100<<20 {
		t.Errorf("%d bytes are resident, error %v", resident, err)
	}
	before, err := n.Peak()
	if err != nil || before < resident {
		t.Errorf("at most %d bytes were resident, now %d, error %v", before, resident, err)
	}
	if err := n.ResetPeak(); err != nil {
		t.Error(err)
	}
	if after, err := n.Peak(); err != nil || after > before {
		t.Errorf("the peak after the reset is %d, and was %d, error %v", after, before, err)
	}
	n.Kill()
	if _, err := n.CPU(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the time of a process that is gone: error %v, want %v", err, fs.ErrNotExist)
	}
	if _, err := n.Resident(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the memory of a process that is gone: error %v, want %v", err, fs.ErrNotExist)
	}
	if children, err := n.ChildrenCPU(); err != nil || children != 0 {
		t.Errorf("what a process started that is gone used %v, want 0, error %v", children, err)
	}
}

func TestReadStat(t *testing.T) {
	// The fields of proc(5), with a name that resembles some of them.
	const rest = " S 42 3 4 5 6 7 8 9 10 11 150 25 14 15\n"
	for name, c := range map[string]struct {
		text string
		used time.Duration
	}{
		"plain":              {"7 (cairn)" + rest, 1750 * time.Millisecond},
		"a name with braces": {"7 (a) R 1 1) b)" + rest, 1750 * time.Millisecond},
		"cut":                {"7 (cairn) S 42 3 4 5 6 7 8 9 10 11 150", 0},
		"no parent":          {"7 (cairn) S x 3 4 5 6 7 8 9 10 11 150 25", 0},
		"no time":            {"7 (cairn) S 42 3 4 5 6 7 8 9 10 11 150 -25", 0},
	} {
		file := filepath.Join(t.TempDir(), "stat")
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readStat(file)
		if ok := c.used > 0; (err == nil) != ok || ok && (s.used != c.used || s.parent != 42) {
			t.Errorf("%s: got %+v, error %v", name, s, err)
		}
	}
}
