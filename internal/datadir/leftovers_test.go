package datadir_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Leftovers of interrupted work are found and removed; files in use and finished results are kept.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	put := func(name string, bytes int) string {
		t.Helper()
		path := filepath.Join(dir, name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		check(t, os.WriteFile(path, make([]byte, bytes), 0o600))
		return path
	}
	left := []string{
		filepath.Dir(filepath.Dir(put("backups/a.unverified/db/1.sst", 70))), filepath.Dir(put("db.importing/1.sst", 5)),
		put("vote.mark.part", 1), put("mempool.journal.new", 2), filepath.Dir(put("snapshots/7.part/chunk", 3)),
		filepath.Dir(put("snapshots/8.new/chunk", 3)), put("code/.new-1", 4),
	}
	kept := []string{
		put("backups/b/db/1.sst", 9), put("mempool.journal", 1), put("snapshots/6/manifest", 1), put("code/x", 1),
	}
	verified := filepath.Dir(put("backups/c.unverified/1.sst", 9))
	lock, err := kv.Lock(verified)
	check(t, err)
	paths := func(all []datadir.Leftover) (paths []string) {
		for _, l := range all {
			paths = append(paths, l.Path)
		}
		slices.Sort(paths)
		return paths
	}
	slices.Sort(left)
	now := time.Now().Add(time.Minute)
	got, err := datadir.Leftovers(dir, now)
	if check(t, err); !slices.Equal(paths(got), left) {
		t.Errorf("left over are %q, want %q", paths(got), left)
	}
	for _, l := range got {
		if l.Path == filepath.Join(dir, "backups/a.unverified") && (l.Bytes != 70 || l.Age < time.Minute) {
			t.Errorf("the backup has %d bytes and is %v old, want 70 and a minute", l.Bytes, l.Age)
		}
	}
	running, err := kv.Lock(dir)
	check(t, err)
	got, err = datadir.Leftovers(dir, now)
	if check(t, err); !slices.Equal(paths(got), []string{filepath.Join(dir, "backups/a.unverified")}) {
		t.Errorf("beside a node that runs %q are left over, want the backup", paths(got))
	}
	check(t, running.Close())
	removed, err := datadir.RemoveLeftovers(dir, now)
	if check(t, errors.Join(err, lock.Close())); !slices.Equal(paths(removed), left) {
		t.Errorf("removed are %q, want %q", paths(removed), left)
	}
	for _, path := range append(kept, verified) {
		_, err := os.Stat(path)
		check(t, err)
	}
	for _, path := range left {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is there still: error %v, want %v", path, err, os.ErrNotExist)
		}
	}
}
