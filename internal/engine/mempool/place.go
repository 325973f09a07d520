package mempool

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// candidate is a transaction on its way into the pool. Its first error stops it.
type candidate struct {
	tx         *types.Tx // nil if it is malformed
	cost       types.Amount
	parameters types.Parameters // in force when exec.CheckStatic was passed
	added      time.Time
	restored   bool              // by the journal: that the pool is nearly full was asked before
	verified   *types.VerifiedTx // tx, once it is
	err        error
}

func (c *candidate) signed() *types.SignedTransaction { return c.tx.Signed() }

func (c *candidate) size() int { return len(c.tx.Encoded()) }

// place is where a candidate goes.
type place struct {
	executable bool   // in the sender's run, else among its held
	replaced   *entry // what has its nonce now
}

// reserve is what earlier transactions take of a sender's balance: of the same batch, or of the run too.
type reserve struct {
	count uint64
	cost  types.Amount
}

// decode reads a candidate, which keeps encoded, and checks what needs no account.
func (c *candidate) decode(env exec.Env, encoded []byte, now time.Time) {
	c.added = now
	if c.tx, c.err = types.DecodeTx(encoded); c.err != nil {
		c.err = fmt.Errorf("%w: %w", ErrMalformed, c.err)
		return
	}
	c.err = c.checkStatic(env)
}

// checkStatic is exec.CheckStatic with the lowest base fee that the parameters allow: what cannot pay the present one
// may wait for it to fall.
func (c *candidate) checkStatic(env exec.Env) error {
	c.parameters = env.Parameters
	return checkStatic(env, c.signed())
}

func checkStatic(env exec.Env, tx *types.SignedTransaction) error {
	env.BaseFee = env.Parameters.MinBaseFee
	return exec.CheckStatic(env, tx)
}

// locate finds a candidate's place by the rules that ask the sender's account and transactions; room is not asked.
func (p *Pool) locate(s *sender, c *candidate, ahead reserve) (at place, err error) {
	if _, known := p.index.byID[c.tx.ID()]; known {
		return at, ErrKnown
	}
	if c.parameters != p.head.Env.Parameters {
		if err := c.checkStatic(p.head.Env); err != nil {
			return at, err
		}
	}
	signed := c.signed()
	nonce, next := signed.Nonce, s.next()
	if err := checkUsed(s, nonce); err != nil {
		return at, err
	}
	if nonce-s.state.Nonce >= p.opts.NonceWindow {
		return at, &AheadError{Nonce: nonce, Next: next, Limit: int(p.opts.NonceWindow)}
	}
	var before reserve
	switch i, found := s.findHeld(nonce); {
	case nonce < next:
		at = place{executable: true, replaced: s.run[nonce-s.state.Nonce]}
		before = reserve{uint64(len(s.run)) - 1, s.spent - at.replaced.cost}
	case nonce <= next+ahead.count:
		at.executable = true
		before = reserve{uint64(len(s.run)), s.spent}
		if nonce == next+ahead.count { // else it replaces one of its own batch, which only insert can judge
			before.count, before.cost = before.count+ahead.count, before.cost+ahead.cost
		}
		if found {
			at.replaced = s.held[i]
		}
	case found:
		at.replaced = s.held[i]
	case len(s.held) >= p.opts.HeldPerSender:
		return at, &AheadError{Nonce: nonce, Next: next, Limit: p.opts.HeldPerSender, Held: true}
	}
	if err := p.checkPayable(s, s.state.Balance-before.cost, signed); err != nil {
		return at, explained(err, s.state.Balance, before, signed)
	}
	if at.replaced != nil && !outbids(capsOf(signed), at.replaced.fees()) {
		return at, ErrReplacementUnderpriced
	}
	c.cost, err = signed.Cost()
	return at, err
}

// explained is why a transaction is not payable, with the amounts.
func explained(err error, balance types.Amount, before reserve, tx *types.SignedTransaction) error {
	if !errors.Is(err, exec.ErrCannotPay) {
		return err
	}
	needed, overflow := tx.Cost()
	if overflow != nil {
		needed = math.MaxUint64
	}
	return &PayError{Balance: balance, Reserved: before.cost, Pending: before.count, Needed: needed}
}

// checkUsed refuses a nonce that the sender has used.
func checkUsed(s *sender, nonce uint64) error {
	if nonce < s.state.Nonce {
		return fmt.Errorf("%w: %d, next is %d", exec.ErrNonceTooLow, nonce, s.state.Nonce)
	}
	return nil
}

// outbids reports whether a replacement raises both fees by at least max(1, ⌈old / 10⌉).
func outbids(fees, old feeCaps) bool {
	return raised(fees.maxFee, old.maxFee) && raised(fees.maxPriority, old.maxPriority)
}

func raised(fee, old types.Amount) bool {
	step := old / 10
	if old%10 != 0 || old == 0 {
		step++
	}
	least, overflow := bits.Add64(uint64(old), uint64(step), 0)
	return overflow == 0 && uint64(fee) >= least
}

// replace puts an entry at its nonce in the run instead of another one. What [Pool.locate] found payable is the whole
// run, so nothing that follows has to be judged anew, and floors change only up to one that stays as it was.
func (p *Pool) replace(s *sender, e, old *entry) {
	i := int(e.nonce - s.state.Nonce)
	s.run = slices.Clone(s.run) // snapshots share the old one
	s.run[i] = e
	s.spent = s.spent - old.cost + e.cost
	e.floor = s.runFloor(i, e.fees())
	for j := i + 1; j < len(s.run); j++ {
		floor := s.runFloor(j, s.run[j].fees())
		if floor == s.run[j].floor {
			break
		}
		s.run[j].floor = floor
	}
	p.promote(s) // the replacement may cost less
	p.publish(s)
}

// insert puts a verified candidate into the pool, evicting what has to go for it.
func (p *Pool) insert(s *sender, c *candidate) error {
	p.judge(s) // of a new one nothing, but it is of the rules in force from now on
	at, err := p.locate(s, c, reserve{})
	if err != nil {
		return err
	}
	victims, err := p.victimsFor(s, c, at)
	if err != nil {
		return err
	}
	p.evict(victims)
	if at.replaced != nil {
		p.pushOut(at.replaced, Fate{Replaced, c.tx.ID()})
	}
	e := &entry{
		tx:     c.verified,
		sender: s,
		nonce:  c.signed().Nonce,
		cost:   c.cost,
		added:  c.added,
		held:   !at.executable,
		floor:  capsOf(c.signed()),
	}
	p.remember(e)
	i, inHeld := s.findHeld(e.nonce)
	switch {
	case at.executable && e.nonce < s.next():
		p.replace(s, e, at.replaced)
	case at.executable:
		if inHeld {
			s.held = slices.Delete(s.held, i, i+1)
		}
		p.extend(s, e)
		p.promote(s)
		p.publish(s)
	case inHeld:
		s.held[i] = e
		p.publish(s)
	default:
		s.held = slices.Insert(s.held, i, e)
		p.publish(s)
	}
	if at.executable {
		p.signal()
	}
	return nil
}
