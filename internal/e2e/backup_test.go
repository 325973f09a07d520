package e2e

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestBackup backs up a node under load: the copy is sound, has all blocks that there were when it was asked for, and
// goes on as a replica.
func TestBackup(t *testing.T) {
	l := &handover{t: t, load: newLoad(256)}
	dir := filepath.Join(t.TempDir(), "primary")
	u := newUser(t)
	u.succeeds(nil, append([]string{"init", dir}, l.load.allocations()...)...)
	node := start(t, "node", "--data-dir", dir, "--block-time", "200ms")
	l.load.chainID = chainIDOf(t, l.client(node))
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- l.load.run(loading, node.RPC) }()
	l.awaitLoad(1_000)
	head, err := l.client(node).BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var made struct {
		Path   string
		Height types.Height
	}
	u.succeeds(&made, append([]string{"db", "backup"}, node.AdminFlags()...)...)
	if made.Height < head || filepath.Dir(made.Path) != filepath.Join(dir, "backups") {
		t.Errorf("%+v, of a node with block %d", made, head)
	}
	requireOnly(t, made.Path, "LOCK", "db")
	u.succeeds(nil, "db", "check", "--data-dir", made.Path)
	replica := start(t, "node", "--data-dir", made.Path, "--mode", "replica", "--upstream", node.RPC)
	l.awaitSynced(replica)
	stop()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}
