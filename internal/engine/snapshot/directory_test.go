package snapshot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

var silent = slog.New(slog.DiscardHandler)

func openDirectory(t *testing.T, dir string) *Directory {
	t.Helper()
	d, err := OpenDirectory(dir, silent)
	must(t, err)
	return d
}

func requireHeights(t *testing.T, d *Directory, want ...types.Height) {
	t.Helper()
	var got []types.Height
	for _, m := range d.List() {
		got = append(got, m.Height)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("there are %v, want %v", got, want)
	}
}

func TestDirectory(t *testing.T) {
	c := newTestChain(t, 1)
	dir := filepath.Join(t.TempDir(), "snapshots")
	d := openDirectory(t, dir)
	requireHeights(t, d)
	if _, ok := d.Newest(100); ok {
		t.Error("there is a newest of none")
	}
	for range 4 {
		c.grow(blockOf{accounts: 3})
		_, err := d.Create(t.Context(), c.store, 1)
		must(t, err)
	}
	requireHeights(t, d, 1, 2, 3, 4)
	if m, ok := d.Newest(3); !ok || m.Height != 3 {
		t.Errorf("at 3: got %d, %t", m.Height, ok)
	}
	if _, ok := d.Newest(0); ok {
		t.Error("there is one at 0")
	}
	must(t, d.Prune(2))
	requireHeights(t, d, 3, 4)
	// The next start removes the leftovers of an interrupted creation or removal of a snapshot. It keeps downloads, and
	// ignores other files.
	for _, name := range []string{
		"5.new/000000.zst", "2.new/manifest.json", "6.part/manifest.json", "4/manifest.json", "8/manifest.json",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		if name != "4/manifest.json" {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte("{}"), 0o644))
		}
	}
	must(t, os.Rename(filepath.Join(dir, "3"), filepath.Join(dir, "7"))) // its content does not match its name
	requireHeights(t, openDirectory(t, dir), 4)
	_, err := List(dir)
	requireIs(t, "a manifest that is none", err, ErrManifest)
	for name, want := range map[string]bool{"5.new": false, "2.new": false, "6.part": true} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) == want {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// A crash at any point of making a snapshot leaves none under its name, which is given last, to a directory whose files
// are all synced. A snapshot on demand is made once, and a snapshot of a reverted block is replaced.
func TestDemand(t *testing.T) {
	c := newTestChain(t, 1)
	d := openDirectory(t, t.TempDir())
	demand := func() Manifest {
		t.Helper()
		m, err := d.Demand(t.Context(), c.store, 1, 2)
		must(t, err)
		if m.BlockHash != c.store.HeadHash() {
			t.Errorf("it is of %s, the head is %s", m.BlockHash, c.store.HeadHash())
		}
		return m
	}
	_, err := d.Demand(t.Context(), c.store, 1, 2)
	requireIs(t, "of block 0", err, ErrNoBlock)
	for range 4 {
		c.grow(blockOf{accounts: 3})
		if first, again := demand(), demand(); identify(first) != identify(again) {
			t.Errorf("made twice: got %+v, %+v", first, again)
		}
	}
	requireHeights(t, d, 3, 4)
	undo, err := c.store.Rewind(2)
	must(t, err)
	change, err := c.tree.Prepare(undo, inOrder)
	must(t, err)
	c.tree.Commit(change, inOrder)
	c.remember(undo)
	c.grow(blockOf{accounts: 5})
	demand()
	requireHeights(t, d, 3)
	requireHeights(t, openDirectory(t, d.path), 3)
}

func TestCreateAppearsWhole(t *testing.T) {
	c := newTestChain(t, 2)
	c.grow(blockOf{accounts: 60, contracts: 2})
	dir := t.TempDir()
	for writes := 0; ; writes++ {
		ctx, cancel := context.WithCancel(t.Context())
		stopping := &stoppingContext{Context: ctx, left: writes, stop: cancel}
		_, err := create(stopping, c.store, dir, 1, 1500)
		cancel()
		if err == nil {
			if writes < 6 {
				t.Errorf("it was made in %d steps", writes)
			}
			break
		}
		requireIs(t, "cut off", err, context.Canceled)
		requireHeights(t, openDirectory(t, dir))
	}
	requireHeights(t, openDirectory(t, dir), 1)
}

// stoppingContext ends after the given number of calls of Err.
type stoppingContext struct {
	context.Context
	left int
	stop func()
}

func (c *stoppingContext) Err() error {
	if c.left--; c.left < 0 {
		c.stop()
	}
	return c.Context.Err()
}

func TestKeep(t *testing.T) {
	c := newTestChain(t, 3)
	dir := t.TempDir()
	d := openDirectory(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	news := &newsHandler{Handler: slog.DiscardHandler, told: make(chan string, 1)}
	go func() { ended <- d.Keep(ctx, c.store, 2, 2, slog.New(news)) }()
	for height := types.Height(1); height <= 8; height++ {
		c.grow(blockOf{accounts: 2})
		if height == 6 { // in the way of the next one
			continue
		}
		if height%2 == 0 {
			if got := <-news.told; got != "created a snapshot" {
				t.Fatalf("at %d: %s, want created a snapshot", height, got)
			}
		}
		if height == 4 {
			must(t, os.MkdirAll(filepath.Join(dir, "6"), 0o755))
		}
		if height == 5 {
			c.grow(blockOf{accounts: 2})
			height++
			if got := <-news.told; got != "cannot create a snapshot head=6 newest=4 next_try=8" {
				t.Fatalf("at %d: %s, want cannot create a snapshot head=6 newest=4 next_try=8", height, got)
			}
		}
	}
	stop()
	must(t, <-ended)
	requireHeights(t, d, 4, 8)
}

// newsHandler reports logged messages, and errors with their numbers.
type newsHandler struct {
	slog.Handler
	told chan string
}

func (*newsHandler) Enabled(context.Context, slog.Level) bool { return true }

func (h *newsHandler) Handle(_ context.Context, r slog.Record) error {
	news := r.Message
	r.Attrs(func(a slog.Attr) bool {
		if r.Level == slog.LevelError && a.Key != "error" {
			news += " " + a.String()
		}
		return true
	})
	h.told <- news
	return nil
}

// The store is closed, or the context ends, while no snapshot is being made.
func TestKeepEnds(t *testing.T) {
	c := newTestChain(t, 4)
	d := openDirectory(t, t.TempDir())
	ctx, stop := context.WithCancel(t.Context())
	stop()
	must(t, d.Keep(ctx, c.store, 2, 2, silent))
	requireIs(t, "the store", c.store.WaitHeight(ctx, 1), context.Canceled)
}

// made is a directory with a snapshot of a chain.
func made(t *testing.T) (*testChain, *Directory) {
	t.Helper()
	c := newTestChain(t, 5)
	c.grow(blockOf{accounts: 50, contracts: 3})
	d := openDirectory(t, t.TempDir())
	_, err := d.Create(t.Context(), c.store, 1_700_000_000)
	must(t, err)
	return c, d
}

func TestExport(t *testing.T) {
	c, d := made(t)
	path := filepath.Join(d.path, "1")
	archive := filepath.Join(t.TempDir(), "snapshot.zip")
	file, err := os.Create(archive)
	must(t, err)
	must(t, errors.Join(Export(t.Context(), os.DirFS(path), file), file.Close()))
	for _, name := range []string{archive, path, path + "/"} {
		files, closeFiles, err := Open(name)
		must(t, err)
		m, err := Verify(t.Context(), files, Trust{Genesis: genesisHash(t, c.store)}, noProgress)
		must(t, errors.Join(err, closeFiles()))
		if m.BlockHash != c.store.HeadHash() {
			t.Errorf("%s is of block %d", name, m.Height)
		}
	}
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.WriteFile(other, []byte("no archive"), 0o644))
	if _, _, err := Open(other); err == nil || !strings.Contains(err.Error(), "neither") {
		t.Errorf("a file that is none: error %v, want an error with %q", err, "neither")
	}
	_, _, err = Open(other + "s")
	requireIs(t, "no file", err, fs.ErrNotExist)
	requireIs(t, "an empty directory", Export(t.Context(), os.DirFS(t.TempDir()), io.Discard), fs.ErrNotExist)
}

// A store that has a chain is not filled.
func TestImportRefuses(t *testing.T) {
	c, d := made(t)
	_, err := Import(t.Context(), os.DirFS(filepath.Join(d.path, "1")), Trust{}, c.store, noProgress)
	requireIs(t, "a store with a chain", err, chain.ErrBadEntry)
	_, err = Import(
		t.Context(), os.DirFS(filepath.Join(d.path, "1")), Trust{Genesis: types.BlockHash{1}}, openStore(t), noProgress,
	)
	requireIs(t, "another chain", err, ErrOtherChain)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	into := openStore(t)
	_, err = Import(ended, os.DirFS(filepath.Join(d.path, "1")), Trust{}, into, noProgress)
	requireIs(t, "a context that has ended", err, context.Canceled)
	if !into.Empty() {
		t.Error("there is a chain")
	}
}

// TestNoRoom has the making of a snapshot fail before each of its chunks. Nothing of it remains, and the next snapshot
// can be made.
func TestNoRoom(t *testing.T) {
	c := newTestChain(t, 6)
	c.grow(blockOf{accounts: 50, contracts: 3})
	dir := t.TempDir()
	d := openDirectory(t, dir)
	errFull := errors.New("the disk is full")
	chunks := 0
	for left := 0; ; left++ {
		asked := 0
		d.Space = func() error {
			if asked++; asked > left {
				return errFull
			}
			return nil
		}
		m, err := d.Create(t.Context(), c.store, 1)
		if err == nil {
			chunks = len(m.Chunks)
			break
		}
		requireIs(t, "a snapshot without room", err, errFull)
		entries, err := os.ReadDir(dir)
		if must(t, err); len(entries) > 0 || len(d.List()) > 0 {
			t.Fatalf("after %d chunks %v is left, and %v listed", left, entries, d.List())
		}
	}
	if chunks < 4 {
		t.Errorf("it has %d chunks", chunks)
	}
}
