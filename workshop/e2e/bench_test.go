package e2e

import (
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/kit/loadgen"
)

// TestBench lets the load generator send a small load of each kind, and compares its report with the chain.
func TestBench(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "250ms")
	u := newUser(t).of(node)
	small := []string{"bench", "--senders", "8", "--connections", "4"}
	for _, test := range []struct {
		name             string
		args             []string
		calls, transfers int64
		requests         int64
		preparing        int64 // maximum number of transactions before the load
	}{
		{"transfers singly", []string{"--per-sender", "25"}, 200, 200, 200, 8},
		{
			"transfers in batches, of a funded account", []string{"--per-sender", "25", "--batch", "10", "--from", "dev0"},
			200, 200, 20, 8,
		},
		{"of a token", []string{"--load", "tokens", "--per-sender", "5", "--batch", "10"}, 40, 40, 4, 18},
		{"mixed, at a fixed rate", []string{"--load", "mixed", "--per-sender", "5", "--rate", "1000"}, 400, 40, 400, 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := includedOn(t, node)
			var r loadgen.Report
			u.in(t).succeeds(&r, append(small, test.args...)...)
			if r.Calls != test.calls || r.Requests != test.requests || len(r.Errors) != 0 || r.Interrupted {
				t.Errorf("report %+v", r)
			}
			if i := r.Inclusion; i == nil || i.Accepted != test.transfers || i.Included != test.transfers || i.Blocks < 1 {
				t.Errorf("inclusion %+v", i)
			}
			// The senders' funding is included in addition to their transfers, and a token's deploy and distribution.
			if got := includedOn(t, node) - before; got < test.transfers || got > test.transfers+test.preparing {
				t.Errorf("the chain has %d transactions more, %d were sent", got, test.transfers)
			}
		})
	}
	var reads loadgen.Report
	u.succeeds(&reads, "bench", "--load", "reads", "--senders", "8", "--duration", "300ms", "--batch", "10")
	if reads.Calls == 0 || reads.Calls != 10*reads.Requests || len(reads.Errors) != 0 || reads.Inclusion != nil {
		t.Errorf("report %+v", reads)
	}
	var views loadgen.Report
	u.succeeds(&views, "bench", "--load", "views", "--senders", "8", "--duration", "300ms")
	if views.Calls == 0 || views.Calls != views.Requests || len(views.Errors) != 0 || views.Inclusion != nil {
		t.Errorf("report %+v", views)
	}
	u.fails(exitUsage, "bench", "--load", "writes")
	u.fails(exitUsage, "bench", "--batch", "0")
}

// includedOn counts the transactions in a node's chain.
func includedOn(t *testing.T, node *process) (count int64) {
	t.Helper()
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	head, err := c.BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for height := range head + 1 {
		block, err := c.BlockByNumber(t.Context(), api.AtHeight(height), false)
		if err != nil {
			t.Fatal(err)
		}
		count += int64(block.TxCount)
	}
	return count
}
