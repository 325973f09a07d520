package mempool

import (
	"context"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/types"
)

// Result is what became of one transaction of [Pool.AddMany].
type Result struct {
	Tx  *types.Tx // also if it was refused; nil if it was not decoded
	Err error
}

// Add takes an encoded signed transaction, whose bytes it keeps, into the pool. When it returns nil the transaction is
// in the journal, if there is one. source names where it comes from, such as a remote address: one that sends bad
// signatures is served more slowly. Errors wrap those of this package, of exec, or the context's; others are faults of
// the node.
//
// From 90 % of the pool's limits on, a new transaction under the base fee needs the place of another one. That is one
// that no block can include either, of a sender who has more of them. Into a full pool comes only what displaces others; see [Class].
func (p *Pool) Add(ctx context.Context, encoded []byte, source string) (types.TxID, error) {
	r := p.AddMany(ctx, [][]byte{encoded}, source)[0]
	if r.Tx == nil {
		return types.TxID{}, r.Err
	}
	return r.Tx.ID(), r.Err
}

// AddMany does as [Pool.Add] for each transaction in turn, with their signatures verified together.
func (p *Pool) AddMany(ctx context.Context, encoded [][]byte, source string) []Result {
	return p.take(p.examine(ctx, encoded, source))
}

// take puts verified candidates into the journal and the pool, and tells what became of each.
func (p *Pool) take(b *batch) []Result {
	_ = p.commit(b) // it is in the results
	p.counts.add(b.candidates)
	results := make([]Result, len(b.candidates))
	for i, c := range b.candidates {
		results[i] = Result{c.tx, c.err}
		p.tellAccepted(c)
	}
	return results
}

// tellAccepted tells of a candidate that the pool has taken.
func (p *Pool) tellAccepted(c *candidate) {
	if c.err == nil && p.opts.OnAccepted != nil {
		p.opts.OnAccepted(c.tx.ID())
	}
}

// examine decodes candidates, and verifies the signatures of those that the pool would take now.
func (p *Pool) examine(ctx context.Context, encoded [][]byte, source string) *batch {
	b := p.decode(encoded)
	p.screen(b)
	p.admit(b)
	if waiting := b.pending(); len(waiting) > 0 {
		p.verifier.check(ctx, waiting, source)
	}
	// The pool may have changed while signatures were verified; what is refused now is not written.
	p.screen(b)
	return b
}

// decode makes candidates of encoded transactions, which are checked by what needs no account.
func (p *Pool) decode(encoded [][]byte) *batch {
	p.mu.Lock()
	env := p.head.Env
	p.mu.Unlock()
	now := p.opts.Moment()
	b := &batch{candidates: make([]*candidate, len(encoded))}
	room := make([]candidate, len(encoded))
	for i, e := range encoded {
		b.candidates[i] = &room[i]
		room[i].decode(env, e, now)
	}
	return b
}

// admit refuses the candidates that Options.Admit refuses.
func (p *Pool) admit(b *batch) {
	if p.opts.Admit == nil {
		return
	}
	for _, c := range b.pending() {
		if err := p.opts.Admit(&c.signed().Transaction); err != nil {
			c.err = err
		}
	}
}

// batch is candidates that go into the pool together.
type batch struct {
	candidates []*candidate
	read       map[types.Account]*sender // accounts that the pool did not have, as they were at generation
	generation uint64
}

// pending is the candidates without an error.
func (b *batch) pending() []*candidate {
	waiting := make([]*candidate, 0, len(b.candidates))
	for _, c := range b.candidates {
		if c.err == nil {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// screen refuses the candidates that the pool would not take now, judged as if those before them were in it.
func (p *Pool) screen(b *batch) {
	ahead := make(map[*sender]reserve)
	p.visit(b, func(s *sender, c *candidate) error {
		r := ahead[s]
		at, err := p.locate(s, c, r)
		if err != nil {
			return err
		}
		if c.signed().Nonce == s.next()+r.count {
			ahead[s] = reserve{r.count + 1, r.cost + c.cost}
		}
		_, err = p.victimsFor(s, c, at)
		return err
	})
}

// commit writes verified candidates to the journal and puts them into the pool. The journal comes first: if it fails,
// which is then every candidate's error, nothing in the pool has made way.
func (p *Pool) commit(b *batch) error {
	waiting := b.pending()
	if len(waiting) == 0 {
		return nil
	}
	p.journal.writing.RLock()
	defer p.journal.writing.RUnlock()
	if p.journal.file != nil {
		size := 0
		for _, c := range waiting {
			size += recordPrefix + c.size()
		}
		room, records := make([]byte, 0, size), make([][]byte, len(waiting))
		for i, c := range waiting {
			start := len(room)
			room = appendTaken(room, c.added, c.verified)
			records[i] = room[start:]
		}
		if err := p.appendToJournal(records...); err != nil {
			err = closedAs(err)
			for _, c := range waiting {
				c.err = err
			}
			return err
		}
	}
	p.insertAll(b)
	return nil
}

// insertAll puts verified candidates into the pool.
func (p *Pool) insertAll(b *batch) {
	p.visit(b, func(s *sender, c *candidate) error {
		err := p.insert(s, c)
		p.filling.updatePressure(&p.opts)
		return err
	})
}

// visit calls f under the lock for every candidate without an error, with its sender as it is at the head, and keeps
// f's error. Accounts that the pool does not have are read without the lock, again if the head changes meanwhile.
func (p *Pool) visit(b *batch, f func(*sender, *candidate) error) {
	for {
		p.mu.Lock()
		if !p.judgeSenders(b) {
			p.mu.Unlock()
			continue
		}
		if b.generation != p.head.generation {
			b.read, b.generation = make(map[types.Account]*sender), p.head.generation
		}
		head, missing := p.head.Head, p.missing(b)
		if len(missing) == 0 {
			// First all of them: a candidate may push out all that the sender of a later one has.
			senders := make([]*sender, len(b.candidates))
			for i, c := range b.candidates {
				if c.err == nil {
					senders[i] = p.find(b, c.signed().Sender)
				}
			}
			for i, c := range b.candidates {
				if c.err == nil {
					c.err = f(senders[i], c)
				}
			}
			for a, s := range b.read {
				if p.index.senders[a] == nil {
					p.index.idle.put(a, s.state)
				}
			}
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
		for _, c := range missing {
			b.readAccount(head, c)
		}
	}
}

// missing is the candidates whose sender is neither in the pool nor read.
func (p *Pool) missing(b *batch) []*candidate {
	var missing []*candidate
	for _, c := range b.candidates {
		if c.err == nil && p.find(b, c.signed().Sender) == nil {
			missing = append(missing, c)
		}
	}
	return missing
}

func (p *Pool) find(b *batch, a types.Account) *sender {
	if s, ok := p.index.senders[a]; ok {
		return s
	}
	if s, ok := b.read[a]; ok {
		return s
	}
	if state, ok := p.index.idle[a]; ok {
		b.read[a] = newSender(a, state)
	}
	return b.read[a]
}

func (b *batch) readAccount(head Head, c *candidate) {
	a := c.signed().Sender
	if b.read[a] != nil {
		return
	}
	var account exec.Sender
	if account, c.err = head.Account(a); c.err == nil {
		b.read[a] = newSender(a, account)
	}
}
