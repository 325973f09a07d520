package mempool

import (
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// Reset applies the blocks after the pool's head, usually one. head is the head after the last of them, and blocks
// holds the accesses of each. Included transactions leave the pool, as do those that their accounts can no longer
// include; the remaining ones of changed accounts are revalidated. Other accounts are not examined, unless the
// parameters changed; most of a large pool is then left to a goroutine. Reset reads no state.
//
// After an error, [ErrNotNext] or an invalid access, the pool is unchanged. In a cluster's member the error may also be
// from the journal, which is a fault as in [Pool.ApplyBatches].
func (p *Pool) Reset(head Head, blocks ...[]types.Access) error {
	var changes []accountChange
	for _, accesses := range blocks {
		var err error
		if changes, err = appendChanges(changes, accesses); err != nil {
			return err
		}
	}
	p.moving.Lock()
	defer p.moving.Unlock()
	if err := p.follow(head, len(blocks), changes); err != nil || !p.opts.replicated {
		return err
	}
	return p.notePosition()
}

// follow moves the head forward by a number of blocks.
func (p *Pool) follow(head Head, blocks int, changes []accountChange) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if head.Height != p.head.Height+types.Height(blocks) {
		return fmt.Errorf("%w: %d blocks to %d at head %d", ErrNotNext, blocks, head.Height, p.head.Height)
	}
	now := p.opts.Now()
	if !p.lastReset.IsZero() {
		p.blockInterval = now.Sub(p.lastReset)
	}
	p.lastReset = now
	changed := make([]*sender, 0, len(changes))
	for _, change := range changes {
		if s, ok := p.index.senders[change.account]; ok {
			s.state = change.record
			changed = append(changed, s)
		} else if _, ok := p.index.idle[change.account]; ok {
			p.index.idle[change.account] = change.record
		}
	}
	p.moveTo(head, changed)
	return nil
}

// Reload replaces the head, and reads every sender's account again. It is for a chain that was rewound, or a node that
// missed blocks. If reading fails, the pool is unchanged.
func (p *Pool) Reload(head Head) error {
	read := make(map[types.Account]state.Account)
	for {
		p.mu.Lock()
		var missing []types.Account
		for a := range p.index.senders {
			if _, ok := read[a]; !ok {
				missing = append(missing, a)
			}
		}
		if len(missing) == 0 {
			break
		}
		p.mu.Unlock()
		for _, a := range missing {
			account, err := head.Account(a)
			if err != nil {
				return fmt.Errorf("read account %v: %w", a, err)
			}
			read[a] = account
		}
	}
	defer p.mu.Unlock()
	clear(p.index.idle)
	changed := make([]*sender, 0, len(p.index.senders))
	for a, s := range p.index.senders {
		s.state = read[a]
		changed = append(changed, s)
	}
	p.moveTo(head, changed)
	return nil
}

// moveTo replaces the head and revalidates the senders with changed accounts. If the parameters changed, it starts to
// revalidate all other senders too.
func (p *Pool) moveTo(head Head, changed []*sender) {
	parameters := p.head.Env.Parameters
	p.head = head
	p.ahead = p.ahead && head.Height <= p.journalHeight
	p.generation++
	close(p.headMoved)
	p.headMoved = make(chan struct{})
	for s := range p.index.recovering {
		if r := s.state.Pending; r != nil && r.From <= p.time() {
			changed = append(changed, s)
		}
	}
	changed = p.dropChanged(changed)
	if !head.Env.Parameters.Equal(parameters) {
		p.revalidateAll()
	}
	for _, s := range changed {
		p.revalidate(s)
		p.settle(s)
	}
	p.promoteFreed()
	p.expire()
	p.enforceHeldShare()
	p.updatePressure()
	p.ahead = p.ahead && head.Height < p.journalHeight
	if len(p.index.executable) > 0 {
		p.signal()
	}
}

// dropChanged forgets the transactions that the accounts can no longer include or pay for, and returns the accounts
// with the senders of those that they paid for. Included transactions leave first: only then does a payer's balance
// show what it can still pay for.
func (p *Pool) dropChanged(changed []*sender) []*sender {
	for _, s := range changed {
		p.dropImpossible(s)
	}
	if p.ahead {
		return changed
	}
	all := slices.Clone(changed)
	for _, s := range changed {
		all = append(all, p.dropUnauthorized(s)...)
	}
	for _, s := range changed {
		all = append(all, p.dropUnpaid(s)...)
	}
	return all
}

// expire removes the transactions whose end has passed, and those that have reached the expiry time.
func (p *Pool) expire() {
	if p.ahead {
		return
	}
	if p.index.mixed {
		p.index.mixed = false
		p.sortByTime()
	}
	limit := p.opts.Clock().Add(-p.opts.Expiry)
	var expired []*entry
	for oldest := p.index.arrivals.Front(); oldest != nil; oldest = p.index.arrivals.Front() {
		e := oldest.Value.(*entry)
		if e.added.After(limit) {
			break
		}
		p.forget(e, Fate{Cause: Expired})
		expired = append(expired, e)
	}
	for now := p.time(); len(p.index.deadlines) > 0 && p.index.deadlines[0].end() < now; {
		e := p.index.deadlines[0]
		p.forget(e, Fate{Cause: Expired})
		expired = append(expired, e)
	}
	for _, e := range expired {
		p.settle(e.sender)
	}
	p.promoteFreed()
}

// Drop removes a transaction with which no block could be built from the pool and the journal. Its sender's later ones
// are held until another one has its nonce. The transaction leaves the pool even if the journal fails, but may then
// come back after a restart.
func (p *Pool) Drop(id types.TxID) (err error) {
	if _, pending := p.Get(id); !pending {
		return nil
	}
	if p.opts.replicated {
		p.moving.Lock()
		defer p.moving.Unlock()
		p.remove(id)
		return p.notePosition()
	}
	// The transaction stays known until the record is written, so that a resubmission is journaled after it.
	p.writing.RLock()
	defer p.writing.RUnlock()
	if p.journal != nil {
		err = p.appendToJournal(encodeDropped(id))
	}
	p.remove(id)
	return err
}

// remove is [Pool.Drop] without the journal.
func (p *Pool) remove(id types.TxID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e, ok := p.index.byID[id]
	if !ok {
		return
	}
	p.forget(e, Fate{Cause: Unbuilt})
	p.settle(e.sender)
	p.promoteFreed()
	p.enforceHeldShare()
	p.updatePressure()
}

// accountChange is an account's record after a block that changed it.
type accountChange struct {
	account types.Account
	record  state.Account
}

// appendChanges appends the changes of accounts in a block's accesses.
func appendChanges(changes []accountChange, accesses []types.Access) ([]accountChange, error) {
	changes = slices.Grow(changes, len(accesses))
	for _, a := range accesses {
		if len(a.Key) != 1+len(types.Account{}) || state.Domain(a.Key[0]) != state.DomainAccount || !a.Changed() {
			continue
		}
		account := types.Account(a.Key[1:])
		record, err := state.DecodeAccount(account, a.New)
		if err != nil {
			return nil, fmt.Errorf("account %v: %w", account, err)
		}
		changes = append(changes, accountChange{account, record})
	}
	return changes, nil
}
