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

// candidate is a transaction that is being added to the pool. Its first error stops it.
type candidate struct {
	tx       *types.Tx    // nil if it is malformed
	cost     types.Amount // of the sender
	fee      types.Amount // fee cap, for the payer; 0 without one
	payer    *sender      // set by visit; nil without one
	claims   *exec.Claims // nil before they are needed
	rules    uint64       // value of revalidation.rules under which it passed exec.CheckStatic
	added    time.Time
	restored bool              // from the journal: the rules of a nearly full pool were applied before
	verified *types.VerifiedTx // nil before the verification
	err      error
}

func (c *candidate) signed() *types.SignedTransaction { return c.tx.Signed() }

func (c *candidate) size() int { return len(c.tx.Encoded()) }

// place is the position of a candidate in its sender's lists.
type place struct {
	executable bool   // in the sender's run; else among the held
	replaced   *entry // the current entry with its nonce, or nil
}

// reserve is the part of an account's balance that earlier transactions take. These are the
// transactions of a batch or, for some callers, also those of the run.
type reserve struct {
	count uint64
	cost  types.Amount
	pays  int          // number of those for which it is the payer
	fees  types.Amount // their fee caps
}

// rules are the parameters in force with their number.
type rules struct {
	env    exec.Env
	number uint64 // value of revalidation.rules
}

func (p *Pool) rules() rules {
	p.mu.Lock()
	defer p.mu.Unlock()
	return rules{p.head.Env, p.revalidation.rules}
}

// decode decodes a candidate, which keeps encoded, and makes all checks that need no account.
func (c *candidate) decode(r rules, encoded []byte, now time.Time) {
	c.added = now
	if c.tx, c.err = types.DecodeTx(encoded); c.err != nil {
		c.err = fmt.Errorf("%w: %w", ErrMalformed, c.err)
		return
	}
	c.err = c.checkStatic(r)
}

// checkStatic is exec.CheckStatic with two changes. The time is when the candidate came, and the base fee is the lowest
// that the parameters allow: a transaction that cannot pay the current base fee may wait for a lower one.
func (c *candidate) checkStatic(r rules) error {
	c.rules = r.number
	r.env.Timestamp = max(r.env.Timestamp, milliseconds(c.added))
	return checkStatic(r.env, c.signed())
}

func checkStatic(env exec.Env, tx *types.SignedTransaction) error {
	env.BaseFee = env.Parameters.MinBaseFee
	return exec.CheckStatic(env, tx)
}

// locate finds a candidate's place by the rules for the accounts of sender and payer and their transactions. It does
// not check for room. Earlier transactions of its batch take ahead from the sender and paid from the payer.
func (p *Pool) locate(s *sender, c *candidate, ahead, paid reserve) (at place, err error) {
	if _, known := p.index.byID[c.tx.ID()]; known { // with these or other witnesses
		return at, ErrKnown
	}
	if c.rules != p.revalidation.rules {
		if err := c.checkStatic(rules{p.head.Env, p.revalidation.rules}); err != nil {
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
		before = reserve{count: uint64(len(s.run)) - 1, cost: s.spent - at.replaced.cost}
	case nonce <= next+ahead.count:
		at.executable = true
		before = reserve{count: uint64(len(s.run)), cost: s.spent}
		if nonce == next+ahead.count { // else it replaces one of its own batch; only insert can judge that
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
	if err := checkPayable(s, minus(s.free(), before.cost+ahead.fees), signed); err != nil {
		return at, explained(err, s, before, ahead, signed)
	}
	if err := p.checkPayer(c, paid, at.replaced); err != nil {
		return at, err
	}
	if err := p.checkClaims(s, c); err != nil {
		return at, err
	}
	if at.replaced != nil && !outbids(capsOf(signed), at.replaced.fees()) {
		return at, ErrReplacementUnderpriced
	}
	return at, c.setCost()
}

// setCost sets the parts of the balances of sender and payer that the transaction may take.
func (c *candidate) setCost() (err error) {
	c.cost, c.fee, err = costOf(c.signed())
	return err
}

// costOf returns the parts of the balances of sender and payer that a transaction may take; fee is 0 without a payer.
func costOf(tx *types.SignedTransaction) (cost, fee types.Amount, err error) {
	if cost, err = tx.Amount(); err != nil {
		return 0, 0, err
	}
	if fee, err = tx.FeeCap(); err != nil || tx.Payer != nil {
		return cost, fee, err
	}
	cost, err = cost.Add(fee)
	return cost, 0, err
}

// explained adds the amounts to an exec.ErrCannotPay.
func explained(err error, s *sender, before, ahead reserve, tx *types.SignedTransaction) error {
	if !errors.Is(err, exec.ErrCannotPay) {
		return err
	}
	needed, _, overflow := costOf(tx)
	if overflow != nil {
		needed = math.MaxUint64
	}
	return &PayError{
		Balance: s.state.Balance, Reserved: before.cost + s.reserved + ahead.fees,
		Pending: before.count + uint64(s.payCount+ahead.pays), Needed: needed,
	}
}

// checkUsed refuses a used nonce.
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

// replace replaces an entry in the run. [Pool.locate] has found the whole run payable, so the later entries need no
// check. Their floors change only up to the first one that stays the same.
func (p *Pool) replace(s *sender, e, old *entry) {
	i := int(e.nonce - s.state.Nonce)
	s.run = slices.Clone(s.run) // snapshots share the old slice
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

// insert adds a verified candidate to the pool, and evicts others if necessary.
func (p *Pool) insert(s *sender, c *candidate) error {
	p.revalidate(s) // a new sender has no transactions, but this marks it as valid
	at, err := p.locate(s, c, reserve{}, reserve{})
	if err != nil {
		return err
	}
	victims, err := p.evictionCandidates(s, c, at)
	if err != nil {
		return err
	}
	p.evict(victims)
	if at.replaced != nil {
		p.forget(at.replaced, Fate{Replaced, c.tx.ID()})
	}
	e := &entry{
		tx:     c.verified,
		sender: s,
		nonce:  c.signed().Nonce,
		cost:   c.cost,
		fee:    c.fee,
		payer:  c.payer,
		claims: exec.Claims{Sender: c.verified.Claim(), Payer: c.verified.PayerClaim()},
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
