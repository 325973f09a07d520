package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
	"github.com/cairn-chain/cairn/types"
)

// clusterOfNodes is several processes that form one producer.
type clusterOfNodes struct {
	t     *testing.T
	files map[string][]byte // the initial files of each new directory: the genesis and the key
	links map[string]string // addresses of the members' links
	dirs  map[string]string
	nodes map[string]*process // that run
	flags []string            // of each

	programs map[string]string // of members that run another build
}

// newClusterOfNodes returns a cluster of one, whose chain a single producer began.
func newClusterOfNodes(t *testing.T, l *load, flags ...string) *clusterOfNodes {
	t.Helper()
	c := &clusterOfNodes{
		t:     t,
		files: map[string][]byte{},
		links: map[string]string{},
		dirs:  map[string]string{},
		nodes: map[string]*process{},
		flags: flags,
	}
	first := filepath.Join(t.TempDir(), "a")
	u := newUser(t)
	u.succeeds(nil, append([]string{"init", first, "--block-time", "200ms"}, l.allocations()...)...)
	shortenNotice(t, filepath.Join(first, "genesis.json"))
	alone := start(t, "node", "--data-dir", first, "--prove", "off")
	c.awaitHeight(alone, 3)
	if err := alone.Stop(); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"genesis.json", "protocol.key"} {
		content, err := os.ReadFile(filepath.Join(first, file))
		if err != nil {
			t.Fatal(err)
		}
		c.files[file] = content
	}
	c.dirs["a"], c.links["a"] = first, freeAddress(t)
	u.succeeds(nil, "cluster", "init", "--data-dir", first, "--name", "a", "--address", c.links["a"])
	c.start("a")
	return c
}

