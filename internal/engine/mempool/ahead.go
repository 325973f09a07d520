package mempool

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Verify is what a node can say of transactions that it hands on to another one, whose head may be newer. It refuses
// what stays refused at any later head: what cannot be decoded, what the protocol never allows on this chain, a used
// nonce and a bad signature. Whether the sender can pay, and what the pool has room for, is left to the other node.
// So are the rules that parameters decide, such as the lowest fee, unless current says that this node's head is the
// newest. source is as for [Pool.Add].
//
// A node that hands on only what it has verified is never to blame for what its clients send.
func (p *Pool) Verify(ctx context.Context, encoded [][]byte, source string, current func() bool) []Screened {
	b := p.decode(encoded)
	for _, c := range b.candidates {
		if dependsOnParameters(c.err) && !current() {
			c.err = nil
		}
	}
	p.refuseUsed(b)
	unverified := b.pending()[:0]
	for _, c := range b.pending() {
		if c.verified, _ = p.Get(c.tx.ID()); c.verified == nil {
			unverified = append(unverified, c)
		}
	}
	if len(unverified) > 0 {
		p.verifier.check(ctx, unverified, source)
	}
	return p.screened(b)
}

// dependsOnParameters reports whether a transaction that is refused with err may be valid under other parameters.
func dependsOnParameters(err error) bool {
	for _, of := range []error{exec.ErrFeeTooLow, exec.ErrGasOverBlock, exec.ErrNotProducer, exec.ErrBadParameters} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

// refuseUsed refuses the candidates whose nonce is used. An account that cannot be read says nothing: a node without
// state has none.
func (p *Pool) refuseUsed(b *batch) {
	known := &batch{candidates: b.pending()}
	p.visit(known, func(s *sender, c *candidate) error { return checkUsed(s, c.signed().Nonce) })
	for _, c := range known.candidates {
		if !errors.Is(c.err, exec.ErrNonceTooLow) {
			c.err = nil
		}
	}
}

// AddVerified does as [Pool.AddMany] with transactions that another node has taken, whose signatures were verified
// here.
func (p *Pool) AddVerified(txs []*types.VerifiedTx) []Result {
	p.mu.Lock()
	env := p.head.Env
	p.mu.Unlock()
	now := p.opts.Moment()
	b := &batch{candidates: make([]*candidate, len(txs))}
	for i, tx := range txs {
		c := &candidate{tx: tx.Tx(), verified: tx, added: now}
		c.err = c.checkStatic(env)
		b.candidates[i] = c
	}
	p.screen(b)
	p.admit(b)
	return p.take(b)
}
