package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
)

// TestSnapshotIndependently has a program that shares no code with the node check a snapshot that it serves, by the format's
// description alone.
func TestSnapshotIndependently(t *testing.T) {
	for _, tool := range []string{"python3", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the independent reader of snapshots needs %s: %v", tool, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "primary")
	newUser(t).succeeds(nil, append([]string{"init", dir}, newLoad(40).allocations()...)...)
	node := start(t, "node", "--data-dir", dir, "--block-time", "250ms", "--snapshot-interval", "2")
	sdk, err := client.New(node.RPC)
	if err != nil {
		t.Fatal(err)
	}
	defer sdk.Close()
	ctx, cancel := context.WithTimeout(t.Context(), clientTimeout)
	defer cancel()
	waitSnapshot(ctx, t, sdk)
	command := exec.CommandContext(ctx, "python3", "independent/snapshot.py", node.RPC)
	command.Env = append(os.Environ(), "PYTHONPYCACHEPREFIX="+filepath.Join(binaryDir, "python"))
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("it disagrees: %v", err)
	}
	var found struct{ Height, Chunks, Entries int }
	if err := json.Unmarshal(output, &found); err != nil || found.Entries < 40 || found.Height == 0 {
		t.Errorf("it found %s, %v", output, err)
	}
}

// waitSnapshot waits until a node offers a snapshot.
func waitSnapshot(ctx context.Context, t *testing.T, c *client.Client) *api.StateSnapshot {
	t.Helper()
	for {
		offered, err := c.StateSnapshot(ctx, api.Latest())
		if err != nil {
			t.Fatal(err)
		}
		if offered != nil {
			return offered
		}
		<-time.After(loadPause)
	}
}
