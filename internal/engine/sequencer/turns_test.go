package sequencer

import (
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// A call that ran long and then exceeded the block's limit of loaded code is retried only at its turn, which comes. One
// that ran briefly is retried at once.
func TestWhoRanInVainWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		took  time.Duration
		again bool
	}{"long": {2 * paceTime, false}, "shortly": {paceTime / 2, true}} {
		f, _, calls := withFakes(t, time.Second, 1)
		call := f.send(others[0], 0, 9, calls[0])
		f.send(others[1], 0, 8, payment)
		batch := f.newBatch(f.best(), f.BlockTime())
		tx := batch.Next()
		f.clock.now = f.clock.now.Add(c.took)
		batch.Tried(tx, types.Receipt{}, exec.ErrLoadFull)
		tried := map[types.TxID]bool{}
		later := f.newBatch(f.pool.Best(f.ledger.Tip().Env.BaseFee), f.BlockTime())
		for next := later.Next(); next != nil; next = later.Next() {
			tried[next.ID()] = true
		}
		if len(tried) == 0 || tried[call] != c.again {
			t.Errorf("%s: tried before its turn: got %v", name, tried[call])
		}
		if first := f.newBatch(f.best(), f.BlockTime()).Next(); first.ID() != call {
			t.Errorf("%s: %s is tried first, want %s", name, first.ID(), call)
		}
	}
}
