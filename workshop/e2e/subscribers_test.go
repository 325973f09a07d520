package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/kit/loadgen"
	"github.com/cairn-chain/cairn/types"
)

// TestStalledSubscribers has 100 subscribers, of whom 10 stop reading while blocks are full of transfers. The others
// miss nothing. Those 10 are closed with the reason. Every transfer is in a block.
func TestStalledSubscribers(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "250ms", "--slow-reader-time", "5s")
	u := newUser(t).of(node)
	var r loadgen.Report
	u.succeeds(&r, "bench", "--load", "subscribers", "--subscribers", "100", "--stalled", "10", "--pending", "12",
		"--senders", "50", "--per-sender", "160", "--rate", "1500", "--batch", "10", "--metrics-url", node.Admin+"/metrics")
	const sent = 50 * 160
	a := r.Audience
	if a == nil || r.Inclusion == nil || a.Stalled == nil || a.Pending == nil || a.Node == nil {
		t.Fatalf("report %+v", r)
	}
	if r.Inclusion.Accepted != sent || r.Inclusion.Included != sent {
		t.Errorf("inclusion %+v", r.Inclusion)
	}
	if a.Subscribers != 100 || a.Blocks < 5 || a.Missed != 0 || a.Repeated != 0 || len(a.Lost) != 0 ||
		a.Notifications < 90*a.Blocks+2*sent {
		t.Errorf("audience %+v", a)
	}
	if a.Pending.Subscribers != 2 || a.Pending.Missed != 0 || a.Pending.Repeated != 0 {
		t.Errorf("pending transactions %+v", a.Pending)
	}
	if a.Stalled.Subscribers != 10 || a.Stalled.Open != 0 || len(a.Stalled.Closed) == 0 || a.Node.Dropped != 10 {
		t.Errorf("stalled %+v, dropped %v", a.Stalled, a.Node.Dropped)
	} else if c := a.Stalled.Closed[0]; c.Code != "1008" || !strings.HasPrefix(c.Example, "slow reader: ") {
		t.Errorf("closed with %+v", c)
	}

	slowly(t, node)
}

// slowly reads the chain's blocks with a client that stops reading until the node has dropped it, and then continues
// where it was.
func slowly(t *testing.T, node *process) {
	c := connect(t, node)
	ctx, cancel := context.WithTimeout(t.Context(), checkTime)
	defer cancel()
	head, err := c.BlockNumber(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dropped := metric(t, node, "cairn_push_dropped_total")
	next := types.Height(0)
	for block, err := range c.SubscribeBlocks(ctx, new(types.Height)) {
		if err != nil {
			t.Fatal(err)
		}
		if block.Height != next {
			t.Fatalf("block %d where %d was due", block.Height, next)
		}
		if next == 0 {
			await(t, "the node drops who does not read", func() bool {
				return metric(t, node, "cairn_push_dropped_total") > dropped
			})
		}
		if next++; block.Height == head {
			break
		}
	}
	if next != head+1 {
		t.Errorf("%d blocks came, of %d", next, head+1)
	}
}

// await returns when a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.After(checkTime)
	for !holds() {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-deadline:
			t.Fatalf("after %s it is still not so that %s", checkTime, what)
		}
	}
}

// metric returns a node's metric without labels.
func metric(t *testing.T, node *process, name string) float64 {
	t.Helper()
	values, err := node.Metrics(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return values[name]
}
