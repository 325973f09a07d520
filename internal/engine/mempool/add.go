package mempool

import (
	"context"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Result is the outcome of one transaction of [Pool.AddMany].
type Result struct {
	Tx  *types.Tx // nil only if it could not be decoded
	Err error
}

// Add adds an encoded signed transaction to the pool, and keeps its bytes. When it returns nil, the transaction is in
// the journal, if there is one. source identifies the sender, such as by a remote address: a source that sends bad
// signatures is throttled. Errors wrap those of this package or of exec, or ctx.Err(); other errors are faults of the
// node.
//
// When the pool is at 90 % of its limits, a new transaction under the base fee must displace another one that no block
// can include either, from a sender who has more of them. A full pool accepts only transactions that displace others;
// see [Class].
func (p *Pool) Add(ctx context.Context, encoded []byte, source string) (types.TxID, error) {
	r := p.AddMany(ctx, [][]byte{encoded}, source)[0]
	if r.Tx == nil {
		return types.TxID{}, r.Err
	}
	return r.Tx.ID(), r.Err
}

// AddMany is like [Pool.Add] for each transaction in turn, but verifies the signatures together.
func (p *Pool) AddMany(ctx context.Context, encoded [][]byte, source string) []Result {
	b := p.examine(ctx, encoded, source, true)
	if !b.added {
		p.add(b)
	}
	return p.taken(b)
}

// add adds the verified candidates of batches to the pool, with one write to the journal.
func (p *Pool) add(batches ...*batch) {
	all := batches[0]
	if len(batches) > 1 {
		all = new(batch)
		for _, b := range batches {
			all.candidates = append(all.candidates, b.candidates...)
		}
	}
	p.screen(all)     // again after the verification, because transactions refused here are not journaled
	_ = p.commit(all) // the candidates hold the error
	for _, b := range batches {
		b.added = true
	}
}

// taken counts the outcomes of candidates, and returns them.
func (p *Pool) taken(b *batch) []Result {
	p.counts.add(b.candidates)
	results := make([]Result, len(b.candidates))
	for i, c := range b.candidates {
		results[i] = Result{c.tx, c.err}
		p.notifyAccepted(c)
	}
	return results
}

// notifyAccepted calls OnAccepted for a candidate that the pool has taken.
func (p *Pool) notifyAccepted(c *candidate) {
	if c.err == nil && p.opts.OnAccepted != nil {
		p.opts.OnAccepted(c.tx.ID())
	}
}

// examine decodes transactions, and verifies the signatures of those that the pool would take now. A client must not be
// refused because of a state older than one that it could already read. While the pool is behind the chain, refused
// candidates therefore wait for the pool. With adds, the batch may be added at once; its field added then reports that.
func (p *Pool) examine(ctx context.Context, encoded [][]byte, source string, adds bool) *batch {
	newest, behind := p.behind()
	b := p.decode(encoded)
	p.check(ctx, b, source, adds && !behind)
	if !behind {
		return b
	}
	if stale := b.refusedByState(); len(stale) > 0 && p.reach(ctx, newest) {
		rules := p.rules()
		for _, c := range stale {
			c.err = c.checkStatic(rules)
		}
		p.check(ctx, b, source, false)
	}
	return b
}

// check refuses the candidates that the pool would not take now, and verifies the signatures of the others. With adds,
// it may also add the batch.
func (p *Pool) check(ctx context.Context, b *batch, source string, adds bool) {
	p.screen(b)
	p.admit(b)
	p.checkTexts(b)
	var unverified []*candidate
	for _, c := range b.pending() {
		if c.verified == nil {
			unverified = append(unverified, c)
		}
	}
	switch {
	case len(unverified) == 0:
	case adds:
		p.verifier.check(ctx, unverified, source, b)
	default:
		p.verifier.check(ctx, unverified, source, nil)
	}
}

// decode decodes transactions into candidates, and makes all checks that need no account.
func (p *Pool) decode(encoded [][]byte) *batch {
	rules := p.rules()
	now := p.opts.Clock()
	b := &batch{candidates: make([]*candidate, len(encoded))}
	room := make([]candidate, len(encoded))
	for i, e := range encoded {
		b.candidates[i] = &room[i]
		room[i].decode(rules, e, now)
	}
	return b
}

// checkTexts refuses candidates whose signature is over a text that is too long for wallets. The error states this
// reason.
func (p *Pool) checkTexts(b *batch) {
	for _, c := range b.pending() {
		c.err = exec.CheckTexts(p.opts.network, c.signed())
	}
}

// admit applies Options.Admit to the candidates.
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

// batch is a set of candidates that are added together.
type batch struct {
	candidates []*candidate
	read       map[types.Account]*sender // accounts missing from the pool, as of generation
	generation uint64
	added      bool // its verified candidates were added, or refused
}

// pending returns the candidates without an error.
func (b *batch) pending() []*candidate {
	waiting := make([]*candidate, 0, len(b.candidates))
	for _, c := range b.candidates {
		if c.err == nil {
			waiting = append(waiting, c)
		}
	}
	return waiting
}

// refusedByState returns the candidates that a later state may allow.
func (b *batch) refusedByState() []*candidate {
	var refused []*candidate
	for _, c := range b.candidates {
		if dependsOnAccounts(c.err) || dependsOnParameters(c.err) {
			refused = append(refused, c)
		}
	}
	return refused
}

// screen refuses the candidates that the pool would not take now, each judged as if those before it were in the pool.
func (p *Pool) screen(b *batch) {
	ahead := make(map[*sender]reserve)
	p.visit(b, func(s *sender, c *candidate) error {
		own := ahead[s]
		at, err := p.locate(s, c, own, ahead[c.payer])
		if err != nil {
			return err
		}
		if c.signed().Nonce == s.next()+own.count {
			own.count, own.cost = own.count+1, own.cost+c.cost
			ahead[s] = own
		}
		if c.payer != nil && (at.replaced == nil || at.replaced.payer != c.payer) {
			paid := ahead[c.payer]
			paid.pays, paid.fees = paid.pays+1, paid.fees+c.fee
			ahead[c.payer] = paid
		}
		_, err = p.evictionCandidates(s, c, at)
		return err
	})
}

// commit journals verified candidates and adds them to the pool. It writes the journal first: if that fails, every
// candidate gets the error, and the pool is unchanged.
func (p *Pool) commit(b *batch) error {
	waiting := b.pending()
	if len(waiting) == 0 {
		return nil
	}
	p.writing.RLock()
	defer p.writing.RUnlock()
	if p.journal != nil {
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

// insertAll adds verified candidates to the pool.
func (p *Pool) insertAll(b *batch) {
	p.visit(b, func(s *sender, c *candidate) error {
		err := p.insert(s, c)
		p.updatePressure()
		return err
	})
}

// visit calls f under the lock for every candidate without an error, with its sender's state at the head and its payer
// set, and stores f's error. It reads accounts that the pool does not have without the lock, and again if the head
// changes meanwhile.
func (p *Pool) visit(b *batch, f func(*sender, *candidate) error) {
	for {
		p.mu.Lock()
		valid := p.revalidateSenders(b)
		p.promoteFreed()
		if !valid {
			p.mu.Unlock()
			continue
		}
		if b.generation != p.generation {
			b.read, b.generation = make(map[types.Account]*sender), p.generation
		}
		head, missing := p.head, p.missing(b)
		if len(missing) == 0 {
			// Find all senders before the first call: a candidate may evict all transactions of a later one's sender.
			senders := make([]*sender, len(b.candidates))
			for i, c := range b.candidates {
				if c.err == nil {
					senders[i] = p.find(b, c.signed().Sender)
					c.payer = nil
					if payer := c.signed().Payer; payer != nil {
						c.payer = p.find(b, *payer)
					}
				}
			}
			for i, c := range b.candidates {
				if c.err == nil {
					c.err = f(senders[i], c)
					p.promoteFreed()
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
			b.readAccounts(head, c)
		}
	}
}

// missing returns the candidates whose sender or payer is neither in the pool nor read yet.
func (p *Pool) missing(b *batch) []*candidate {
	var missing []*candidate
	for _, c := range b.candidates {
		if c.err != nil {
			continue
		}
		signed := c.signed()
		if p.find(b, signed.Sender) == nil || signed.Payer != nil && p.find(b, *signed.Payer) == nil {
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

// readAccounts reads a candidate's sender and payer, even if the pool has one of them.
func (b *batch) readAccounts(head Head, c *candidate) {
	read := func(a types.Account) {
		if c.err != nil || b.read[a] != nil {
			return
		}
		var account state.Account
		if account, c.err = head.Account(a); c.err == nil {
			b.read[a] = newSender(a, account)
		}
	}
	read(c.signed().Sender)
	if payer := c.signed().Payer; payer != nil {
		read(*payer)
	}
}
