package mempool

import (
	"container/list"
	"math"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/fees"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// entry is a transaction in the pool. tx, sender, nonce, the amounts, payer, claims and sequence are immutable once a
// [Best] may see the entry; the pool's lock guards the rest.
type entry struct {
	tx       *types.VerifiedTx
	sender   *sender
	nonce    uint64
	cost     types.Amount // most that it takes from the sender
	fee      types.Amount // most that it takes from the payer; 0 without one
	payer    *sender      // nil without one
	claims   exec.Claims
	sequence uint64 // order of arrival
	added    time.Time
	arrival  *list.Element
	due      int // index in index.deadlines; −1 if it has no end

	held bool
	gone bool          // removed from the pool, and about to leave its sender's lists
	left chan struct{} // closed on removal; nil if nobody waits for it
	// floor is the lowest fees of the run up to here, or a held entry's own: a builder reaches it at no better ones.
	floor feeCaps
}

func (e *entry) size() int { return len(e.tx.Encoded()) }

func (e *entry) fees() feeCaps { return capsOf(e.tx.Signed()) }

func (e *entry) pending() Pending { return Pending{Tx: e.tx, Added: e.added, Executable: !e.held} }

// feeCaps holds a transaction's fees per gas.
type feeCaps struct{ maxFee, maxPriority types.Amount }

func capsOf(tx *types.SignedTransaction) feeCaps {
	return feeCaps{tx.MaxFeePerGas, tx.MaxPriorityFeePerGas}
}

func (f feeCaps) min(g feeCaps) feeCaps {
	return feeCaps{min(f.maxFee, g.maxFee), min(f.maxPriority, g.maxPriority)}
}

// tip returns the fee recipient's part of the gas price, min(max_priority_fee, max_fee − base_fee) (EIP-1559's
// effective priority fee). It is negative if the max fee is below the base fee. It fits: gas limit × max fee fits 64
// bits, and a gas limit is at least the intrinsic gas, so a max fee has fewer than 63 bits.
func (f feeCaps) tip(baseFee types.Amount) int64 {
	if f.maxFee < baseFee {
		return -int64(baseFee - f.maxFee)
	}
	return int64(fees.Price(baseFee, f.maxFee, f.maxPriority) - baseFee)
}

// sender is an account with pending transactions, which it sends or pays for.
type sender struct {
	account types.Account
	state   state.Account // at the head

	// run holds the executable transactions: consecutive nonces from the account's, payable together. Snapshots share
	// its elements, so elements are never overwritten: the slice is cut at either end, appended to, or copied.
	run   []*entry
	spent types.Amount // Σ cost of run, at most the balance
	held  []*entry     // the others, ascending by nonce

	// The transactions for which the account is named as payer. Its own transactions may spend only what is not
	// reserved for these; see [sender.free]. Otherwise one transaction that spends everything could make many others,
	// whose signatures were verified, impossible.
	reserved types.Amount // Σ of their fee caps
	payCount int
	payList  []*entry // in order of arrival; may contain entries that have left

	freed bool // in Pool.freed

	rules    uint64 // value of revalidation.rules when it was last validated; behind it while it waits to be revalidated
	runIndex int    // index in index.executable; −1 while run is empty; undefined until it is revalidated
	// For the eviction order: the index in each heap, −1 if not in it, the number of planned evictions from the end of
	// each part, and whether it is in noted.
	orderIndex [heaps]int
	planned    [parts]int
	noted      bool
}

func newSender(a types.Account, account state.Account) *sender {
	s := &sender{account: a, state: account, runIndex: -1}
	for i := range s.orderIndex {
		s.orderIndex[i] = -1
	}
	return s
}

// next returns the nonce after the run.
func (s *sender) next() uint64 { return s.state.Nonce + uint64(len(s.run)) }

// findHeld returns the index of a nonce in held, or the index at which to insert it.
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

// runFloor returns the floor of an entry with fees own at index n of the run.
func (s *sender) runFloor(n int, own feeCaps) feeCaps {
	if n == 0 {
		return own
	}
	return own.min(s.run[n-1].floor)
}

// checkPayable is exec.CheckFunds for a sender with the balance left. The payer's part is reserved; see [payments].
func checkPayable(s *sender, left types.Amount, tx *types.SignedTransaction) error {
	entry := s.state.Exists() || tx.Nonce > s.state.Nonce // the first transaction makes it
	return exec.CheckFunds(exec.Funds{Entry: entry, Balance: left, Payer: math.MaxUint64}, tx)
}

// settle updates run and held after a change of the sender's account or a removal of entries. It drops transactions
// that can never be included, cuts the run at a gap or if it is no longer payable, and extends it from held.
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
		if e.gone || e.nonce != nonce || checkPayable(s, minus(s.free(), spent), e.tx.Signed()) != nil {
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
		s.run = slices.Clip(rest) // appending must not overwrite a snapshot's elements
	case first > len(rest):
		s.run = slices.Clone(rest) // releases the entries in front
	default:
		s.run = rest
	}
	for i, e := range s.run {
		e.floor = s.runFloor(i, e.fees())
	}
	p.promote(s)
	for len(s.held) > p.opts.HeldPerSender && !p.ahead {
		last := len(s.held) - 1
		p.forget(s.held[last], Fate{Cause: NoRoom})
		s.held = s.held[:last]
	}
	p.publish(s)
}

