package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestModesOfADirectory turns an archive's directory into a replica's, which happens only on request and cannot be
// undone.
func TestModesOfADirectory(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	genesis := filepath.Join(filepath.Dir(h.keys[0]), "genesis.json")
	dir := filepath.Join(t.TempDir(), "archive")
	archive := []string{"node", "--data-dir", dir, "--mode", "archive", "--genesis", genesis, "--upstream", h.first.RPC}
	replica := []string{
		"node", "--data-dir", dir, "--mode", "replica", "--genesis", genesis, "--upstream", h.first.RPC, "--retention", "2",
	}
	follow := func(args []string) {
		t.Helper()
		node := start(t, args...)
		behind := h.head(h.first) + 3
		h.await(node, "some blocks further", func(s api.SyncStatus) bool { return s.LocalHeight >= behind })
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(code int, says string, args ...string) {
		t.Helper()
		if r := newUser(t).fails(code, args...); !strings.Contains(r.Message, says) {
			t.Errorf("cairn %s says %q", strings.Join(args, " "), r.Message)
		}
	}
	follow(archive)
	refused(exitFailed, "the store is an archive", append(replica, anyPorts...)...)
	refused(exitUsage, "--end-archive", "db", "prune", "--keep", "1", "--data-dir", dir)
	newUser(t).succeeds(nil, "db", "check", "--data-dir", dir)
	follow(archive)
	var pruned struct{ Oldest types.Height }
	newUser(t).succeeds(&pruned, "db", "prune", "--keep", "1", "--end-archive", "--data-dir", dir)
	if pruned.Oldest == 0 {
		t.Error("nothing was pruned")
	}
	refused(exitFailed, "the database is not an archive's", append(archive, anyPorts...)...)
	follow(replica)
	newUser(t).succeeds(nil, "db", "check", "--data-dir", dir)
}

// head returns a node's height.
func (h *handover) head(node *process) types.Height {
	h.t.Helper()
	height, err := h.client(node).BlockNumber(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	return height
}
