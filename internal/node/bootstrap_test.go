package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runDevelopment runs a development chain in a directory until the test, or end, ends it.
func runDevelopment(t *testing.T, dir string) (n *Node, end func()) {
	t.Helper()
	development, err := NewDevelopment(api.DevelopmentMnemonic, 3)
	check(t, err)
	genesis := development.Genesis(1_700_000_000)
	n, err = New(Config{
		DataDir: dir, Genesis: &genesis, Key: &development.Producer, BlockTime: -1, RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0",
		Development: development, Log: slog.New(slog.DiscardHandler),
	})
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return n, func() {
		t.Helper()
		stop()
		check(t, <-ended)
	}
}

// TestBootstrapStopped keeps what was fetched when the import is stopped, and goes on with it: no chunk is fetched again.
func TestBootstrapStopped(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	n, end := runDevelopment(t, from)
	c, err := client.New(n.RPCURL())
	check(t, err)
	_, err = c.Dev().Mine(t.Context(), 2)
	check(t, err)
	c.Close()
	end()
	made, err := CreateSnapshot(t.Context(), from)
	check(t, err)
	n, end = runDevelopment(t, from)
	defer end()

	trust, quiet := SnapshotTrust{Genesis: made.GenesisHash}, slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(t.Context())
	var imported atomic.Uint64 // bytes
	_, err = Bootstrap(ctx, to, []string{n.RPCURL()}, nil, trust, quiet, func(done, _ uint64) {
		if _, err := os.Stat(filepath.Join(to, importDir)); err == nil {
			imported.Store(done)
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || imported.Load() == 0 || imported.Load() == made.SizeBytes {
		t.Fatalf("stopped after %d of %d bytes: %v", imported.Load(), made.SizeBytes, err)
	}
	for _, left := range []string{databaseDir, importDir} {
		if _, err := os.Stat(filepath.Join(to, left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", left, err)
		}
	}
	chunks, err := filepath.Glob(filepath.Join(SnapshotPath(from, made.Height), "*.zst"))
	check(t, err)
	if len(chunks) != int(made.ChunkCount) {
		t.Fatalf("%d files of %d chunks", len(chunks), made.ChunkCount)
	}
	for _, chunk := range chunks {
		check(t, os.Remove(chunk))
	}
	ctx, stop = context.WithTimeout(t.Context(), time.Minute) // after which it gives up: a chunk that is missing is asked for again and again
	defer stop()
	m, err := Bootstrap(ctx, to, []string{n.RPCURL()}, nil, trust, quiet, func(uint64, uint64) {})
	if err != nil || m.BlockHash != made.BlockHash {
		t.Errorf("once more: block %s, %v", m.BlockHash, err)
	}
}

// TestBootstrapRemovesWhatIsUntrue has an upstream offer a snapshot whose chunks are each as they should be and together are not,
// one of them being there twice: that shows when it is imported, and nothing of it is left to be used again.
func TestBootstrapRemovesWhatIsUntrue(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	n, end := runDevelopment(t, from)
	c, err := client.New(n.RPCURL())
	check(t, err)
	_, err = c.Dev().Mine(t.Context(), 2)
	check(t, err)
	c.Close()
	end()
	made, err := CreateSnapshot(t.Context(), from)
	check(t, err)
	path := SnapshotPath(from, made.Height)
	write := func(m Snapshot) {
		t.Helper()
		content, err := json.Marshal(m)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(path, snapshot.ManifestFile), content, 0o600))
	}
	last := made.Chunks[made.ChunkCount-1]
	twice, chunk := made, last
	chunk.Index++
	chunk.URL = strings.Replace(last.URL, fmt.Sprintf("%06d", last.Index), fmt.Sprintf("%06d", chunk.Index), 1)
	twice.Chunks = append(slices.Clone(made.Chunks), chunk)
	twice.ChunkCount++
	twice.SizeBytes += chunk.SizeBytes
	write(twice)
	content, err := os.ReadFile(filepath.Join(path, filepath.Base(last.URL)))
	check(t, err)
	check(t, os.WriteFile(filepath.Join(path, filepath.Base(chunk.URL)), content, 0o600))

	bootstrap := func() (Snapshot, error) {
		n, end := runDevelopment(t, from)
		defer end()
		return Bootstrap(t.Context(), to, []string{n.RPCURL()}, nil, SnapshotTrust{Genesis: made.GenesisHash}, slog.New(slog.DiscardHandler), func(uint64, uint64) {})
	}
	if _, err := bootstrap(); !errors.Is(err, snapshot.ErrFalse) {
		t.Fatalf("a snapshot with a chunk twice: %v", err)
	}
	for _, left := range []string{databaseDir, importDir, filepath.Join(snapshotsDir, "*")} {
		if names, err := filepath.Glob(filepath.Join(to, left)); err != nil || len(names) > 0 {
			t.Errorf("%s are left, %v", names, err)
		}
	}
	write(made)
	if m, err := bootstrap(); err != nil || m.BlockHash != made.BlockHash {
		t.Errorf("the true one of the same block: %s, %v", m.BlockHash, err)
	}
}

// TestStartAtIsAlone refuses to begin a chain in a directory that something else fills, before it has a database.
func TestStartAtIsAlone(t *testing.T) {
	dir := t.TempDir()
	lock, err := kv.Lock(dir)
	check(t, err)
	if err := StartAt(t.Context(), Config{DataDir: dir, Log: slog.New(slog.DiscardHandler)}, Trusted{Height: 1}); !errors.Is(err, ErrLocked) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, databaseDir)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its database: %v", err)
	}
	check(t, lock.Close())
}
