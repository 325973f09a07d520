package sequencer

import (
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// maxTurns bounds the number of transactions that wait for their turn.
const maxTurns = 65_536

// turns holds skipped transactions, one for each account that pays a fee, because a payer can have any number of
// senders. Each block retries one that needs more time. Of those that need to load code, it retries as many as are
// certain to have room for it. A transaction that ran long in vain is not tried before its turn. Otherwise six calls
// that nobody pays for could take most of every block: each runs long, and then loads a code for which the block has no
// room.
type turns struct {
	time, load []*types.VerifiedTx
	there      map[types.Account]bool // accounts that pay for waiting transactions
	held       map[types.Account]bool // accounts whose transactions must not be tried before their turn
}

// payerOf returns the account that pays a transaction's fee.
func payerOf(tx *types.VerifiedTx) types.Account {
	if payer := tx.Signed().Payer; payer != nil {
		return *payer
	}
	return tx.Signed().Sender
}

// waitForTime appends a transaction to the queue for time, unless one of its payer already waits.
func (t *turns) waitForTime(tx *types.VerifiedTx) { t.wait(&t.time, tx) }

// waitForLoad appends a transaction to the queue for load likewise. hold keeps its payer's from being tried before
// its turn.
func (t *turns) waitForLoad(tx *types.VerifiedTx, hold bool) {
	if t.wait(&t.load, tx) && hold {
		t.held[payerOf(tx)] = true
	}
}

// wait reports whether a transaction of the payer now waits.
func (t *turns) wait(queue *[]*types.VerifiedTx, tx *types.VerifiedTx) bool {
	payer := payerOf(tx)
	if t.there == nil {
		t.there, t.held = make(map[types.Account]bool), make(map[types.Account]bool)
	}
	if !t.there[payer] {
		if len(t.there) >= maxTurns {
			return false
		}
		*queue = append(*queue, tx)
		t.there[payer] = true
	}
	return true
}

// next removes transactions from a queue up to the first that is still pending, and returns that one, or nil if there
// is none.
func (t *turns) next(queue *[]*types.VerifiedTx, pending func(*types.VerifiedTx) bool) *types.VerifiedTx {
	for len(*queue) > 0 {
		tx := (*queue)[0]
		*queue = (*queue)[1:]
		delete(t.there, payerOf(tx))
		delete(t.held, payerOf(tx))
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

// holds reports whether a transaction's payer must wait for its turn.
func (t *turns) holds(tx *types.VerifiedTx) bool { return t.held[payerOf(tx)] }
