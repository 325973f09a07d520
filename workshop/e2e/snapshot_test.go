package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// TestSnapshotIndependently: a program that shares no code with the node checks a served snapshot by the description of
// the format alone.
func TestSnapshotIndependently(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"python3", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the independent reader of snapshots needs %s: error %v", tool, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "primary")
	newUser(t).succeeds(nil, append([]string{"init", dir}, newLoad(40).allocations()...)...)
	node := start(
		t, "node", "--data-dir", dir, "--block-time", "250ms", "--snapshot-interval", "10", "--snapshot-keep", "1000",
	)
	sdk, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	defer sdk.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	info, err := sdk.NodeInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waitSnapshot(ctx, t, sdk)
	command := exec.CommandContext(ctx, "python3", "independent/snapshot.py", node.RPC)
	command.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+filepath.Join(binaryDir, "python"))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("it disagrees: error %v", err)
	}
	var found struct{ Height, Chunks, Entries int }
	if err := json.Unmarshal(output, &found); err != nil || found.Entries < 40 || found.Height == 0 {
		t.Errorf("it found %s, error %v", output, err)
	}
	fetched := filepath.Join(t.TempDir(), "fetched")
	user := newUser(t)
	user.succeeds(
		nil, "snapshot", "import", node.RPC, node.RPC, "--genesis-hash", info.GenesisHash.String(), "--data-dir", fetched,
	)
	requireOnly(t, fetched, "LOCK", "db", "snapshots")
	user.succeeds(nil, "db", "check", "--data-dir", fetched)
	user.fails(
		exitFailed, "snapshot", "import", node.RPC, "--genesis-hash", info.GenesisHash.String(), "--data-dir", fetched,
	)
	user.fails(
		exitFailed, "snapshot", "import", node.RPC, "--genesis-hash", types.BlockHash{1}.String(), "--data-dir", fetched+"2",
	)
	user.fails(
		exitUsage, "snapshot", "import", node.RPC, dir, "--genesis-hash", info.GenesisHash.String(), "--data-dir",
		fetched+"2",
	)
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	carrySnapshot(t, dir, info.GenesisHash)
}

// carrySnapshot makes a snapshot of a stopped node, and a new data directory from it.
func carrySnapshot(t *testing.T, dir string, genesis types.BlockHash) {
	t.Helper()
	user, archive, to := newUser(t), filepath.Join(t.TempDir(), "snapshot.zip"), filepath.Join(t.TempDir(), "to")
	// The node may already have made a snapshot of its last block.
	if err := os.RemoveAll(filepath.Join(dir, "snapshots")); err != nil {
		t.Fatal(err)
	}
	var made struct{ Path, StateRoot string }
	user.succeeds(&made, "snapshot", "create", "--data-dir", dir)
	user.fails(exitFailed, "snapshot", "create", "--data-dir", dir) // a snapshot of this block exists
	var listed []struct{ Path string }
	user.succeeds(&listed, "snapshot", "list", "--data-dir", dir)
	if len(listed) == 0 || listed[len(listed)-1].Path != made.Path {
		t.Errorf("listed are %v, made was %s", listed, made.Path)
	}
	user.succeeds(nil, "snapshot", "verify", made.Path, "--genesis-hash", genesis.String())
	user.succeeds(nil, "snapshot", "export", made.Path, "--out", archive)
	user.fails(exitFailed, "snapshot", "export", made.Path, "--out", archive) // no file is overwritten

	other := types.BlockHash{1}.String()
	user.fails(exitUsage, "snapshot", "import", archive, "--data-dir", to)
	for _, arguments := range [][]string{{"verify", archive}, {"import", archive, "--data-dir", to}} {
		user.fails(exitFailed, append(append([]string{"snapshot"}, arguments...), "--genesis-hash", other)...)
		user.fails(
			exitFailed,
			append(append([]string{"snapshot"}, arguments...), "--genesis-hash", genesis.String(), "--block-hash", other)...,
		)
	}
	requireOnly(t, to, "LOCK")
	// The remains of a killed import are not a chain, and do not prevent the next one.
	if err := errors.Join(
		os.MkdirAll(filepath.Join(to, "db.importing"), 0o700),
		os.WriteFile(filepath.Join(to, "db.importing", "left"), []byte("x"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	user.succeeds(nil, "snapshot", "import", archive, "--genesis-hash", genesis.String(), "--data-dir", to)
	requireOnly(t, to, "LOCK", "db")
	user.succeeds(nil, "db", "check", "--data-dir", to)
	user.fails(exitFailed, "snapshot", "import", archive, "--genesis-hash", genesis.String(), "--data-dir", to)
	var again struct{ StateRoot string }
	user.succeeds(&again, "snapshot", "create", "--data-dir", to)
	if again.StateRoot != made.StateRoot {
		t.Errorf("the root is %s after carrying it, it was %s", again.StateRoot, made.StateRoot)
	}
}

// requireOnly fails the test unless a directory has no entries but names.
func requireOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if err != nil || !slices.Equal(got, names) {
		t.Errorf("%s holds %v, want %v, %v", dir, got, names, err)
	}
}

// TestSnapshotKilled kills a node repeatedly while it makes a snapshot. Every snapshot is complete, and unfinished ones
// are gone at the next start.
func TestSnapshotKilled(t *testing.T) {
	t.Parallel()
	dir, user := initialize(t), newUser(t)
	arguments := []string{
		"node", "--data-dir", dir, "--block-time", "50ms", "--snapshot-interval", "1", "--snapshot-keep", "3",
	}
	halfMade := func() int {
		found, err := filepath.Glob(filepath.Join(dir, "snapshots", "*.new"))
		if err != nil {
			t.Fatal(err)
		}
		return len(found)
	}
	first := start(t, arguments...)
	offered := waitSnapshot(t.Context(), t, connect(t, first))
	first.Kill()
	interrupted := 0
	for range *kills {
		node := start(t, arguments...)
		await(t, "a snapshot is half made", func() bool { return halfMade() > 0 })
		node.Kill()
		interrupted += halfMade()
		var listed []struct{ Path string }
		user.succeeds(&listed, "snapshot", "list", "--data-dir", dir)
		if len(listed) == 0 {
			t.Error("no snapshot is left")
		}
		for _, s := range listed {
			user.succeeds(nil, "snapshot", "verify", s.Path, "--genesis-hash", offered.GenesisHash.String())
		}
	}
	if interrupted == 0 {
		t.Errorf("none of %d kills left a snapshot half made", *kills)
	}
	node := start(t, "node", "--data-dir", dir)
	if left := halfMade(); left > 0 {
		t.Errorf("%d half made snapshots are left", left)
	}
	if offered, err := connect(t, node).OfferedSnapshot(t.Context(), api.Latest()); err != nil || offered == nil {
		t.Errorf("it offers %v, error %v", offered, err)
	}
	if err := node.Stop(); err != nil {
		t.Error(err)
	}
}

// waitSnapshot waits until a node offers a snapshot.
func waitSnapshot(ctx context.Context, t *testing.T, c *client.Client) *api.StateSnapshot {
	t.Helper()
	for {
		offered, err := c.OfferedSnapshot(ctx, api.Latest())
		if err != nil {
			t.Fatal(err)
		}
		if offered != nil {
			return offered
		}
		<-time.After(loadPause)
	}
}
