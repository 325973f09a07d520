package mempool

import (
	"container/heap"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// Best goes through the transactions that were executable when it was made and can pay its base fee. The highest tip
// comes first, the earlier arrival among equals, each sender's in the order of nonces. It holds no lock and does not
// see later changes of the pool. It is for one goroutine.
type Best struct {
	baseFee types.Amount
	cursors cursors // a heap; once Next was called, its top is what Next returned
	started bool
	later   [Rounds - 1][]cursor // see [Best.Later]
	round   int
}

// cursor is what is left of a sender's run.
type cursor struct {
	run []*entry
	tip int64 // of run[0]
}

// Best returns the executable transactions at a base fee. It copies one slice header a sender under the lock.
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

// Prefer puts transactions, nil for none, in their order before all others, each if it is the first of its sender's
// that is executable and pays the base fee. It is called before Next.
func (b *Best) Prefer(txs ...*types.VerifiedTx) {
	for i := range b.cursors {
		if place := slices.Index(txs, b.cursors[i].run[0].tx); place >= 0 {
			b.cursors[i].tip = math.MaxInt64 - int64(place)
		}
	}
	heap.Init(&b.cursors)
}

// Next returns the next transaction, nil when there is none. Its sender's following one comes when its turn is.
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

// Rounds is how many rounds there are; see [Best.Later].
const Rounds = 4

// Round says which senders Next goes through: 0 at first, then those that Later put off to round 1, and so on.
func (b *Best) Round() int { return b.round }

// Later puts off the rest of the sender whose transaction Next returned last, that one included, to a later round than
// the present, under [Rounds].
func (b *Best) Later(round int) {
	if b.started && len(b.cursors) > 0 && round > b.round {
		b.later[round-1] = append(b.later[round-1], b.cursors[0])
		b.SkipSender()
	}
}

// SkipSender leaves out the rest of the sender whose transaction Next returned last: the builder could not include
// it, so none with a later nonce can be.
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
