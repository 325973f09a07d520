package mempool

import (
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// room returns the part of the balance that is left for further transactions that the account pays for.
func (s *sender) room() types.Amount { return minus(s.free(), s.spent) }

// free returns the part of the balance that the account's own transactions may spend.
func (s *sender) free() types.Amount { return minus(s.state.Balance, s.reserved) }

// minus returns a − b, or 0 if b is larger. A block can lower a balance below what is reserved of it.
func minus(a, b types.Amount) types.Amount { return a - min(a, b) }

// busy reports whether the pool has transactions that the account sends or pays for.
func (s *sender) busy() bool { return len(s.run)+len(s.held)+s.payCount > 0 }

// pay adds a transaction that the account pays for.
func (s *sender) pay(e *entry) {
	s.reserved += e.fee
	s.payCount++
	s.payList = append(s.payList, e)
}

// unpay removes an entry that has left the pool.
func (s *sender) unpay(e *entry) {
	s.reserved -= e.fee
	s.payCount--
	if len(s.payList) < 2*s.payCount+32 {
		return
	}
	kept := make([]*entry, 0, s.payCount)
	for _, other := range s.payList {
		if !other.gone {
			kept = append(kept, other)
		}
	}
	s.payList = kept
}

// newestPaid returns the newest transaction that the account pays for. There must be one.
func (s *sender) newestPaid() *entry {
	last := len(s.payList) - 1
	for s.payList[last].gone {
		last--
	}
	s.payList = s.payList[:last+1]
	return s.payList[last]
}

// checkPayer refuses a candidate for which its payer has no room. ahead is the part of the balance that earlier
// transactions of its batch take; replaced is the entry that leaves for it.
func (p *Pool) checkPayer(c *candidate, ahead reserve, replaced *entry) error {
	payer := c.payer
	if payer == nil {
		return nil
	}
	fee, err := c.signed().FeeCap()
	if err != nil {
		return err
	}
	count, taken := payer.payCount+ahead.pays, payer.reserved+ahead.fees
	room := minus(payer.room(), ahead.fees+ahead.cost)
	if replaced != nil && replaced.payer == payer {
		room, count, taken = room+replaced.fee, count-1, minus(taken, replaced.fee)
	}
	if count >= p.opts.PerPayer {
		return p.full(ClassSponsored)
	}
	if room < fee {
		return &PayError{
			Payer: true, Balance: payer.state.Balance, Reserved: taken + payer.spent,
			Pending: uint64(count + len(payer.run)), Needed: fee,
		}
	}
	return nil
}

// checkClaims is rule 17 at the head, at the time at which the candidate came.
func (p *Pool) checkClaims(s *sender, c *candidate) error {
	if c.claims == nil {
		claims := exec.ClaimsOf(c.signed())
		c.claims = &claims
	}
	env := p.head.Env
	env.Timestamp = max(env.Timestamp, milliseconds(c.added))
	if c.payer == nil {
		return exec.CheckClaims(env, s.state, nil, c.signed(), *c.claims)
	}
	return exec.CheckClaims(env, s.state, &c.payer.state, c.signed(), *c.claims)
}

// dropUnauthorized forgets the transactions whose witnesses claim another authority of the account than the one in
// force, and returns the senders of those that the account pays for.
func (p *Pool) dropUnauthorized(s *sender) (others []*sender) {
	authority := s.state.AuthorityAt(s.account, p.time())
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			if e.claims.Sender != authority {
				p.forget(e, Fate{Cause: Unauthorized})
			}
		}
	}
	for _, e := range s.paid() {
		if e.claims.Payer != authority {
			p.forget(e, Fate{Cause: Unauthorized})
			others = append(others, e.sender)
		}
	}
	return others
}

// paid returns the pending transactions that the account pays for.
func (s *sender) paid() []*entry {
	paid := make([]*entry, 0, s.payCount)
	for _, e := range s.payList {
		if !e.gone {
			paid = append(paid, e)
		}
	}
	return paid
}

// dropUnpaid forgets the newest transactions that the account pays for until its balance suffices, and returns their
// senders.
func (p *Pool) dropUnpaid(s *sender) (others []*sender) {
	for s.reserved > s.state.Balance {
		e := s.newestPaid()
		p.forget(e, Fate{Cause: Unpaid})
		others = append(others, e.sender)
	}
	return others
}

// promoteFreed updates the accounts that have more balance for their own transactions, because transactions that they
// paid for have left the pool. It must be called after entries were forgotten, before the lock is released.
func (p *Pool) promoteFreed() {
	freed := p.freed
	p.freed = nil
	for _, s := range freed {
		s.freed = false
		p.promote(s)
		p.publish(s)
	}
}
