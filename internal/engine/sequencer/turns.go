package sequencer

import (
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// maxTurns bounds the number of transactions that wait for their turn.
const maxTurns = 65_536

// turns holds the transactions that were left out, one per sender. Each block retries one that needs time. It also
// retries those that need load, for the codes of their calls, as many as are certain to find it. A transaction that ran
// long in vain is not tried before its turn. Otherwise six calls that nobody pays for could take most of every block:
// they run, and then load a code when the block has no room.
type turns struct {
	time, load []*types.VerifiedTx
	there      map[types.Account]bool // senders of waiting transactions
	held       map[types.Account]bool // senders that must not be tried before their turn
}

// waitForTime appends a transaction to the queue for time, unless one of its sender already waits.
func (t *turns) waitForTime(tx *types.VerifiedTx) { t.wait(&t.time, tx) }

// waitForLoad appends a transaction to the queue for load likewise. hold keeps its sender from being tried before its
// turn.
func (t *turns) waitForLoad(tx *types.VerifiedTx, hold bool) {
	if t.wait(&t.load, tx) && hold {
		t.held[tx.Signed().Sender] = true
	}
}

// wait reports whether a transaction of the sender now waits.
func (t *turns) wait(queue *[]*types.VerifiedTx, tx *types.VerifiedTx) bool {
	sender := tx.Signed().Sender
	if t.there == nil {
		t.there, t.held = make(map[types.Account]bool), make(map[types.Account]bool)
	}
	if !t.there[sender] {
		if len(t.there) >= maxTurns {
			return false
		}
		*queue = append(*queue, tx)
		t.there[sender] = true
	}
	return true
}

// next removes transactions from a queue up to the first that is still pending, and returns that one, or nil if there
// is none.
func (t *turns) next(queue *[]*types.VerifiedTx, pending func(*types.VerifiedTx) bool) *types.VerifiedTx {
	for len(*queue) > 0 {
		tx := (*queue)[0]
		*queue = (*queue)[1:]
		delete(t.there, tx.Signed().Sender)
		delete(t.held, tx.Signed().Sender)
		if pending(tx) {
			return tx
		}
	}
	return nil
}

// forLoad returns how many transactions that need load get their turn in a block: as many as fit three quarters of the
// block's load even if each loads the maximum.
func forLoad(gasLimit types.Gas) int {
	return max(1, int(params.BlockLoad(gasLimit)*3/4/(params.LoadToStop+params.MostLoad)))
}

// holds reports whether a transaction's sender must wait for its turn.
func (t *turns) holds(tx *types.VerifiedTx) bool { return t.held[tx.Signed().Sender] }
