package datadir_test

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// A move takes every file, whatever its name. During an interrupted move, no node can use either directory, and the
// move can continue. Afterwards no node can use the old directory, which keeps its data.
func TestMove(t *testing.T) {
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	root := t.TempDir()
	from, to := filepath.Join(root, "mychain"), filepath.Join(root, "new")
	for _, name := range []string{"mychain", "new"} { // links, as systemd creates for the directories of services
		check(t, os.MkdirAll(filepath.Join(root, "private", name), 0o700))
		check(t, os.Symlink(filepath.Join(root, "private", name), filepath.Join(root, name)))
	}
	genesis, err := datadir.InitNetwork(from, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
		Settings: "tls-cert = " + `"` + from + `/tls.pem"` + "\n",
	})
	check(t, err)
	head := produce(t, from, genesis, key)
	check(t, os.MkdirAll(filepath.Join(from, "mine"), 0o700))
	check(t, os.WriteFile(filepath.Join(from, "mine", "tls.pem"), []byte("mine"), 0o640))
	none := func(uint64, uint64) {}
	log := slog.New(slog.DiscardHandler)

	ended, stop := context.WithCancel(t.Context())
	stop()
	if _, err := datadir.Move(ended, from, to, log, none); !errors.Is(err, context.Canceled) {
		t.Fatalf("broken off it says %v, want %v", err, context.Canceled)
	}
	if _, err := datadir.Open(to, datadir.Options{}); !errors.Is(err, datadir.ErrMoved) {
		t.Errorf("half of a move is opened: error %v, want %v", err, datadir.ErrMoved)
	}
	moved, err := datadir.Move(t.Context(), from, to, log, none)
	check(t, err)
	if moved.Head != head || len(moved.Named) != 1 {
		t.Errorf("it says %+v, want block %d and one line that names the old directory", moved, head)
	}
	for _, name := range []string{"genesis.json", "protocol.key", "cairn.toml", "mempool.journal", "mine/tls.pem"} {
		was, err := os.Stat(filepath.Join(from, name))
		check(t, err)
		is, err := os.Stat(filepath.Join(to, name))
		check(t, err)
		if was.Mode() != is.Mode() || was.Size() != is.Size() || !slices.Contains(moved.Files, name) {
			t.Errorf("%s: %v, was %v", name, is, was)
		}
	}
	locks, err := filepath.Glob(filepath.Join(to, "signed-*"))
	if err != nil || len(locks) != 1 {
		t.Errorf("sign states %q, %v; want that of the key", locks, err)
	}
	if next := produce(t, to, genesis, key); next <= head {
		t.Errorf("it goes on with block %d, want one after %d", next, head)
	}
	if _, err := datadir.Open(from, datadir.Options{}); !errors.Is(err, datadir.ErrMoved) {
		t.Errorf("the old directory is opened for a node: error %v, want %v", err, datadir.ErrMoved)
	}
	d, err := datadir.OpenChain(from, datadir.Options{ReadOnly: true})
	check(t, err)
	report, err := d.Check(t.Context(), none)
	if err != nil || !report.OK() || report.Head != head {
		t.Errorf("the old directory has %+v, error %v", report, err)
	}
	check(t, d.Close())
}

// No file is overwritten, and no directory is moved into itself.
func TestMoveRefuses(t *testing.T) {
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	from := filepath.Join(t.TempDir(), "mychain")
	genesis, err := datadir.InitNetwork(from, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	produce(t, from, genesis, key)
	used := t.TempDir()
	check(t, os.WriteFile(filepath.Join(used, "mine"), nil, 0o600))
	for to, want := range map[string]error{
		from:                        datadir.ErrMove,
		filepath.Join(from, "new"):  datadir.ErrMove,
		filepath.Dir(from):          datadir.ErrMove,
		used:                        datadir.ErrMove,
		filepath.Join(used, "mine"): nil, // a file: the operating system's error
	} {
		_, err := datadir.Move(t.Context(), from, to, slog.New(slog.DiscardHandler), func(uint64, uint64) {})
		if err == nil || want != nil && !errors.Is(err, want) {
			t.Errorf("to %s: %v, want %v", to, err, want)
		}
	}
}
