package node

import (
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// A transaction that dev_revert took away, included or not, does not come back at the next start.
func TestRevertedTransactionsStayAwayAfterARestart(t *testing.T) {
	dir := t.TempDir()
	n, end := runDevelopment(t, dir)
	c, err := client.New(n.RPCURL())
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
	if count := n.pool.Stats().Count; count != 0 {
		t.Errorf("%d transactions are pending", count)
	}
	c.Close()
	end()
	n, end = runDevelopment(t, dir)
	defer end()
	if count := n.pool.Stats().Count; count != 0 {
		t.Errorf("%d transactions are pending after a start", count)
	}
	check(t, n.sequencer.Mine(t.Context(), 1))
	if head := n.store.Head().Header; head.Height != 1 || head.GasUsed != 0 {
		t.Errorf("block %d has used %d gas", head.Height, head.GasUsed)
	}
}
