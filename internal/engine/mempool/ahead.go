package mempool

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Verify checks transactions that this node forwards to another one, whose head may be newer. It refuses those that
// every later head refuses too: malformed ones, those that the protocol never allows on this chain, used nonces, and
// bad signatures. It leaves the sender's balance and the pool's room to the other node. It also leaves the rules that
// depend on parameters, such as the minimum fee, unless current reports that this node's head is the newest. source is
// as for [Pool.Add].
//
// A node that forwards only verified transactions cannot be blamed for its clients.
func (p *Pool) Verify(ctx context.Context, encoded [][]byte, source string, current func() bool) []Checked {
	b := p.decode(encoded)
	for _, c := range b.candidates {
		if dependsOnParameters(c.err) && !current() {
			c.err = nil
		}
	}
	p.refuseUsed(b)
	p.checkTexts(b)
	unverified := b.pending()[:0]
	for _, c := range b.pending() {
		if c.verified = p.verifiedAs(c.tx); c.verified == nil {
			unverified = append(unverified, c)
		}
	}
	if len(unverified) > 0 {
		p.verifier.check(ctx, unverified, source, nil)
	}
	return p.checked(b)
}

// dependsOnParameters reports whether a transaction that was refused with err may be valid under other parameters.
func dependsOnParameters(err error) bool {
	for _, of := range []error{exec.ErrFeeTooLow, exec.ErrGasOverBlock, exec.ErrNotAdmin, exec.ErrBadParameters} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// dependsOnAccounts reports whether a transaction that was refused with err may be valid once blocks have changed its
// accounts.
func dependsOnAccounts(err error) bool {
	for _, of := range []error{
		exec.ErrNonceTooHigh, exec.ErrIntrinsicGas, exec.ErrCannotPay, exec.ErrPayerCannotPay, exec.ErrWrongPolicy,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// refuseUsed refuses the candidates whose nonce is used. It passes those whose account cannot be read, as on a node
// without state.
func (p *Pool) refuseUsed(b *batch) {
	known := &batch{candidates: b.pending()}
	p.visit(known, func(s *sender, c *candidate) error { return checkUsed(s, c.signed().Nonce) })
	for _, c := range known.candidates {
		if !errors.Is(c.err, exec.ErrNonceTooLow) {
			c.err = nil
		}
	}
}

// AddVerified is like [Pool.AddMany] for transactions that another node has accepted and whose signatures were verified
// here.
func (p *Pool) AddVerified(txs []*types.VerifiedTx) []Result {
	rules := p.rules()
	now := p.opts.Clock()
	b := &batch{candidates: make([]*candidate, len(txs))}
	for i, tx := range txs {
		c := &candidate{tx: tx.Tx(), verified: tx, added: now}
		c.err = c.checkStatic(rules)
		b.candidates[i] = c
	}
	p.screen(b)
	p.admit(b)
	_ = p.commit(b) // the candidates hold the error
	return p.taken(b)
}
