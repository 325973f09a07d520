package datadir_test

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
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runDevelopment runs a development chain in a directory until the test ends or calls end.
func runDevelopment(t *testing.T, dir string) (n *node.Node, end func()) {
	t.Helper()
	return runDevelopmentWith(t, dir, datadir.Options{})
}

func runDevelopmentWith(t *testing.T, dir string, options datadir.Options) (n *node.Node, end func()) {
	t.Helper()
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 3)
	check(t, err)
	genesis := development.Genesis(1_700_000_000_000)
	d, err := datadir.Open(dir, options)
	check(t, err)
	n, err = node.New(d, node.Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Solo{Production: role.Production{
			Key: role.LocalKey(development.Producer), BlockTime: -1, Development: development,
		}},
		Serving: node.Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
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

// TestBootstrapStopped stops an import, which keeps the fetched chunks. The next call continues, and fetches no chunk
// again.
func TestBootstrapStopped(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	n, end := runDevelopment(t, from)
	c, err := client.New(n.RPCURL())
	check(t, err)
	_, err = c.Dev().Mine(t.Context(), 2)
	check(t, err)
	c.Close()
	end()
	made := createSnapshot(t, from)
	n, end = runDevelopment(t, from)
	defer end()

	trust := datadir.SnapshotTrust{Genesis: made.GenesisHash}
	ctx, stop := context.WithCancel(t.Context())
	var imported atomic.Uint64 // bytes
	_, err = bootstrap(ctx, t, to, n.RPCURL(), trust, func(done, _ uint64) {
		if _, err := os.Stat(filepath.Join(to, "db.importing")); err == nil {
			imported.Store(done)
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || imported.Load() == 0 || imported.Load() == made.SizeBytes {
		t.Fatalf("stopped after %d of %d bytes: error %v", imported.Load(), made.SizeBytes, err)
	}
	for _, left := range []string{"db", "db.importing"} {
		if _, err := os.Stat(filepath.Join(to, left)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: error %v, want %v", left, err, os.ErrNotExist)
		}
	}
	chunks, err := filepath.Glob(filepath.Join(datadir.SnapshotPath(from, made.Height), "*.zst"))
	check(t, err)
	if len(chunks) != int(made.ChunkCount) {
		t.Fatalf("%d files of %d chunks", len(chunks), made.ChunkCount)
	}
	for _, chunk := range chunks {
		check(t, os.Remove(chunk))
	}
	// number of attempts, as a missing chunk is requested repeatedly
	ctx, stop = context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	m, err := bootstrap(ctx, t, to, n.RPCURL(), trust, func(uint64, uint64) {})
	if err != nil || m.BlockHash != made.BlockHash {
		t.Errorf("once more: block %s, want %s, error %v", m.BlockHash, made.BlockHash, err)
	}
}

// TestBootstrapRemovesWhatIsUntrue lets an upstream offer a snapshot with valid chunks, one of them duplicated, so the
// whole is invalid. The import detects that, and removes everything that was fetched.
func TestBootstrapRemovesWhatIsUntrue(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	n, end := runDevelopment(t, from)
	c, err := client.New(n.RPCURL())
	check(t, err)
	_, err = c.Dev().Mine(t.Context(), 2)
	check(t, err)
	c.Close()
	end()
	made := createSnapshot(t, from)
	path := datadir.SnapshotPath(from, made.Height)
	write := func(m datadir.Snapshot) {
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

	once := func() (datadir.Snapshot, error) {
		n, end := runDevelopment(t, from)
		defer end()
		return bootstrap(
			t.Context(), t, to, n.RPCURL(), datadir.SnapshotTrust{Genesis: made.GenesisHash}, func(uint64, uint64) {},
		)
	}
	if _, err := once(); !errors.Is(err, snapshot.ErrFalse) {
		t.Fatalf("a snapshot with a chunk twice: error %v, want %v", err, snapshot.ErrFalse)
	}
	for _, left := range []string{"db", "db.importing", filepath.Join("snapshots", "*")} {
		if names, err := filepath.Glob(filepath.Join(to, left)); err != nil || len(names) > 0 {
			t.Errorf("%s are left, error %v", names, err)
		}
	}
	write(made)
	if m, err := once(); err != nil || m.BlockHash != made.BlockHash {
		t.Errorf("the true one of the same block: got %s, want %s, error %v", m.BlockHash, made.BlockHash, err)
	}
}

// createSnapshot makes a snapshot of the chain in a directory.
func createSnapshot(t *testing.T, dir string) datadir.Snapshot {
	t.Helper()
	d, err := datadir.OpenChain(dir, datadir.Options{})
	check(t, err)
	m, err := d.CreateSnapshot(t.Context())
	check(t, err)
	check(t, d.Close())
	return m
}

// bootstrap fills a directory from a node.
func bootstrap(
	ctx context.Context, t *testing.T, dir, url string, trust datadir.SnapshotTrust, progress func(done, total uint64),
) (datadir.Snapshot, error) {
	t.Helper()
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	defer func() { check(t, d.Close()) }()
	return d.Bootstrap(ctx, datadir.Upstreams{URLs: []string{url}}, trust, progress)
}

// A directory that another process is filling cannot be opened, even before it has a database.
func TestOpenIsAlone(t *testing.T) {
	dir := t.TempDir()
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	if _, err := datadir.Open(dir, datadir.Options{Chain: chain.Options{Stateless: true}}); !errors.Is(err, datadir.ErrLocked) {
		t.Errorf("got %v, want %v", err, datadir.ErrLocked)
	}
	if _, err := os.Stat(filepath.Join(dir, "db")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its database: error %v, want %v", err, os.ErrNotExist)
	}
	check(t, d.Close())
}
