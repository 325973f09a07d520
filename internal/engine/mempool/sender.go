package mempool

import (
	"container/list"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// entry is a transaction in the pool. tx, sender, nonce, cost and sequence do not change once it can be seen by a
// [Best]; the rest is the pool's, under its lock.
type entry struct {
	tx       *types.VerifiedTx
	sender   *sender
	nonce    uint64
	cost     types.Amount
	sequence uint64 // order of arrival
	added    time.Time
	arrival  *list.Element

	held bool
	gone bool          // out of the pool, and on its way out of its sender's lists
	left chan struct{} // closed when it is gone; nil unless somebody waits for that
	// floor is the least fees of the run up to here, a held entry's own: a builder comes to it at no better ones.
	floor feeCaps
}

func (e *entry) size() int { return len(e.tx.Encoded()) }

func (e *entry) fees() feeCaps { return capsOf(e.tx.Signed()) }

func (e *entry) pending() Pending { return Pending{Tx: e.tx, Added: e.added, Executable: !e.held} }

// feeCaps are a transaction's fees per gas.
type feeCaps struct{ maxFee, maxPriority types.Amount }

func capsOf(tx *types.SignedTransaction) feeCaps {
	return feeCaps{tx.MaxFeePerGas, tx.MaxPriorityFeePerGas}
}

func (f feeCaps) min(g feeCaps) feeCaps {
	return feeCaps{min(f.maxFee, g.maxFee), min(f.maxPriority, g.maxPriority)}
}

// tip is what of each gas unit's price goes to the fee recipient, min(max_priority_fee, max_fee − base_fee) (EIP-1559's
// effective priority fee). Below 0 it is what the max fee lacks of the base fee. It fits: gas limit × max fee fits 64
// bits and a gas limit is at least the intrinsic gas, so a max fee has less than 63.
func (f feeCaps) tip(baseFee types.Amount) int64 {
	if f.maxFee < baseFee {
		return -int64(baseFee - f.maxFee)
	}
	return int64(fees.Price(baseFee, f.maxFee, f.maxPriority) - baseFee)
}

// sender is an account with pending transactions.
type sender struct {
	account types.Account
	state   exec.Sender // at the head

	// run is what is executable: nonces from the account's on without a gap, together payable. Snapshots share its
	// elements, so that none is ever overwritten: it is cut at either end, appended to, or made anew.
	run   []*entry
	spent types.Amount // Σ cost of run, at most the balance
	held  []*entry     // the others, ascending by nonce

	rules    uint64 // as of which it was judged: those of the pool, unless it waits for that
	runIndex int    // in index.executable; −1 while run is empty; says nothing while the sender waits to be judged
	// In the eviction order: the place in each heap, −1 outside, and how many of the last of each part a plan would
	// evict.
	orderIndex [heaps]int
	planned    [parts]int
}

func newSender(a types.Account, account exec.Sender) *sender {
	s := &sender{account: a, state: account, runIndex: -1}
	for i := range s.orderIndex {
		s.orderIndex[i] = -1
	}
	return s
}

// next is the nonce after the run.
func (s *sender) next() uint64 { return s.state.Nonce + uint64(len(s.run)) }

// findHeld is the index in held of a nonce, or where it would be.
func (s *sender) findHeld(nonce uint64) (int, bool) {
	return slices.BinarySearchFunc(s.held, nonce, func(e *entry, n uint64) int {
		switch {
		case e.nonce < n:
			return -1
		case e.nonce > n:
			return 1
		default:
			return 0
		}
	})
}

// runFloor is the floor of the first n of the run.
func (s *sender) runFloor(n int, own feeCaps) feeCaps {
	if n == 0 {
		return own
	}
	return own.min(s.run[n-1].floor)
}

// checkPayable is exec.CheckAt for an account with tx's nonce and this balance left.
func (p *Pool) checkPayable(s *sender, left types.Amount, tx *types.SignedTransaction) error {
	account := state.Account{Balance: left, Nonce: tx.Nonce}
	return exec.CheckAt(p.head.Env, exec.Sender{Account: account, IsContract: s.state.IsContract}, tx)
}

// settle makes run and held follow from the sender's account and from which entries are gone. It drops what can never
// be included, cuts the run where it has a gap or is no longer payable, and extends it from the held.
func (p *Pool) settle(s *sender) {
	p.dropImpossible(s)
	first := 0
	for first < len(s.run) && s.run[first].gone {
		first++
	}
	last := first
	nonce, spent := s.state.Nonce, types.Amount(0)
	for ; last < len(s.run); last++ {
		e := s.run[last]
		if e.gone || e.nonce != nonce || p.checkPayable(s, s.state.Balance-spent, e.tx.Signed()) != nil {
			break
		}
		nonce, spent = nonce+1, spent+e.cost
	}
	held := make([]*entry, 0, len(s.run)-last+len(s.held))
	for _, e := range s.run[last:] {
		if !e.gone {
			p.setHeld(e, true)
			held = append(held, e)
		}
	}
	for _, e := range s.held {
		if !e.gone {
			held = append(held, e)
		}
	}
	s.held = held
	s.spent = spent
	switch rest := s.run[first:last]; {
	case last < len(s.run):
		s.run = slices.Clip(rest) // appending must not overwrite what a snapshot may share
	case first > len(rest):
		s.run = slices.Clone(rest) // lets go of those in front
	default:
		s.run = rest
	}
	for i, e := range s.run {
		e.floor = s.runFloor(i, e.fees())
	}
	p.promote(s)
	for len(s.held) > p.opts.HeldPerSender && !p.ahead() {
		last := len(s.held) - 1
		p.pushOut(s.held[last], Fate{Cause: NoRoom})
		s.held = s.held[:last]
	}
	p.publish(s)
}

// dropImpossible forgets the entries whose nonce was used or is beyond the window, or whose sender is a contract.
func (p *Pool) dropImpossible(s *sender) {
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			switch {
			case e.nonce < s.state.Nonce:
				p.forget(e, Fate{}) // a block has it, or another one of its nonce
			case s.state.IsContract:
				p.forget(e, Fate{Cause: NotAllowed})
			case e.nonce-s.state.Nonce >= p.opts.NonceWindow && !p.ahead():
				p.forget(e, Fate{Cause: TooFar})
			}
		}
	}
}

