package e2e

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// handover is a chain with two nodes, each with its own key. Each follows the other while that one makes the blocks.
type handover struct {
	t           *testing.T
	load        *load
	first, next *process
	keys        [2]string // files
	admin       string    // file of the key that names the producer
	addresses   [2]string
	command     []string // that runs the next producer
}

func newHandover(t *testing.T) *handover {
	t.Helper()
	h := &handover{t: t, load: newLoad(256)}
	dir := filepath.Join(t.TempDir(), "first")
	funds := append(h.load.allocations(), "--alloc", types.Account(keyOf("next producer").PublicKey()).String()+"=1000")
	newUser(t).succeeds(nil, append([]string{"init", dir}, funds...)...)
	h.admin = filepath.Join(dir, "admin.key")
	h.keys = [2]string{filepath.Join(dir, "protocol.key"), filepath.Join(t.TempDir(), "next.key")}
	key := keyOf("next producer").Bytes()
	if err := os.WriteFile(h.keys[1], []byte(hex.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.addresses = [2]string{freeAddress(t), freeAddress(t)}
	h.command = []string{"node", "--data-dir", filepath.Join(t.TempDir(), "next"), "--mode", "replica", "--block-time",
		"200ms",
		"--genesis", filepath.Join(dir, "genesis.json"), "--upstream", "http://" +
			h.addresses[0], "--protocol-key", h.keys[1]}
	h.first = startAt(
		t, h.addresses[0], "node", "--data-dir", dir, "--block-time", "200ms", "--upstream", "http://"+h.addresses[1],
	)
	h.next = startAt(t, h.addresses[1], h.command...)
	return h
}

// startAt is start with the given address of JSON-RPC.
func startAt(t *testing.T, address string, args ...string) *process {
	t.Helper()
	node := launchAt(t, address, args...)
	if err := node.awaitReady(); err != nil {
		t.Fatal(err)
	}
	return node
}

// promoted is the output of `cairn promote`.
type promoted struct {
	Height, FirstBlock types.Height
	Seconds            float64
}

// promote hands production to a node, as the chain's admin.
func (h *handover) promote(to *process) (p promoted) {
	h.t.Helper()
	h.awaitSynced(to)
	newUser(h.t).of(to).succeeds(&p, "promote", "--admin-key", h.admin)
	return p
}

// awaitSynced waits until a node has all or nearly all blocks.
func (h *handover) awaitSynced(node *process) {
	h.t.Helper()
	h.await(node, "synced", func(s api.SyncStatus) bool {
		return s.BlocksBehind != nil && *s.BlocksBehind <= 1 && s.State == api.StateFollowing
	})
}

// await waits until a node has a state.
func (h *handover) await(node *process, what string, done func(api.SyncStatus) bool) {
	h.t.Helper()
	c := h.client(node)
	ctx, cancel := context.WithTimeout(h.t.Context(), checkTime)
	defer cancel()
	for {
		status, err := c.SyncStatus(ctx)
		if err == nil && done(status) {
			return
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			h.t.Fatalf("%s is not %s: got %+v, error %v", node.RPC, what, status, err)
		}
	}
}

func (h *handover) client(node *process) *client.Client {
	h.t.Helper()
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(c.Close)
	return c
}

// TestHandoverUnderLoad hands production to another node and back while clients send to both as fast as they can. There
// is one chain with every acknowledged transaction, and the time between two producers is short.
func TestHandoverUnderLoad(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	m, err := newModel(t.Context(), h.client(h.first))
	if err != nil {
		t.Fatal(err)
	}
	h.load.chainID = chainIDOf(t, h.client(h.first))
	m.configures = true
	sending, stop := context.WithCancel(t.Context())
	sent := make(chan error, loadConnections)
	for i := range loadConnections {
		go func() { sent <- h.load.connection(sending, []string{h.first.RPC, h.next.RPC}[i%2], i) }()
	}
	following := make(chan error, 1)
	go func() { following <- h.load.settleWhile(sending, m, h.client(h.first)) }()
	h.awaitLoad(200)
	there := h.promote(h.next)
	h.awaitLoad(h.load.acknowledged() + 200)
	back := h.promote(h.first)
	h.awaitLoad(h.load.acknowledged() + 200)
	stop()
	for range loadConnections {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	if err := <-following; err != nil {
		t.Fatal(err)
	}
	h.finish(m)
	if len(m.producers) != 3 || m.producers[0] != m.producers[2] || m.producers[1] != keyOf("next producer").PublicKey() {
		t.Errorf("the blocks' producers were %v", m.producers)
	}
	t.Logf("%d acknowledged, all of them in %d blocks; handed over in block %d, %.2f s until the next producer's first; "+
		"and back in block %d, %.2f s",
		h.load.acknowledged(), m.head.Height, there.Height, there.Seconds, back.Height, back.Seconds)
}

func chainIDOf(t *testing.T, c *client.Client) uint64 {
	t.Helper()
	id, err := c.ChainID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// awaitLoad waits until the given number of transactions are acknowledged.
func (h *handover) awaitLoad(count int) {
	h.t.Helper()
	deadline := time.After(checkTime)
	for h.load.acknowledged() < count {
		select {
		case <-time.After(loadPause):
		case <-deadline:
			h.t.Fatalf("%d transactions are acknowledged, and no more", h.load.acknowledged())
		}
	}
}

// finish waits until every acknowledged transaction is in a block, and compares both nodes with the model.
func (h *handover) finish(m *model) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	c := h.client(h.first)
	for missing := h.load.missing(m); len(missing) > 0; missing = h.load.missing(m) {
		if err := m.follow(ctx, c); err != nil {
			h.t.Fatalf("%d acknowledged transactions are in no block, %s is the first: error %v",
				len(missing), missing[0], err)
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
		}
	}
	h.await(h.next, "at the model's head", func(s api.SyncStatus) bool { return s.LocalHeight >= m.head.Height })
	for _, node := range []*process{h.first, h.next} {
		if err := m.compare(ctx, h.client(node)); err != nil {
			h.t.Error(err)
		}
		block, err := h.client(node).BlockByNumber(ctx, api.AtHeight(m.head.Height), false)
		if err != nil || block == nil || block.Hash != m.hash {
			h.t.Errorf("block %d of %s: %+v, %v; the model's is %s", m.head.Height, node.RPC, block, err, m.hash)
		}
	}
	for _, node := range []*process{h.first, h.next} {
		if err := node.Stop(); err != nil {
			h.t.Errorf("the node did not stop well: error %v", err)
		}
	}
}

// TestKeyOfThePast replays a chain that was handed to a key and later to another. The key makes no block at the height
// where it once did.
func TestKeyOfThePast(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	there := h.promote(h.next)
	back := h.promote(h.first)
	if err := h.next.Stop(); err != nil {
		t.Fatal(err)
	}
	genesis := filepath.Join(filepath.Dir(h.keys[0]), "genesis.json")
	again := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "again"), "--mode", "replica", "--genesis", genesis,
		"--block-time", "200ms",
		"--upstream", h.first.RPC, "--protocol-key", h.keys[1])
	h.await(
		again, "beyond the block that took production from it",
		func(s api.SyncStatus) bool { return s.LocalHeight > back.FirstBlock },
	)
	for _, height := range []types.Height{there.FirstBlock, back.Height, back.FirstBlock} {
		var hashes []types.BlockHash
		for _, node := range []*process{h.first, again} {
			block, err := h.client(node).BlockByNumber(t.Context(), api.AtHeight(height), false)
			if err != nil || block == nil {
				t.Fatalf("block %d of %s: got %v, error %v", height, node.RPC, block, err)
			}
			hashes = append(hashes, block.Hash)
		}
		if hashes[0] != hashes[1] {
			t.Errorf("two blocks of height %d: got %s", height, hashes)
		}
	}
}

// TestNewProducerIsKilled kills the next producer before it has heard of the transaction: it makes blocks after a
// restart.
func TestNewProducerIsKilled(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	h.awaitSynced(h.next)
	var sent struct{ TransactionHash types.TxID }
	newUser(t).of(h.next).succeeds(&sent, "promote", "--admin-key", h.admin, "--no-wait")
	h.next.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	receipt, err := h.client(h.first).WaitReceipt(ctx, sent.TransactionHash)
	if err != nil {
		t.Fatal(err)
	}
	h.next = startAt(t, h.addresses[1], h.command...)
	h.await(h.next, "the producer", func(s api.SyncStatus) bool {
		return s.State == api.StateProducing && s.LocalHeight > receipt.BlockHeight
	})
	h.await(h.first, "a replica", func(s api.SyncStatus) bool { return s.LocalHeight > receipt.BlockHeight })
}

// TestProducerThatHandedOver: the former producer follows if it has an upstream and holds otherwise. Its key makes no
// more blocks.
func TestProducerThatHandedOver(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	p := h.promote(h.next)
	h.await(h.first, "a replica", func(s api.SyncStatus) bool {
		return s.Mode == api.ModeReplica && s.State == api.StateFollowing && s.LocalHeight > p.FirstBlock
	})
	// The node that makes the blocks proves them, and the follower gets the proofs from it.
	provenUpTo(t, h.next, p.FirstBlock, p.FirstBlock+1)
	provenUpTo(t, h.first, p.FirstBlock, p.FirstBlock+1)
	refused := newUser(t).of(h.next).fails(exitFailed, "promote", "--admin-key", h.admin)
	if want := fmt.Sprintf("the node at %s is already the producer", h.next.RPC); refused.Message != want {
		t.Errorf("it says %q, want %q", refused.Message, want)
	}
	if err := errors.Join(h.first.Stop(), h.next.Stop()); err != nil {
		t.Fatal(err)
	}
}
