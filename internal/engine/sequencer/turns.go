package sequencer

import (
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// maxTurns bounds how many wait for their turn.
const maxTurns = 65_536

// turns are the transactions that were left out, one of each sender. Those that want time come one a block; of those
// that want load, for the codes of their calls, as many come as certainly find it. What ran for long in vain is not
// tried before its turn. Else six calls that nobody pays could take most of every block: they run and then load a code
// when the block has no room.
type turns struct {
	time, load []*types.VerifiedTx
	there      map[types.Account]bool // senders of those that wait
	held       map[types.Account]bool // senders of those that are not to be tried before
}

// waitForTime puts a transaction at the end of those that want time, unless one of its sender waits already.
func (t *turns) waitForTime(tx *types.VerifiedTx) { t.wait(&t.time, tx) }

// waitForLoad is the same for those that want load. hold says that it is not to be tried before its turn.
func (t *turns) waitForLoad(tx *types.VerifiedTx, hold bool) {
	if t.wait(&t.load, tx) && hold {
		t.held[tx.Signed().Sender] = true
	}
}

// wait reports whether one of the sender waits now.
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

// next takes the first that is still pending of a queue, nil if there is none.
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

// forLoad is how many that want load have their turn in a block: as many as have three quarters of its load at most,
// whatever they load.
func forLoad(gasLimit types.Gas) int {
	return max(1, int(params.BlockLoad(gasLimit)*3/4/(params.LoadToStop+params.MostLoad)))
}

// holds reports whether a transaction's sender is not tried before its turn.
func (t *turns) holds(tx *types.VerifiedTx) bool { return t.held[tx.Signed().Sender] }
