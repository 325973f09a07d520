package e2e

import (
	"context"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// nextVersion is the version of the protocol that only the next program knows.
const nextVersion = 3

// buildNextVersion compiles the program with one additional version of the protocol.
var buildNextVersion = sync.OnceValues(func() (string, error) {
	return compile("cairn-upgraded", "-tags", "cairn_next")
})

// upgrade is a cluster of three under load with a replica. The next program is installed on some nodes.
type upgrade struct {
	*clusterOfNodes
	load    *load
	program string // path of the next program
	admin   string // file of the admin's key
}

// check asks all nodes whether they know the version, as an operator does, and returns those that do not.
func (u *upgrade) check() (unready []string) {
	u.t.Helper()
	names := u.names()
	args := []string{"--json", "upgrade", "check", "--version", "3"}
	for _, name := range names {
		args = append(args, u.nodes[name].RPC)
	}
	r := newUser(u.t).run(args...)
	var said struct{ Result []struct{ Ready bool } } // the answer may be followed by an error
	if err := json.NewDecoder(strings.NewReader(r.stdout)).Decode(&said); err != nil || len(said.Result) != len(names) {
		u.t.Fatalf("got %d nodes, %v, want %d: %s", len(said.Result), err, len(names), r)
	}
	for i, n := range said.Result {
		if !n.Ready {
			unready = append(unready, names[i])
		}
	}
	if want := map[bool]int{true: exitDone, false: exitFailed}[len(unready) == 0]; r.code != want {
		u.t.Errorf("got exit code %d, want %d: %s", r.code, want, r)
	}
	return unready
}

func (u *upgrade) names() (names []string) {
	for name := range u.nodes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// announce announces the next version, and returns the time from which it is in force.
func (u *upgrade) announce(ahead time.Duration) time.Time {
	u.t.Helper()
	at := time.Now().Add(ahead).Truncate(time.Second)
	newUser(u.t).of(u.nodes["a"]).succeeds(nil, "upgrade", "announce", "--version", "3", "--at", at.UTC().Format(time.RFC3339),
		"--admin-key", u.admin)
	return at
}

// install stops a node in order and starts it with the next program.
func (u *upgrade) install(name string) {
	u.t.Helper()
	if err := u.nodes[name].Stop(); err != nil {
		u.t.Fatal(err)
	}
	u.programs[name] = u.program
	if name == "replica" {
		u.follow()
		return
	}
	u.start(name)
}

// follow starts the replica, which follows b.
func (u *upgrade) follow() {
	u.t.Helper()
	program := u.programs["replica"]
	if program == "" {
		program = buildBinary(u.t)
	}
	node := launchProgram(u.t, program, "127.0.0.1:0", "node", "--mode", "replica", "--data-dir", u.dirs["replica"],
		"--genesis", filepath.Join(u.dirs["b"], "genesis.json"), "--upstream", u.nodes["b"].RPC, "--prove", "off")
	if err := node.awaitReady(); err != nil {
		u.t.Fatal(err)
	}
	u.nodes["replica"] = node
}

// awaitBlock waits until a node has a block with a timestamp at or after a time. It returns the first such block and
// its parent.
func (u *upgrade) awaitBlock(name string, from time.Time) (before, first *api.Block) {
	u.t.Helper()
	asked := u.clientOf(u.nodes[name])
	u.await(name+" has a block of "+from.String(), func() (is bool) {
		block, err := asked.BlockByNumber(u.t.Context(), api.BlockRef{}, false)
		if is = err == nil && block.TimestampMs >= uint64(from.UnixMilli()); is {
			first = block
		}
		return is
	})
	for {
		before, err := asked.BlockByNumber(u.t.Context(), api.AtHeight(first.Height-1), false)
		if err != nil {
			u.t.Fatal(err)
		}
		if before.TimestampMs < uint64(from.UnixMilli()) {
			return before, first
		}
		first = before
	}
}

// send has clients send to a member until the returned function is called.
func (u *upgrade) send(to string) (stop func()) {
	ctx, cancel := context.WithCancel(u.t.Context())
	sent := make(chan error, 1)
	url := u.nodes[to].RPC
	go func() { sent <- u.load.run(ctx, url) }()
	return func() {
		u.t.Helper()
		cancel()
		if err := <-sent; err != nil {
			u.t.Fatal(err)
		}
	}
}

// more waits until a member acknowledges and includes more transactions.
func (u *upgrade) more(name string) {
	u.t.Helper()
	u.checkIncluded(u.load, name)
	before := u.load.acknowledged()
	u.await(name+" takes transactions", func() bool { return u.load.acknowledged() > before+100 })
	u.checkIncluded(u.load, name)
}

// requireHalted waits until a node has stopped before the first block of the next version, and checks its messages.
func (u *upgrade) requireHalted(name string, before types.Height) {
	u.t.Helper()
	node := u.nodes[name]
	asked := u.clientOf(node)
	u.await(name+" has halted", func() bool {
		s, err := asked.SyncStatus(u.t.Context())
		return err == nil && s.State == api.StateHalted
	})
	s, err := asked.SyncStatus(u.t.Context())
	if err != nil || s.LocalHeight != before {
		u.t.Errorf("%s: got height %d, %v, want the last before the new version, %d", name, s.LocalHeight, err, before)
	}
	for _, says := range []string{
		"halted before the first block of version 3 of the protocol, which it does not know", "nothing is lost",
		"Install a newer program",
	} {
		if s.Reason == nil || !strings.Contains(*s.Reason, says) {
			u.t.Errorf("%s does not say %q: got %+v", name, says, s)
		}
		if log := node.printed(u.t); !strings.Contains(log, says) {
			u.t.Errorf("the log of %s does not say %q", name, says)
		}
	}
	if status, reason := readiness(u.t, node.Admin); status != http.StatusServiceUnavailable || !strings.Contains(reason, "version 3") {
		u.t.Errorf("%s: /ready is %d, %s, want 503 and the version", name, status, reason)
	}
	if _, err := asked.BlockByNumber(u.t.Context(), api.AtHeight(before), true); err != nil {
		u.t.Errorf("%s serves its last block no more: error %v", name, err)
	}
}

// TestUpgrade brings a version of the protocol into force on a cluster of three under load, after another announcement
// that is cancelled. A member and a replica whose program does not know the version stop before its first block, lose
// nothing, and continue with the next program.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	program, err := buildNextVersion()
	if err != nil {
		t.Fatal(err)
	}
	l := newLoad(64)
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off")
	c.programs = map[string]string{}
	u := &upgrade{clusterOfNodes: c, load: l, program: program, admin: filepath.Join(c.dirs["a"], "admin.key")}
	c.join("b", "a")
	c.join("c", "a")
	l.chainID = chainIDOf(t, c.clientOf(c.nodes["a"]))

	stop := u.send("c")
	cancelled := u.announce(15 * time.Second)
	if unready := u.check(); len(unready) != 3 {
		t.Errorf("%v do not know the version, want all three", unready)
	}
	newUser(t).of(c.nodes["b"]).succeeds(nil, "upgrade", "cancel", "--admin-key", u.admin)
	u.install("a")
	u.install("b")
	c.dirs["replica"] = filepath.Join(t.TempDir(), "replica")
	u.follow()
	if unready := u.check(); !slices.Equal(unready, []string{"c", "replica"}) {
		t.Errorf("%v do not know the version, want c and the replica", unready)
	}
	for name := range c.nodes {
		if _, b := u.awaitBlock(name, cancelled); b.Version != nextVersion-1 {
			t.Errorf("%s: block %d, from the time of the cancelled upgrade on, has version %d", name, b.Height, b.Version)
		}
	}
	u.more("c")
	stop()

	stop = u.send("b")
	from := u.announce(8 * time.Second)
	before, first := u.awaitBlock("a", from)
	if before.Version != nextVersion-1 || first.Version != nextVersion {
		t.Fatalf("from %v on: blocks %d and %d have versions %d and %d, want %d and %d", from, before.Height, first.Height,
			before.Version, first.Version, nextVersion-1, nextVersion)
	}
	u.more("b")
	for _, name := range []string{"c", "replica"} {
		u.requireHalted(name, before.Height)
		u.install(name)
	}
	u.more("b")
	if unready := u.check(); len(unready) > 0 {
		t.Errorf("%v do not know the version", unready)
	}
	stop()
	for name := range c.nodes {
		c.checkIncluded(l, name)
	}
	height := types.Height(c.status("a").Height)
	c.checkOneHeader(height)
	t.Logf("%d transactions acknowledged, version %d from block %d of %d on", l.acknowledged(), nextVersion, first.Height, height)
}
