package datadir_test

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// A flipped byte in a file beside the database is reported as damage of exactly that file.
func TestEveryFlippedByteBesideTheDatabaseIsNamed(t *testing.T) {
	dir, _ := usedDir(t)
	looked, err := datadir.Look(dir, nil, "")
	check(t, err)
	hash := looked.Hash
	file := func(name string) string { return filepath.Join(dir, name) }
	book, err := quarantine.Open(quarantine.Options{Path: file("aside.json"), Log: slog.New(slog.DiscardHandler)})
	check(t, err)
	book.WrongResult(3, errors.New("another result"), types.CodeHash{1})
	check(t, replica.Disagreed(errors.New("another result"), 3, []byte{1, 2}).Write(file("halted.json")))
	check(t, kv.FS{}.WriteFile(file("unsigned.block"), sealed.Bytes([]byte("a block"))))
	lock, err := signstate.Open(kv.FS{}, file(datadir.SignedName(types.PublicKey{1, 2, 3, 4}, hash)), hash)
	check(t, err)
	check(t, lock.Close())
	check(t, os.Remove(file("mempool.journal")))
	j, err := journal.Create(journal.Options{FS: journal.OS{}, Path: file("mempool.journal")}, func(func([]byte) bool) {})
	check(t, err)
	check(t, errors.Join(j.Append([]byte("one"), []byte("two")), j.Close()))
	if found, err := datadir.Look(dir, nil, ""); err != nil || len(found.Problems) > 0 {
		t.Fatalf("before anything is flipped: got %+v, error %v", found.Problems, err)
	}
	for name, where := range map[string]string{
		"aside.json": "aside.json", "halted.json": "halted.json", "unsigned.block": "unsigned.block",
		"mempool.journal": "mempool.journal", datadir.SignedName(types.PublicKey{1, 2, 3, 4}, hash): "the newest blocks",
	} {
		whole, err := os.ReadFile(file(name))
		check(t, err)
		for at := 0; at < len(whole); at += max(1, len(whole)/12) { // each attempt to open it takes some time
			flipped := bytes.Clone(whole)
			flipped[at] ^= 1 << (at % 8)
			check(t, os.WriteFile(file(name), flipped, 0o600))
			found, err := datadir.Look(dir, nil, "")
			problems := found.Problems
			if check(t, err); len(problems) != 1 || problems[0].Where != where ||
				!bytes.Contains([]byte(problems[0].What), []byte("damaged")) {
				t.Errorf("byte %d of %s is flipped, and what is found is %+v, want damage of %s", at, name, problems, where)
			}
		}
		check(t, os.WriteFile(file(name), whole, 0o600))
	}
}
