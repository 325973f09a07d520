package e2e

import (
	"context"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// made returns the number of proofs that each running member has made.
func (c *clusterOfNodes) made() map[string]float64 {
	c.t.Helper()
	made := make(map[string]float64)
	for name, node := range c.nodes {
		metrics, err := node.Metrics(c.t.Context(), "cairn_proofs_made_total")
		if err != nil {
			c.t.Fatal(err)
		}
		made[name] = metrics["cairn_proofs_made_total"]
	}
	return made
}

// awaitProofs waits until each running member serves the proofs of some blocks, and returns the number that each has
// made by then.
func (c *clusterOfNodes) awaitProofs(from, to types.Height) map[string]float64 {
	c.t.Helper()
	for name, node := range c.nodes {
		asked := c.clientOf(node)
		for h := from; h <= to; h++ {
			c.await(name+" has the proof of a block", func() bool {
				_, err := asked.Proof(c.t.Context(), api.AtHeight(h))
				return err == nil
			})
		}
	}
	return c.made()
}

// TestClusterSharesProofs: three members with a prover each share the work. Each proof is made once, by a member that
// does not lead, and all members serve it. If one member is killed, the other proves its blocks.
func TestClusterSharesProofs(t *testing.T) { // not in parallel: on a busy machine leadership may change
	l := newLoad(1)
	c := newClusterOfNodes(t, l, "--block-time", "2s", "--proof-bits", "100")
	info, err := c.clientOf(c.nodes["a"]).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.chainID = info.ChainID
	c.join("b", "a")
	c.join("c", "a")
	leader := c.leader("a")
	c.await("followers prove", func() bool {
		made := c.made()
		return made["a"]+made["b"]+made["c"] > made[leader]
	})
	began, first := c.made(), types.Height(c.status(leader).Height)+1
	loading, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, 1)
	go func() { sent <- l.run(loading, c.nodes[leader].RPC) }()
	c.await("blocks are made under load", func() bool { return c.status(leader).Height > uint64(first)+2 })
	last := types.Height(c.status(leader).Height)
	ended := c.awaitProofs(first, last)
	stop()
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	if c.leader(leader) != leader {
		t.Fatal("another member leads")
	}
	if ended[leader] > began[leader]+1 { // it may have started a proof before the others asked
		t.Errorf("the leader made proofs: %v before, %v after", began, ended)
	}
	c.checkMadeOnce("b")

	killed := c.other(leader)
	c.kill(killed)
	first = types.Height(c.status(leader).Height)
	c.await("blocks are made after the end of a prover", func() bool { return c.status(leader).Height > uint64(first)+2 })
	c.awaitProofs(last+1, types.Height(c.status(leader).Height))
	t.Logf("%s led, %s was killed, proofs made: %v", leader, killed, c.made())
}

// checkMadeOnce compares the number of proofs that all members made with the number of proven blocks. It asks a member
// that was there all the time, while no proof is on its way.
func (c *clusterOfNodes) checkMadeOnce(member string) {
	c.t.Helper()
	proofs := func() (count float64) {
		metrics, err := c.nodes[member].Metrics(c.t.Context(), "cairn_proofs_total")
		if err != nil {
			c.t.Fatal(err)
		}
		return metrics["cairn_proofs_total"]
	}
	var made, here float64
	defer func() { c.t.Logf("%v proofs were made, of %v blocks", made, here) }()
	c.await("no proof is on its way", func() bool {
		here, made = proofs(), 0
		for _, count := range c.made() {
			made += count
		}
		return made == here && proofs() == here
	})
}
