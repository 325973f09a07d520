package sequencer

import "github.com/cairn-chain/cairn/types"

// maxTurns bounds how many wait for their turn.
const maxTurns = 65_536

// turns are the transactions that were left out for want of time or room, one of each sender: one after the other comes
// first in a block. What ran for long in vain is not tried before its turn. Else six calls that nobody pays could take
// most of every block: they run and then load a code when the block has no room.
type turns struct {
	queue []*types.VerifiedTx
	there map[types.Account]*types.VerifiedTx // those of the queue by sender
	held  map[types.Account]bool              // senders of those that are not to be tried before
}

// wait puts a transaction at the end, unless one of its sender waits already.
func (t *turns) wait(tx *types.VerifiedTx, hold bool) {
	sender := tx.Signed().Sender
	if t.there == nil {
		t.there, t.held = make(map[types.Account]*types.VerifiedTx), make(map[types.Account]bool)
	}
	if t.there[sender] == nil {
		if len(t.queue) >= maxTurns {
			return
		}
		t.queue = append(t.queue, tx)
		t.there[sender] = tx
	}
	if hold {
		t.held[sender] = true
	}
}

// next takes the first that is still pending, nil if there is none.
func (t *turns) next(pending func(*types.VerifiedTx) bool) *types.VerifiedTx {
	for len(t.queue) > 0 {
		tx := t.queue[0]
		t.queue = t.queue[1:]
		delete(t.there, tx.Signed().Sender)
		delete(t.held, tx.Signed().Sender)
		if pending(tx) {
			return tx
		}
	}
	return nil
}

// holds reports whether a transaction's sender is not tried before its turn.
func (t *turns) holds(tx *types.VerifiedTx) bool { return t.held[tx.Signed().Sender] }
