package e2e

import (
	"context"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// TestSubscriberMissesNoBlock follows the blocks of a node that is killed repeatedly. The client reconnects by itself.
// It gets each height once, and each block is the child of the one before.
func TestSubscriberMissesNoBlock(t *testing.T) {
	t.Parallel()
	const lives, blocksPerLife = 4, 10
	dir := initialize(t)
	var address atomic.Value // URL of the node, whose port changes with each start
	live := func() *process {
		node := start(t, "node", "--data-dir", dir, "--block-time", "50ms")
		address.Store(strings.TrimPrefix(node.RPC, "http://"))
		return node
	}
	node := live()
	c, err := client.New("http://127.0.0.1", client.WithTransport(&http.Transport{
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address.Load().(string))
		},
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()

	last := api.Block{}
	for block, err := range c.SubscribeBlocks(ctx, new(types.Height)) {
		if err != nil {
			t.Fatal(err)
		}
		if block.Height > 0 && (block.Height != last.Height+1 || block.ParentHash != last.Hash) {
			t.Fatalf("block %d on %s after block %d with the hash %s", block.Height, block.ParentHash, last.Height, last.Hash)
		}
		last = block
		if block.Height == lives*blocksPerLife {
			break
		}
		if block.Height%blocksPerLife == 0 && block.Height > 0 {
			node.Kill()
			node = live()
		}
	}
	if last.Height != lives*blocksPerLife {
		t.Errorf("the last block is %d, want %d", last.Height, lives*blocksPerLife)
	}
}

// TestWatch follows a development chain with the command.
func TestWatch(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "50ms")
	u := newUser(t).of(node)
	r := u.run("watch", "blocks", "--from", "0", "--count", "3")
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if r.code != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "0  ") || !strings.HasPrefix(lines[2], "2  ") {
		t.Errorf("blocks: got %s", r)
	}
	var status api.SyncStatus
	u.succeeds(&status, "watch", "sync", "--count", "1")
	if status.State != api.StateProducing || !status.Synced {
		t.Errorf("sync status %+v", status)
	}
	u.succeeds(nil, "deploy", "../../contracts/wasm/counter.wasm", "--from", "dev0", "--alias", "counter")
	u.succeeds(nil, "call", "counter", "add", "--amount", "3", "--from", "dev0")
	u.succeeds(nil, "call", "counter", "add", "--amount", "4", "--from", "dev0")
	var event api.Event
	u.succeeds(&event, "watch", "events", "--contract", "counter", "--event", "Added", "--from", "1", "--count", "1")
	if r = u.run("watch", "events", "--after", event.Cursor, "--count", "1"); r.code != 0 || !strings.HasSuffix(r.stdout,
		"  Added  counter  {\"by\":\"dev0\",\"amount\":4,\"count\":7}\n") {
		t.Errorf("the event after the first: got %s", r)
	}
	u.fails(exitUsage, "watch", "events", "--from", "1", "--after", event.Cursor)
	u.succeeds(nil, "send", "dev1", "1.5", "--from", "dev0")
	var payment api.Payment
	u.succeeds(&payment, "watch", "payments", "dev1", "--in", "--from", "1", "--count", "1")
	if payment.Amount != 150_000_000 || payment.To != devAccount(t, node, 1) || payment.Kind != api.PaymentTransfer {
		t.Errorf("the payment is %+v", payment)
	}
	u.succeeds(nil, "send", "dev1", "2", "--from", "dev0")
	if r = u.run("watch", "payments", "dev1", "--after", payment.Cursor, "--count", "1"); r.code != 0 ||
		!strings.Contains(r.stdout, "  dev0 -> dev1  2 coins  by transfer  0x") {
		t.Errorf("the payment after the first: got %s", r)
	}
	if r = u.run("account", "dev1"); r.code != 0 ||
		!strings.Contains(r.stdout, "  in       2 coins    dev0          transfer") {
		t.Errorf("the account's payments: got %s", r)
	}
	var proof api.ProofNotice
	u.succeeds(&proof, "watch", "proofs", "--from", "1", "--count", "1")
	if proof.Height != 1 {
		t.Errorf("the first proof is of block %d, want 1", proof.Height)
	}
	u.fails(exitFailed, "watch", "blocks", "--from", "1000000")
}
