package mempool

import "container/list"

// judgeStep is the number of transactions that are judged under changed parameters before the lock is released. The
// last sender's may exceed it.
const judgeStep = 256

// judging is the progress of judging all senders after a change of the parameters.
type judging struct {
	rules uint64        // number of parameter changes
	next  *list.Element // oldest arrival whose sender may not be judged yet; nil when all are
	last  uint64        // sequence of the newest arrival at the change
	wake  chan struct{} // wakes judgeLoop
}

// pass advances next past an entry that leaves the pool.
func (j *judging) pass(e *entry) {
	if j.next == e.arrival {
		j.next = e.arrival.Next()
	}
}

// distrust handles a change of the parameters: every sender must be judged again, and none is executable before that.
func (p *Pool) distrust() {
	p.judging.rules++
	p.index.executable = nil
	p.judging.next, p.judging.last = p.index.arrivals.Front(), p.index.sequence
	for !p.judgeSome() {
		if p.opts.replicated {
			continue // judge all now, so that every member evicts at the same entry
		}
		select {
		case p.judging.wake <- struct{}{}:
		default: // the loop is awake already
		}
		return
	}
}

// judgeLoop judges the senders that distrust left, in steps that bound the time under the lock.
func (p *Pool) judgeLoop() {
	for {
		select {
		case <-p.judging.wake:
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
			done = p.judgeSome()
			p.goOn()
			p.enforceHeldShare()
			p.filling.updatePressure(&p.opts)
			p.signal()
			p.mu.Unlock()
		}
	}
}

// judgeSome judges the senders of the oldest unjudged transactions, and reports whether none is left.
func (p *Pool) judgeSome() (done bool) {
	for work := 0; work < judgeStep; work++ {
		if p.judging.next == nil {
			return true
		}
		e := p.judging.next.Value.(*entry)
		if e.sequence > p.judging.last { // later arrivals were judged when they were added
			p.judging.next = nil
			return true
		}
		p.judging.next = p.judging.next.Next()
		work += p.judge(e.sender)
	}
	return false
}

// judge drops a sender's transactions that the current parameters do not allow, unless this was already done. It
// returns the number of transactions that it checked.
func (p *Pool) judge(s *sender) int {
	if s.rules == p.judging.rules {
		return 0
	}
	looked := len(s.run) + len(s.held)
	s.rules, s.runIndex = p.judging.rules, -1
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			if checkStatic(p.head.Env, e.tx.Signed()) != nil {
				p.forget(e, Fate{Cause: NotAllowed})
			}
		}
	}
	p.settle(s)
	return looked
}

// judgeSenders judges the senders of a batch, and reports whether all are judged.
func (p *Pool) judgeSenders(b *batch) (done bool) {
	work := 0
	for _, c := range b.candidates {
		if c.err != nil {
			continue
		}
		if s, ok := p.index.senders[c.signed().Sender]; ok {
			if work += p.judge(s); work >= judgeStep {
				return false
			}
		}
	}
	return true
}
