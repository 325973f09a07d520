package mempool

import (
	"container/heap"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Best iterates over the transactions that were executable when it was created and can pay its base fee. They are
// ordered by descending tip, then by arrival, and each sender's by nonce. A Best holds no lock, and does not see later
// changes of the pool. It is not safe for concurrent use.
type Best struct {
	baseFee types.Amount
	cursors cursors // a heap; after a call of Next, its top is the returned transaction
	started bool
	later   [Rounds - 1][]cursor // see [Best.Later]
	round   int
}

// cursor is the rest of a sender's run.
type cursor struct {
	run []*entry
	tip int64 // tip of run[0]
}

// Best returns the executable transactions at a base fee. Under the lock it copies one slice header per sender.
func (p *Pool) Best(baseFee types.Amount) *Best {
	p.mu.Lock()
	runs := slices.Clone(p.index.executable)
	p.mu.Unlock()
	b := &Best{baseFee: baseFee, cursors: make(cursors, 0, len(runs))}
	for _, run := range runs {
		if tip := run[0].fees().tip(baseFee); tip >= 0 {
			b.cursors = append(b.cursors, cursor{run, tip})
		}
	}
	heap.Init(&b.cursors)
	return b
}

// Prefer moves transactions to the front, in the given order. It affects only those that are the first executable one
// of their sender and pay the base fee. Elements may be nil. It must be called before Next.
func (b *Best) Prefer(txs ...*types.VerifiedTx) {
	for i := range b.cursors {
		if place := slices.Index(txs, b.cursors[i].run[0].tx); place >= 0 {
			b.cursors[i].tip = math.MaxInt64 - int64(place)
		}
	}
	heap.Init(&b.cursors)
}

// Next returns the next transaction, or nil at the end.
func (b *Best) Next() *types.VerifiedTx {
	if b.started && len(b.cursors) > 0 {
		b.advance()
	}
	b.started = true
	for len(b.cursors) == 0 {
		if b.round == len(b.later) {
			return nil
		}
		b.cursors = b.later[b.round]
		heap.Init(&b.cursors)
		b.round++
	}
	return b.cursors[0].run[0].tx
}

// Rounds is the number of rounds; see [Best.Later].
const Rounds = 4

// Round returns the current round: 0 at first, then 1 for the senders that Later deferred to round 1, and so on.
func (b *Best) Round() int { return b.round }

// Later defers the remaining transactions of the current sender, including the one that Next returned last, to a round
// after the current one and below [Rounds].
func (b *Best) Later(round int) {
	if b.started && len(b.cursors) > 0 && round > b.round {
		b.later[round-1] = append(b.later[round-1], b.cursors[0])
		b.SkipSender()
	}
}

// SkipSender drops the remaining transactions of the current sender: the builder could not include the one that Next
// returned last, so it cannot include any with a later nonce.
func (b *Best) SkipSender() {
	if b.started && len(b.cursors) > 0 {
		heap.Pop(&b.cursors)
		b.started = false
	}
}

func (b *Best) advance() {
	top := &b.cursors[0]
	if top.run = top.run[1:]; len(top.run) > 0 {
		if top.tip = top.run[0].fees().tip(b.baseFee); top.tip >= 0 {
			heap.Fix(&b.cursors, 0)
			return
		}
	}
	heap.Pop(&b.cursors)
}

// cursors implements heap.Interface.
type cursors []cursor

func (c cursors) Len() int      { return len(c) }
func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c cursors) Less(i, j int) bool {
	if c[i].tip != c[j].tip {
		return c[i].tip > c[j].tip
	}
	return c[i].run[0].sequence < c[j].run[0].sequence
}

func (c *cursors) Push(x any) { *c = append(*c, x.(cursor)) }

func (c *cursors) Pop() any {
	last := len(*c) - 1
	x := (*c)[last]
	(*c)[last] = cursor{}
	*c = (*c)[:last]
	return x
}
