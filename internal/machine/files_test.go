package machine

import (
	"strings"
	"testing"
)

// The sum of the shares never exceeds the limit, and no share is empty.
func TestFilesAreSharedOut(t *testing.T) {
	for limit := LeastFiles; limit <= mostFiles; limit += max(1, limit/100) {
		f, err := shareFiles(limit)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Public + f.Served + reserve(f.Database); got != limit || f.Public < 1 || f.Served < 1 ||
			f.Database < leastTables {
			t.Fatalf("of %d files %+v, %d with the reserve; want %d in all and nothing empty", limit, f, got, limit)
		}
	}
	if f, err := shareFiles(65_536); err != nil || f.Public < 10_000 || f.Database != mostTables {
		t.Errorf("of 65,536 files %+v, %v; want at least 10,000 connections and %d tables", f, err, mostTables)
	}
}

func TestTooFewFilesAreRefused(t *testing.T) {
	for _, limit := range []int{0, 64, 128, 256, LeastFiles - 1} {
		if _, err := shareFiles(limit); err == nil || !strings.Contains(err.Error(), "needs 512") {
			t.Errorf("%d files: %v; want an error that says what is needed", limit, err)
		}
	}
}

func TestFilesFor(t *testing.T) {
	for _, connections := range []int{1, 100, 1000, 10_000, 100_000} {
		limit := FilesFor(connections)
		f, err := shareFiles(limit)
		if err != nil || f.Public < connections {
			t.Errorf("%d connections in %d files: got %+v, error %v", connections, limit, f, err)
		}
		if limit > LeastFiles {
			if less, err := shareFiles(limit - 1); err != nil || less.Public >= connections {
				t.Errorf("%d connections in %d files: a limit one lower gives %d of them", connections, limit, less.Public)
			}
		}
	}
}
