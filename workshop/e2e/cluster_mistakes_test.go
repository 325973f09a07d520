package e2e

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// prepare makes a directory, with these files, that can join the cluster through a member, and returns its pin.
func (c *clusterOfNodes) prepare(name, peer string, files map[string][]byte) string {
	c.t.Helper()
	c.dirs[name], c.links[name] = filepath.Join(c.t.TempDir(), name), freeAddress(c.t)
	if err := os.Mkdir(c.dirs[name], 0o700); err != nil {
		c.t.Fatal(err)
	}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(c.dirs[name], file), content, 0o600); err != nil {
			c.t.Fatal(err)
		}
	}
	var made struct{ Pin string }
	newUser(c.t).succeeds(&made, "cluster", "join", "--data-dir", c.dirs[name], "--name", name, "--address", c.links[name],
		"--peer", c.links[peer], "--peer-pin", c.pinOf(peer))
	return made.Pin
}

func (c *clusterOfNodes) pinOf(name string) string {
	c.t.Helper()
	for _, m := range c.status(name).Members {
		if m.Name == name {
			return m.Pin
		}
	}
	c.t.Fatalf("%s does not know its pin", name)
	return ""
}

// begin starts a member that may end by itself.
func (c *clusterOfNodes) begin(name string, flags ...string) *process {
	c.t.Helper()
	args := []string{"node", "--data-dir", c.dirs[name], "--cluster-addr", c.links[name]}
	return launch(c.t, slices.Concat(args, c.flags, flags)...)
}

// endsWith waits until a process has ended, and compares its exit code and output with the expected ones.
func endsWith(t *testing.T, p *process, code int, says ...string) {
	t.Helper()
	select {
	case <-p.Ended():
	case <-time.After(checkTime):
		t.Fatal("the node does not end")
	}
	var exit *exec.ExitError
	if err := p.Wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("the node ended with %v, want exit code %d", err, code)
	}
	printed := p.printed(t)
	for _, want := range says {
		if !strings.Contains(printed, want) {
			t.Errorf("the node printed\n%s\nwant %q in it", printed, want)
		}
	}
}

// readiness returns the status and the reason in a node's /ready, once the node answers.
func readiness(t *testing.T, admin string) (status int, reason string) {
	t.Helper()
	response, err := http.Get(admin + "/ready")
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	var told struct{ Reason string }
	if err := json.NewDecoder(response.Body).Decode(&told); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, told.Reason
}

