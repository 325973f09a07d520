package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// TestBackup backs up a node under load: the copy is sound, has all blocks up to the time of the request, and can
// continue as a replica.
func TestBackup(t *testing.T) {
	t.Parallel()
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

// TestRestorePrimary restores a primary from its backup as the operators' page says: it makes no block before the
// height is confirmed, and then continues after it.
func TestRestorePrimary(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir, restored := filepath.Join(root, "primary"), filepath.Join(root, "restored")
	u := newUser(t)
	u.succeeds(nil, "init", dir)
	node := start(t, "node", "--data-dir", dir, "--block-time", "100ms")
	h := &handover{t: t}
	reaches := func(height types.Height) func(api.SyncStatus) bool {
		return func(s api.SyncStatus) bool { return s.LocalHeight >= height }
	}
	h.await(node, "three blocks", reaches(3))
	var made struct {
		Path   string
		Height types.Height
	}
	u.succeeds(&made, append([]string{"db", "backup"}, node.AdminFlags()...)...)
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(restored, os.DirFS(made.Path)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"protocol.key", "cairn.toml"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err := errors.Join(err, os.WriteFile(filepath.Join(restored, name), content, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	refused := u.fails(exitUsage, append([]string{"node", "--data-dir", restored}, anyPorts...)...)
	if !strings.HasPrefix(refused.Message, "the key's sign state (double-sign protection) is missing: ") {
		t.Errorf("without a lock it says %q", refused.Message)
	}
	var taken struct{ Head types.Height }
	u.succeeds(&taken, "promote", "--from-dead", "--data-dir", restored,
		"--protocol-key", filepath.Join(restored, "protocol.key"), "--alone", "--yes")
	if taken.Head != made.Height {
		t.Errorf("block %d is confirmed, want that of the backup, %d", taken.Head, made.Height)
	}
	again := start(t, "node", "--data-dir", restored, "--block-time", "100ms")
	h.await(again, "a block after the backup's", reaches(made.Height+1))
	if err := again.Stop(); err != nil {
		t.Error(err)
	}
}