// dropImpossible forgets the entries whose nonce is used or beyond the window. A run is long and in order, and most of
// it stays, so only its ends are examined.
func (p *Pool) dropImpossible(s *sender) {
	for _, part := range [][]*entry{s.run, s.held} {
		first := 0
		for ; first < len(part) && part[first].nonce < s.state.Nonce; first++ {
			p.forget(part[first], Fate{}) // it or another one with its nonce is in a block
		}
		if p.ahead {
			continue
		}
		for last := len(part) - 1; last >= first && part[last].nonce-s.state.Nonce >= p.opts.NonceWindow; last-- {
			p.forget(part[last], Fate{Cause: TooFar})
		}
	}
}

// extend appends an entry with the next nonce to the run.
func (p *Pool) extend(s *sender, e *entry) {
	e.floor = s.runFloor(len(s.run), e.fees())
	s.run = append(s.run, e)
	s.spent += e.cost
}

// promote moves held entries that continue the run to it.
func (p *Pool) promote(s *sender) {
	n := 0
	for ; n < len(s.held); n++ {
		e := s.held[n]
		if e.nonce != s.next() || checkPayable(s, s.room(), e.tx.Signed()) != nil {
			break
		}
		p.setHeld(e, false)
		p.extend(s, e)
	}
	s.held = slices.Delete(s.held, 0, n)
}

// publish updates index and order after a change of s.
func (p *Pool) publish(s *sender) {
	if s.rules == p.revalidation.rules { // else it stays unexecutable until it is revalidated
		p.index.publish(s)
	}
	p.index.keep(s)
	p.index.order.changed(s)
}

// remember adds a new entry. The caller updates its sender's lists.
func (p *Pool) remember(e *entry) {
	if last := p.index.arrivals.Back(); p.opts.replicated && last != nil && last.Value.(*entry).added.After(e.added) {
		p.index.mixed = true
	}
	p.index.enter(e)
	if e.payer != nil {
		e.payer.pay(e)
		p.index.keep(e.payer)
	}
	delete(p.fates.of, e.tx.ID())
	p.addUsage(e, 1)
}

// forget removes an entry, if it was not removed before. A fate without a cause means that a block has its nonce. Any
// other is recorded, and a member's journal will say that the transaction left. [Pool.settle] removes the entry from
// its sender's lists, and [Pool.promoteFreed] gives its payer the room.
func (p *Pool) forget(e *entry, fate Fate) {
	if e.gone {
		return
	}
	e.gone = true
	if fate.Cause != "" {
		p.fates.put(e.tx.ID(), fate)
		if p.opts.replicated && p.journal != nil {
			p.gone = append(p.gone, e.tx.ID())
		}
	}
	if e.left != nil {
		close(e.left)
	}
	p.revalidation.advance(e)
	p.index.leave(e)
	if e.payer != nil {
		e.payer.unpay(e)
		if !e.payer.freed {
			e.payer.freed = true
			p.freed = append(p.freed, e.payer)
		}
	}
	p.addUsage(e, -1)
}

func (p *Pool) setHeld(e *entry, held bool) {
	p.usage.add(e, -1)
	e.held = held
	if held {
		e.floor = e.fees()
	}
	p.usage.add(e, 1)
}