// TestClusterForgivesMistakes starts directories with another key and another genesis. They end, and say what is wrong.
// A directory that was not added yet waits, and says so. The cluster continues.
func TestClusterForgivesMistakes(t *testing.T) {
	t.Parallel()
	c := newClusterOfNodes(t, newLoad(1), "--block-time", "200ms", "--prove", "off")
	c.leader("a")
	add := func(name, pin string, more ...string) []string {
		words := []string{"cluster", "add", name, "--address", c.links[name], "--pin", pin}
		return append(append(words, more...), c.nodes["a"].AdminFlags()...)
	}
	stray := keyOf("another producer").Bytes()
	other := maps.Clone(c.files)
	other["protocol.key"] = []byte(hex.EncodeToString(stray[:]) + "\n")
	found := types.PublicKey(keyOf("another producer").PublicKey()).String()
	pin := c.prepare("d", "a", other)

	refused := newUser(t).run(add("d", pin, "--producer", found)...)
	if refused.code == exitDone || !strings.Contains(refused.String(), found) {
		t.Errorf("a member with another key is added: got %s", refused)
	}
	admin := freeAddress(t)
	waiting := &process{log: filepath.Join(t.TempDir(), "log")}
	started, err := program.Start(program.Command{
		Args: slices.Concat([]string{buildBinary(t), "node", "--data-dir", c.dirs["d"], "--cluster-addr", c.links["d"],
			"--rpc-addr", "127.0.0.1:0", "--admin-addr", admin}, c.flags),
		Env: environment(), Log: waiting.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(started.Kill)
	waiting.Node = &program.Node{Process: started}
	c.await("who was not added says so", func() bool {
		code, reason := readiness(t, "http://"+admin)
		return code == http.StatusServiceUnavailable && strings.Contains(reason, "not added yet")
	})
	for _, path := range []string{"/health", "/metrics"} {
		response, err := http.Get("http://" + admin + path)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("%s of a node that waits: %s", path, response.Status)
		}
	}
	newUser(t).succeeds(nil, add("d", pin)...)
	endsWith(t, waiting, 2, found, "--no-key")

	genesis := filepath.Join(t.TempDir(), "other")
	newUser(t).succeeds(nil, "init", genesis, "--block-time", "200ms", "--alloc", found+"=1")
	foreign := maps.Clone(c.files)
	content, err := os.ReadFile(filepath.Join(genesis, "genesis.json"))
	if err != nil {
		t.Fatal(err)
	}
	foreign["genesis.json"] = content
	newUser(t).succeeds(nil, append([]string{"cluster", "remove", "d"}, c.nodes["a"].AdminFlags()...)...)
	newUser(t).succeeds(nil, add("e", c.prepare("e", "a", foreign))...)
	endsWith(t, c.begin("e"), 1, "another chain", c.genesis("a"), "cairn cluster join")
	c.awaitHeight(c.nodes["a"], types.Height(c.status("a").Height)+2)
}

// genesis returns the hash of a member's block 0.
func (c *clusterOfNodes) genesis(name string) string {
	c.t.Helper()
	block, err := c.clientOf(c.nodes[name]).BlockByNumber(c.t.Context(), api.AtHeight(0), false)
	if err != nil {
		c.t.Fatal(err)
	}
	return block.Hash.String()
}

// TestClusterTellsTheTruth takes a cluster through a transfer of leadership, a frozen leader, a removal, and a recovery
// from one disk. Its log, its status, its metrics and the last messages of its members say what happened.
func TestClusterTellsTheTruth(t *testing.T) { // not in parallel: on a busy machine leadership may change
	c := newClusterOfNodes(t, newLoad(1), "--block-time", "200ms", "--prove", "off", "--log-level", "info")
	if s := c.status("a"); s.Members[0].Starts != 1 {
		t.Errorf("a member that was started once says %d starts, want 1", s.Members[0].Starts)
	}
	c.join("b", "a")
	c.join("c", "a")
	first := c.leader("b")
	if shown := c.shownStatus(first); !strings.HasPrefix(shown, "3 of 3 voters reachable, quorum is 2: "+first+" is the leader") {
		t.Errorf("cairn cluster status begins with %q", shown)
	}
	newUser(t).succeeds(nil, append([]string{"cluster", "transfer"}, c.nodes[first].AdminFlags()...)...)
	frozen := c.leader(c.other(first))
	c.logged(first, "transferring leadership to "+frozen+": requested by the operator")
	for name := range c.nodes {
		c.logged(name, "leader elected: "+frozen+", term", first+" transferred leadership")
	}
	witness := c.other(frozen)
	before := len(c.nodes[witness].printed(t)) // it may have waited for the others when it joined
	if err := c.nodes[frozen].Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	c.await("another one leads", func() bool { l := c.status(witness).Leader; return l != "" && l != frozen })
	c.logged(witness, "leader elected: "+c.status(witness).Leader+", term", frozen+" was silent for ")
	c.loggedFrom(witness, before, frozen+" is unreachable")
	if err := c.nodes[frozen].Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.logged(witness, frozen+" is reachable again")
	c.logged(frozen, "this process was stalled for ")
	for _, line := range strings.Split(c.nodes[witness].printed(t), "\n") {
		if strings.Count(line, frozen+" is unreachable") > 0 && strings.Contains(line, "connection=") {
			t.Errorf("a line for each connection: %s", line)
		}
	}

	removed := c.other(c.leader(witness))
	newUser(t).succeeds(nil, append([]string{"cluster", "remove", removed}, c.nodes[c.leader(witness)].AdminFlags()...)...)
	endsWith(t, c.nodes[removed], 1, "this member was removed from the cluster at block ")
	delete(c.nodes, removed)
	endsWith(t, c.begin(removed), 2, "must not run again, as the other members have told this one", "removed from the cluster")

	c.join("d", c.other())
	kept := c.leader(c.other())
	for name, node := range maps.Clone(c.nodes) {
		if name == kept {
			continue
		}
		if err := node.Stop(); err != nil {
			t.Fatal(err)
		}
		delete(c.nodes, name)
	}
	c.await("the member that is left has no majority", func() bool {
		return strings.HasPrefix(c.status(kept).Verdict, "1 of 3 voters reachable, quorum is 2: no quorum")
	})
	height := c.status(kept).Height // of the cluster's last block
	if err := c.nodes[kept].Stop(); err != nil {
		t.Fatal(err)
	}
	newUser(t).succeeds(nil, "cluster", "recover", "--data-dir", c.dirs[kept], "--height", fmt.Sprint(height))
	c.start(kept)
	var haunting []string
	for name := range c.dirs {
		if name != kept && name != removed {
			haunting = append(haunting, name)
		}
	}
	for _, name := range haunting {
		endsWith(t, c.begin(name), 1, "this cluster was recovered at block ", "without you: this disk must not run")
		endsWith(t, c.begin(name), 2, "must not run again, as the other members have told this one")
	}
	metrics, err := c.nodes[kept].Metrics(t.Context(), "cairn_key_used_elsewhere")
	if err != nil || metrics["cairn_key_used_elsewhere"] != 1 {
		t.Errorf("the recovered member says %v, %v, and other disks ran with its key", metrics, err)
	}
	c.awaitHeight(c.nodes[kept], types.Height(c.status(kept).Height)+2)
}

// TestClusterRotatesItsKey follows the section of docs/cluster.md. The rotation delays no block.
func TestClusterRotatesItsKey(t *testing.T) { // not in parallel: on a busy machine leadership may change
	l := newLoad(1)
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off")
	c.join("b", "a")
	c.join("c", "a")
	key := keyOf("the next producer").Bytes()
	next := types.PublicKey(keyOf("the next producer").PublicKey())
	file := filepath.Join(t.TempDir(), "next.key")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.roll("--next-protocol-key", file)
	admin := filepath.Join(c.dirs["a"], "admin.key")
	before := c.clientOf(c.nodes["b"])
	newUser(t).of(c.nodes["b"]).succeeds(nil, "configure", "--producer", next.String(), "--admin-key", admin)
	from, err := before.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name := range c.dirs {
		if err := os.WriteFile(filepath.Join(c.dirs[name], "protocol.key"), []byte(hex.EncodeToString(key[:])+"\n"),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.roll()
	node := c.clientOf(c.nodes["a"])
	c.awaitHeight(c.nodes["a"], from+10)
	for h := from; h < from+10; h++ {
		two := [2]uint64{}
		for i := range two {
			block, err := node.BlockByNumber(t.Context(), api.AtHeight(h+types.Height(i)), false)
			if err != nil {
				t.Fatal(err)
			}
			two[i] = uint64(block.Timestamp)
			if h > from+1 && block.Producer != next {
				t.Errorf("block %d is by %s, want %s", h, block.Producer, next)
			}
		}
		if gap := two[1] - two[0]; gap > 2 {
			t.Errorf("there is no block for %d s after block %d, at most 2 s are allowed", gap, h)
		}
	}
}

// roll restarts all members, the leader last, with additional flags.
func (c *clusterOfNodes) roll(flags ...string) {
	c.t.Helper()
	rolled := make(map[string]bool)
	for len(rolled) < len(c.nodes) {
		name, leader := "", c.leader(c.other())
		for n := range c.nodes {
			if !rolled[n] && (name == "" || name == leader) {
				name = n
			}
		}
		if err := c.nodes[name].Stop(); err != nil {
			c.t.Fatal(err)
		}
		c.nodes[name] = c.begin(name, flags...)
		if err := c.nodes[name].awaitReady(); err != nil {
			c.t.Fatal(err)
		}
		rolled[name] = true
		c.await(name+" follows", func() bool {
			code, _ := readiness(c.t, c.nodes[name].Admin)
			return code == http.StatusOK
		})
	}
}

// logged waits until a member's log has a line with all of some words.
func (c *clusterOfNodes) logged(name string, words ...string) {
	c.t.Helper()
	c.loggedFrom(name, 0, words...)
}

// loggedFrom is logged for the log after a byte offset.
func (c *clusterOfNodes) loggedFrom(name string, from int, words ...string) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), checkTime)
	defer cancel()
	for {
		for _, line := range strings.Split(c.nodes[name].printed(c.t)[from:], "\n") {
			has := true
			for _, w := range words {
				has = has && strings.Contains(line, w)
			}
			if has {
				return
			}
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			c.t.Errorf("the log of %s has no line with %q", name, words)
			return
		}
	}
}

// shownStatus is a member's part of the output of `cairn cluster status`.
func (c *clusterOfNodes) shownStatus(name string) string {
	return newUser(c.t).run("cluster", "status", "--admin", c.nodes[name].Admin).stdout
}
