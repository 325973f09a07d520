package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// TestClusterHandsOver hands production over from a single producer to a cluster, and then to a node with its own key,
// while clients send. In the end, blocks have all acknowledged transactions.
func TestClusterHandsOver(t *testing.T) {
	t.Parallel()
	l := newLoad(64)
	address := freeAddress(t)
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off", "--upstream", "http://"+address)
	l.chainID = chainIDOf(t, c.clientOf(c.nodes["a"]))
	c.join("b", "a")
	c.join("c", "a")
	dir := t.TempDir()
	genesis, admin := filepath.Join(dir, "genesis.json"), filepath.Join(c.dirs["a"], "admin.key")
	key := filepath.Join(dir, "next.key")
	next := keyOf("next producer").Bytes()
	for file, content := range map[string][]byte{
		genesis: c.files["genesis.json"], key: []byte(hex.EncodeToString(next[:]) + "\n"),
	} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alone := startAt(t, address, "node", "--data-dir", filepath.Join(dir, "next"), "--mode", "replica", "--block-time",
		"200ms", "--genesis", genesis, "--protocol-key", key, "--prove", "off", "--upstream", c.nodes["a"].RPC,
		"--upstream", c.nodes["b"].RPC)
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, loadConnections)
	for i := range loadConnections { // one for each sender: no block has the transactions after a refused nonce
		go func() { sent <- l.connection(loading, c.nodes[[]string{"a", "b"}[i%2]].RPC, i) }()
	}
	c.await("a few hundred are acknowledged", func() bool { return l.acknowledged() > 300 })
	newUser(t).of(alone).succeeds(nil, "promote", "--admin-key", admin)
	stop()
	for range loadConnections {
		if err := <-sent; err != nil && !errors.Is(err, api.ErrReadOnly) {
			t.Fatal(err)
		}
	}
	c.nodes["next"] = alone
	c.checkIncluded(l, "next")
	t.Logf("%d transactions acknowledged", l.acknowledged())
}
