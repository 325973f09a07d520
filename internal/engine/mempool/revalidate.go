package mempool

import "container/list"

// revalidateStep is the number of transactions that are revalidated under changed parameters before the lock is
// released. The last sender's may exceed it.
const revalidateStep = 256

// revalidation is the progress of revalidating all senders after a change of the parameters.
type revalidation struct {
	rules uint64        // number of parameter changes
	next  *list.Element // oldest arrival whose sender may not be revalidated yet; nil when all are
	last  uint64        // sequence of the newest arrival at the change
	wake  chan struct{} // wakes revalidateLoop
}

// advance moves next past an entry that leaves the pool.
func (j *revalidation) advance(e *entry) {
	if j.next == e.arrival {
		j.next = e.arrival.Next()
	}
}

// revalidateAll handles a change of the parameters: every sender must be revalidated, and none is executable before
// that.
func (p *Pool) revalidateAll() {
	p.revalidation.rules++
	p.index.executable = nil
	p.revalidation.next, p.revalidation.last = p.index.arrivals.Front(), p.index.sequence
	for !p.revalidateSome() {
		if p.opts.replicated {
			continue // revalidate all now, so that every member evicts at the same entry
		}
		select {
		case p.revalidation.wake <- struct{}{}:
		default: // the loop is awake already
		}
		return
	}
}

// revalidateLoop revalidates the senders that revalidateAll left, in steps that bound the time under the lock.
func (p *Pool) revalidateLoop() {
	for {
		select {
		case <-p.revalidation.wake:
		case <-p.done:
			return
		}
		for done := false; !done; {
			select {
			case <-p.done:
				return
			default:
			}
			p.mu.Lock()
			done = p.revalidateSome()
			p.promoteFreed()
			p.enforceHeldShare()
			p.updatePressure()
			p.signal()
			p.mu.Unlock()
		}
	}
}

// revalidateSome revalidates the senders of the oldest transactions that are not revalidated yet, and reports whether
// none is left.
func (p *Pool) revalidateSome() (done bool) {
	for work := 0; work < revalidateStep; work++ {
		if p.revalidation.next == nil {
			return true
		}
		e := p.revalidation.next.Value.(*entry)
		if e.sequence > p.revalidation.last { // later arrivals were validated when they were added
			p.revalidation.next = nil
			return true
		}
		p.revalidation.next = p.revalidation.next.Next()
		work += p.revalidate(e.sender)
	}
	return false
}

// revalidate drops a sender's transactions that the current parameters do not allow, unless this was already done. It
// returns the number of transactions that it checked.
func (p *Pool) revalidate(s *sender) int {
	if s.rules == p.revalidation.rules {
		return 0
	}
	looked := len(s.run) + len(s.held)
	s.rules, s.runIndex = p.revalidation.rules, -1
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			if !p.ahead && checkStatic(p.head.Env, e.tx.Signed()) != nil {
				p.forget(e, Fate{Cause: NotAllowed})
			}
		}
	}
	p.settle(s)
	return looked
}

// revalidateSenders revalidates the senders of a batch, and reports whether all are valid now.
func (p *Pool) revalidateSenders(b *batch) (done bool) {
	work := 0
	for _, c := range b.candidates {
		if c.err != nil {
			continue
		}
		if s, ok := p.index.senders[c.signed().Sender]; ok {
			if work += p.revalidate(s); work >= revalidateStep {
				return false
			}
		}
	}
	return true
}
