package mempool

import "container/list"

// judgeStep is how many transactions are judged by changed parameters before others get the lock, give or take one
// sender's.
const judgeStep = 256

// judging is what is left to do since the parameters changed.
type judging struct {
	rules uint64        // counts changes of the parameters
	next  *list.Element // of the arrivals: the oldest that may have a sender of earlier rules; nil when all are judged
	last  uint64        // sequence of the newest one
	wake  chan struct{} // wakes judgeLoop
}

// pass goes past an entry that leaves the pool.
func (j *judging) pass(e *entry) {
	if j.next == e.arrival {
		j.next = e.arrival.Next()
	}
}

// distrust is told that the parameters have changed: every sender is to be judged anew, and none is executable before.
func (p *Pool) distrust() {
	p.judging.rules++
	p.index.executable = nil
	p.judging.next, p.judging.last = p.index.arrivals.Front(), p.index.sequence
	for !p.judgeSome() {
		if p.opts.decided {
			continue // what has to make way follows from what is judged: all members judge at the same entry
		}
		select {
		case p.judging.wake <- struct{}{}:
		default: // it goes on anyway
		}
		return
	}
}

// judgeLoop judges the senders that distrust left, in steps, so that nobody waits for the lock until all are done.
func (p *Pool) judgeLoop() {
	for {
		select {
		case <-p.judging.wake:
		case <-p.loops.done:
			return
		}
		for done := false; !done; {
			select {
			case <-p.loops.done:
				return
			default:
			}
			p.mu.Lock()
			done = p.judgeSome()
			p.enforceHeldShare()
			p.filling.updatePressure(&p.opts)
			p.signal()
			p.mu.Unlock()
		}
	}
}

// judgeSome judges the senders of the oldest transactions that are not judged, and reports whether none is left.
func (p *Pool) judgeSome() (done bool) {
	for work := 0; work < judgeStep; work++ {
		if p.judging.next == nil {
			return true
		}
		e := p.judging.next.Value.(*entry)
		if e.sequence > p.judging.last { // what came later was judged as it came
			p.judging.next = nil
			return true
		}
		p.judging.next = p.judging.next.Next()
		work += p.judge(e.sender)
	}
	return false
}

// judge drops what the parameters in force do not allow a sender, unless that was done, and returns how many
// transactions it has looked at.
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

// judgeSenders judges the senders of a batch, and reports whether none is left.
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
