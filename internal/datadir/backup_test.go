package datadir_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/datadir"
)

// A backup has the same rows as the database and passes the check. With a changed byte it fails, and keeps the name
// that marks it as incomplete.
func TestBackup(t *testing.T) {
	dir, _ := usedDir(t)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	backUp := func(at time.Time) string {
		t.Helper()
		d, err := datadir.OpenChain(dir, datadir.Options{})
		check(t, err)
		path, err := d.Backup(at)
		check(t, errors.Join(err, d.Close()))
		return path
	}
	path := backUp(now)
	if want := filepath.Join(dir, "backups", "20260102T030405Z.unverified"); path != want {
		t.Fatalf("the backup is %s, want %s", path, want)
	}
	d, err := datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	if _, err := d.Backup(now); !errors.Is(err, os.ErrExist) {
		t.Errorf("a second one of the same second: error %v, want %v", err, os.ErrExist)
	}
	store, err := d.Store()
	check(t, err)
	head := store.Head().Header.Hash()
	check(t, d.Close())
	named, has, err := datadir.VerifyBackup(t.Context(), path, nothing)
	check(t, err)
	if named != strings.TrimSuffix(path, ".unverified") || has.Header.Hash() != head {
		t.Errorf("it is %s with %s, want %s", named, has.Header.Hash(), head)
	}
	if rows(t, named) != rows(t, dir) {
		t.Error("it has other rows")
	}
	random := rand.New(rand.NewPCG(1, 1))
	for range 8 {
		path := copied(t, named) + ".unverified" // a linked file belongs to the database too
		check(t, os.Rename(strings.TrimSuffix(path, ".unverified"), path))
		what := flip(t, path, random)
		passed, _, err := datadir.VerifyBackup(t.Context(), path, nothing)
		if err == nil && rows(t, passed) != rows(t, dir) {
			t.Errorf("%s was changed, and it passed", what)
		} else if _, gone := os.Stat(path); err != nil && gone != nil {
			t.Errorf("%s was changed: %v, and %v", what, err, gone)
		}
	}
	memory, err := datadir.Open("", datadir.Options{})
	check(t, err)
	if _, err := memory.Backup(now); !errors.Is(err, datadir.ErrNoDisk) {
		t.Errorf("of a chain in memory: error %v, want %v", err, datadir.ErrNoDisk)
	}
	check(t, memory.Close())
}
