package node

import (
	"context"
	"log/slog"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/types"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runDevelopment runs a development chain in a directory until the test ends or calls end.
func runDevelopment(t *testing.T, dir string) (n *Node, end func()) {
	t.Helper()
	development, err := datadir.NewDevelopment(api.DevelopmentMnemonic, 3)
	check(t, err)
	genesis := development.Genesis(1_700_000_000_000)
	d, err := datadir.Open(dir, datadir.Options{})
	check(t, err)
	n, err = New(d, Config{
		Chain: datadir.Chain{Genesis: &genesis},
		Role: role.Solo{Production: role.Production{
			Key: role.LocalKey(development.Producer), BlockTime: -1, Development: development,
		}},
		Serving: Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
		Log:     slog.New(slog.DiscardHandler),
	})
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return n, func() {
		t.Helper()
		stop()
		check(t, <-ended)
	}
}

// A transaction that dev_revert removed, included or not, does not return at the next start.
func TestRevertedTransactionsStayAwayAfterARestart(t *testing.T) {
	dir := t.TempDir()
	n, end := runDevelopment(t, dir)
	c, err := client.New(n.RPCURL(), client.WithRetry(0))
	check(t, err)
	dev := c.Dev()
	fund := func() {
		t.Helper()
		_, err := dev.Fund(t.Context(), types.Account{9}, types.CoinUnits)
		check(t, err)
	}
	snapshot, err := dev.Snapshot(t.Context())
	check(t, err)
	fund()
	_, err = dev.Mine(t.Context(), 1)
	check(t, err)
	fund() // waits for a block
	check(t, dev.Revert(t.Context(), snapshot))
	if count := n.role.Pool().Stats().Count; count != 0 {
		t.Errorf("%d transactions are pending, want 0", count)
	}
	c.Close()
	end()
	n, end = runDevelopment(t, dir)
	defer end()
	if count := n.role.Pool().Stats().Count; count != 0 {
		t.Errorf("%d transactions are pending after a start, want 0", count)
	}
	check(t, makerOf(n).Mine(t.Context(), 1))
	if head := n.store.Head().Header; head.Height != 1 || head.GasUsed != 0 {
		t.Errorf("block %d has used %d gas", head.Height, head.GasUsed)
	}
}
