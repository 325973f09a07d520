package mempool

// judgeStep is how many transactions are judged by changed parameters before others get the lock, give or take one sender's.
const judgeStep = 256

// distrust is told that the parameters have changed: every sender is to be judged anew, and none is executable before.
func (p *Pool) distrust() {
	p.rules++
	p.runs = nil
	p.unjudged, p.lastUnjudged = p.arrivals.Front(), p.sequence
	if p.judgeSome() {
		return
	}
	select {
	case p.judging <- struct{}{}:
	default: // it goes on anyway
	}
}

// judgeLoop judges the senders that distrust left, in steps, so that nobody waits for the lock until all are done.
func (p *Pool) judgeLoop() {
	for {
		select {
		case <-p.judging:
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
			p.enforceHeldShare()
			p.updatePressure()
			p.signal()
			p.mu.Unlock()
		}
	}
}

// judgeSome judges the senders of the oldest transactions that are not judged, and reports whether none is left.
func (p *Pool) judgeSome() (done bool) {
	for work := 0; work < judgeStep; work++ {
		if p.unjudged == nil {
			return true
		}
		e := p.unjudged.Value.(*entry)
		if e.sequence > p.lastUnjudged { // what came later was judged as it came
			p.unjudged = nil
			return true
		}
		p.unjudged = p.unjudged.Next()
		work += p.judge(e.sender)
	}
	return false
}

// judge drops what the parameters in force do not allow a sender, unless that was done, and returns how many transactions
// it has looked at.
func (p *Pool) judge(s *sender) int {
	if s.rules == p.rules {
		return 0
	}
	looked := len(s.run) + len(s.held)
	s.rules, s.runIndex = p.rules, -1
	for _, part := range [][]*entry{s.run, s.held} {
		for _, e := range part {
			if checkStatic(p.head.Env, e.tx.Signed()) != nil {
				p.forget(e)
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
		if s, ok := p.senders[c.signed().Sender]; ok {
			if work += p.judge(s); work >= judgeStep {
				return false
			}
		}
	}
	return true
}
