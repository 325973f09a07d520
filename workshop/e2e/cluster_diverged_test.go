package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/badmemory"
)

// TestClusterMemberDiverges changes a balance in the database of a stopped member, as a machine with bad memory would.
// The member derives another block than the others, halts, says so and keeps the evidence; the others continue.
func TestClusterMemberDiverges(t *testing.T) {
	t.Parallel()
	l := newLoad(16)
	c := newClusterOfNodes(t, l, "--block-time", "200ms", "--prove", "off")
	info, err := c.clientOf(c.nodes["a"]).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.chainID = info.ChainID
	c.join("b", "a")
	c.join("c", "a")
	bad := c.other(c.leader("a"))
	if err := c.nodes[bad].Stop(); err != nil {
		t.Fatal(err)
	}
	delete(c.nodes, bad)
	good := c.leader(c.other())
	if err := badmemory.Balance(c.dirs[bad], l.senders[0].account, 1); err != nil {
		t.Fatal(err)
	}
	c.start(bad)
	asked := c.clientOf(c.nodes[good])
	m, err := newModel(t.Context(), asked)
	if err != nil {
		t.Fatal(err)
	}
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent, following := make(chan error, 1), make(chan error, 1)
	go func() { sent <- l.run(loading, c.nodes[good].RPC) }()
	go func() { following <- l.settleWhile(loading, m, asked) }()
	c.await("who has another balance halts", func() bool { return c.status(bad).State == "halted" })
	height := types.Height(c.status(good).Height)
	before := l.acknowledged()
	c.awaitHeight(c.nodes[good], height+5)
	c.await("the others take transactions", func() bool { return l.acknowledged() > before+100 })
	stop()
	if err := errors.Join(<-sent, <-following); err != nil {
		t.Fatal(err)
	}

	shown := newUser(t).run("cluster", "status", "--admin", c.nodes[bad].Admin).String()
	if !strings.Contains(shown, "halted: ") || !strings.Contains(shown, ": entry ") || !strings.Contains(shown, "not valid") {
		t.Errorf("cairn cluster status of the member says %s", shown)
	}
	content, err := os.ReadFile(filepath.Join(c.dirs[bad], "halted.json"))
	if err != nil {
		t.Fatal(err)
	}
	var evidence struct {
		Reason  string
		Height  types.Height
		Headers []struct{ Hash types.BlockHash }
		Derived struct{ Hash types.BlockHash }
		Block   types.Hex
		Writes  []struct{ Key, Before, After types.Hex }
	}
	if err := json.Unmarshal(content, &evidence); err != nil {
		t.Fatal(err)
	}
	decided, err := asked.BlockByNumber(t.Context(), api.AtHeight(evidence.Height), false)
	if err != nil {
		t.Fatal(err)
	}
	if evidence.Reason != "diverged" || len(evidence.Headers) != 1 || evidence.Headers[0].Hash != decided.Hash ||
		evidence.Derived.Hash == decided.Hash || len(evidence.Block) == 0 || len(evidence.Writes) == 0 {
		t.Errorf("the evidence is %s, and %s was decided", content, decided.Hash)
	}
}