// extend appends an entry with the next nonce to the run.
func (p *Pool) extend(s *sender, e *entry) {
	e.floor = s.runFloor(len(s.run), e.fees())
	s.run = append(s.run, e)
	s.spent += e.cost
}

// promote moves held entries to the run while they continue it.
func (p *Pool) promote(s *sender) {
	n := 0
	for ; n < len(s.held); n++ {
		e := s.held[n]
		if e.nonce != s.next() || p.checkPayable(s, s.state.Balance-s.spent, e.tx.Signed()) != nil {
			break
		}
		p.setHeld(e, false)
		p.extend(s, e)
	}
	s.held = slices.Delete(s.held, 0, n)
}

// publish makes index and order follow a change of s.
func (p *Pool) publish(s *sender) {
	if s.rules == p.judging.rules { // else it is not executable before it is judged
		p.index.publish(s)
	}
	p.index.keep(s)
	p.index.order.update(s)
}

// remember enters a new entry; its sender's lists are the caller's.
func (p *Pool) remember(e *entry) {
	if last := p.index.arrivals.Back(); p.opts.decided && last != nil && last.Value.(*entry).added.After(e.added) {
		p.index.mixed = true
	}
	p.index.enter(e)
	delete(p.fates.of, e.tx.ID())
	p.filling.add(e, 1)
}

// forget takes an entry out, once, and remembers its fate if it has a cause; [Pool.settle] takes it out of its sender's
// lists.
func (p *Pool) forget(e *entry, fate Fate) {
	if e.gone {
		return
	}
	e.gone = true
	if fate.Cause != "" {
		p.fates.put(e.tx.ID(), fate)
	}
	if e.left != nil {
		close(e.left)
	}
	p.judging.pass(e)
	p.index.leave(e)
	p.filling.add(e, -1)
}

func (p *Pool) setHeld(e *entry, held bool) {
	p.filling.usage.add(e, -1)
	e.held = held
	if held {
		e.floor = e.fees()
	}
	p.filling.usage.add(e, 1)
}