// shortenNotice shortens the notice for upgrades of a new chain from a week to a second.
func shortenNotice(t *testing.T, genesis string) {
	t.Helper()
	content, err := os.ReadFile(genesis)
	if err != nil {
		t.Fatal(err)
	}
	short := strings.Replace(string(content), `"notice": 604800000`, `"notice": 1000`, 1)
	if short == string(content) {
		t.Fatalf("there is no notice of a week in %s", content)
	}
	if err := os.WriteFile(genesis, []byte(short), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start starts a member on its directory.
func (c *clusterOfNodes) start(name string) {
	c.t.Helper()
	args := append([]string{"node", "--data-dir", c.dirs[name], "--cluster-addr", c.links[name]}, c.flags...)
	program := c.programs[name]
	if program == "" {
		program = buildBinary(c.t)
	}
	node := launchProgram(c.t, program, "127.0.0.1:0", args...)
	if err := node.awaitReady(); err != nil {
		c.t.Fatal(err)
	}
	c.nodes[name] = node
}

// join adds a member with a new directory, and waits until it votes.
func (c *clusterOfNodes) join(name, peer string) {
	c.t.Helper()
	pin := c.prepare(name, peer, c.files)
	add := []string{"cluster", "add", name, "--address", c.links[name], "--pin", pin}
	newUser(c.t).succeeds(nil, append(add, c.nodes[c.leader(peer)].AdminFlags()...)...)
	c.start(name)
	c.await(name+" has a vote", func() bool {
		for _, m := range c.status(peer).Members {
			if m.Name == name {
				return m.Voter
			}
		}
		return false
	})
}

func (c *clusterOfNodes) status(of string) members.Status {
	s, err := members.Client{Node: admin.Client{URL: c.nodes[of].Admin}}.Status(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

// leader waits until a running member reports a running leader.
func (c *clusterOfNodes) leader(of string) (name string) {
	c.t.Helper()
	c.await("there is a leader", func() bool {
		name = c.status(of).Leader
		return c.nodes[name] != nil
	})
	return name
}

func (c *clusterOfNodes) await(what string, is func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), checkTime)
	defer cancel()
	for !is() {
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			c.t.Fatalf("not within %s: %s", checkTime, what)
		}
	}
}

func (c *clusterOfNodes) awaitHeight(node *process, height types.Height) {
	c.t.Helper()
	asked := c.clientOf(node)
	c.await("there is a block", func() bool {
		head, err := asked.BlockNumber(c.t.Context())
		return err == nil && head >= height
	})
}

func (c *clusterOfNodes) clientOf(node *process) *client.Client {
	c.t.Helper()
	made, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(made.Close)
	return made
}

// other returns a running member that is none of those named.
func (c *clusterOfNodes) other(names ...string) string {
	for name := range c.nodes {
		if !strings.Contains(strings.Join(names, " "), name) {
			return name
		}
	}
	c.t.Fatal("no other member runs")
	return ""
}

// kill ends a member abruptly, like a power cut.
func (c *clusterOfNodes) kill(name string) {
	c.nodes[name].Kill()
	delete(c.nodes, name)
}

// checkIncluded waits until a member has every acknowledged transaction in a block.
func (c *clusterOfNodes) checkIncluded(l *load, member string) {
	c.t.Helper()
	asked := c.clientOf(c.nodes[member])
	for _, s := range l.senders {
		s.mu.Lock()
		ids := append([]types.TxID(nil), s.ids...)
		s.mu.Unlock()
		if len(ids) == 0 {
			continue
		}
		ctx, cancel := context.WithTimeout(c.t.Context(), checkTime)
		_, err := asked.WaitReceipt(ctx, ids[len(ids)-1])
		cancel()
		if err != nil {
			c.t.Fatalf("%s: acknowledged transaction %d of sender %d: error %v", member, len(ids)-1, s.number, err)
		}
		nonce, err := asked.Nonce(c.t.Context(), s.account, api.NonceRef{})
		if err != nil || nonce < uint64(len(ids)) {
			c.t.Fatalf("%s: sender %d has nonce %d, %d were acknowledged; %v", member, s.number, nonce, len(ids), err)
		}
		s.mu.Lock()
		s.included = nonce // so it may send more
		s.mu.Unlock()
	}
}

// checkOneHeader compares every block of all running members.
func (c *clusterOfNodes) checkOneHeader(height types.Height) {
	c.t.Helper()
	seen := map[types.Height]types.BlockHash{}
	for name, node := range c.nodes {
		asked := c.clientOf(node)
		c.awaitHeight(node, height)
		for h := types.Height(0); h <= height; h++ {
			block, err := asked.BlockByNumber(c.t.Context(), api.AtHeight(h), false)
			if err != nil {
				c.t.Fatal(err)
			}
			if before, is := seen[h]; is && before != block.Hash {
				c.t.Fatalf("%s has block %d, %s, another one has %s", name, h, block.Hash, before)
			}
			seen[h] = block.Hash
		}
	}
}

// TestCluster makes a producer with a chain into a cluster of three. It kills the leader under load, restarts it,
// refuses a copy of it, and replaces a member whose disk is lost. No acknowledged transaction is lost, and no height
// has two blocks.
func TestCluster(t *testing.T) {
	t.Parallel()
	l := newLoad(64)
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off")
	info, err := c.clientOf(c.nodes["a"]).NodeInfo(t.Context())
	if err != nil || info.Cluster == nil || info.BlockHeight < 3 {
		t.Fatalf("a cluster of one: got %+v, error %v", info, err)
	}
	l.chainID = info.ChainID
	c.join("b", "a")
	c.join("c", "a")

	leader := c.leader("a")
	taker := c.other(leader)
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- l.run(loading, c.nodes[taker].RPC) }()
	c.await("a few hundred are acknowledged", func() bool { return l.acknowledged() > 300 })
	before := l.acknowledged()
	c.kill(leader)
	c.await("another one leads, and takes transactions", func() bool {
		return c.status(taker).Leader != leader && l.acknowledged() > before+300
	})

	copied := filepath.Join(t.TempDir(), "copy")
	if out, err := exec.Command("cp", "-a", c.dirs[leader], copied).CombinedOutput(); err != nil {
		t.Fatalf("cp: got %v, %s", err, out)
	}
	refused := newUser(t).run(
		"node", "--data-dir", copied, "--cluster-addr", freeAddress(t), "--block-time", "200ms", "--rpc-addr",
		"127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
	)
	if !strings.Contains(refused.String(), "copy of a member's") {
		t.Errorf("a copied directory: got %s, want %q", refused, "copy of a member's")
	}
	c.start(leader)
	c.await("who was killed is near", func() bool {
		s := c.status(leader)
		return s.Leader != "" && s.Height > 0 && s.Last-s.Applied < 10 && c.status(taker).Height-s.Height < 3
	})
	stop()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	for name := range c.nodes {
		c.checkIncluded(l, name)
	}

	var transferred struct{ Leader string }
	c.await("leadership is handed over", func() bool { // on a slow machine it may have lost the lead just before
		leader = c.leader(taker)
		u := newUser(t)
		r := u.run(append([]string{"cluster", "transfer", "--json"}, c.nodes[leader].AdminFlags()...)...)
		return r.code == exitDone && json.Unmarshal(u.document(r).Result, &transferred) == nil
	})
	if transferred.Leader == "" || transferred.Leader == leader {
		t.Errorf("%s led, and leadership was handed to %q", leader, transferred.Leader)
	}
	lost := c.other(c.leader(taker), taker)
	c.kill(lost)
	if err := os.RemoveAll(c.dirs[lost]); err != nil {
		t.Fatal(err)
	}
	newUser(t).succeeds(nil, append([]string{"cluster", "remove", lost}, c.nodes[c.leader(taker)].AdminFlags()...)...)
	c.join("d", taker)
	c.checkOneHeader(types.Height(c.status(taker).Height))
	t.Logf("%d transactions acknowledged, block %d", l.acknowledged(), c.status(taker).Height)
}
