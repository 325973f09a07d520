package sender

import (
	"slices"

	"github.com/cairn-chain/cairn/client"
)

// cancel cancels the jobs that callers no longer want: at once if no node has their bytes, otherwise with another
// version.
func (p *pump) cancel() error {
	p.s.mu.Lock()
	unwanted := slices.Clone(p.s.unwanted)
	p.s.mu.Unlock()
	var free, out []*job
	for _, j := range unwanted {
		switch {
		case j.ended.isDecided() || j.isCancelled() || j.expired(p.head): // an expired one ends by itself
		case j.out:
			out = append(out, j)
		default:
			free = append(free, j)
		}
	}
	if err := p.withdraw(free); err != nil {
		return err
	}
	if err := p.addPriced(out, true, p.nothing); err != nil {
		return err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.unwanted = slices.Delete(p.s.unwanted, 0, len(unwanted)) // more may have been added meanwhile
	return nil
}

// withdraw ends cancelled jobs that no block can include any more.
func (p *pump) withdraw(jobs []*job) error {
	if len(jobs) == 0 {
		return nil
	}
	var entries []Entry
	for _, j := range jobs {
		if len(j.versions) > 0 {
			entries = append(entries, Entry{Type: Refused, ID: j.id, Reason: "cancelled"})
		}
	}
	if err := p.append(entries); err != nil {
		return err
	}
	p.s.mu.Lock()
	p.s.queue = slices.DeleteFunc(p.s.queue, func(j *job) bool { return slices.Contains(jobs, j) })
	p.s.mu.Unlock()
	for _, j := range jobs {
		if len(j.versions) > 0 {
			delete(p.slots.jobs, j.nonce)
			j.release()
		}
		p.reject(j, ErrCancelled)
	}
	return nil
}

// nothing returns the terms that cancel a job: a transfer of zero to oneself, at the suggested fees, but at least 10 %
// above the job's. A cap applies only as far as the node still accepts the replacement.
func (p *pump) nothing(j *job, now prices) (terms, bool) {
	old := j.latest().tx
	least, err := more(old.MaxFeePerGas, 0)
	if err != nil {
		return terms{}, false
	}
	maxFee := max(least, now.maxFee)
	if limit := p.s.cap(j); limit != 0 {
		maxFee = min(maxFee, max(limit, least))
	}
	priority, err := more(old.MaxPriorityFeePerGas, now.priority)
	nothing := client.Transfer(p.s.Account(), 0)
	return terms{nothing, p.intrinsicGas(nothing.Payload), maxFee, min(priority, maxFee)}, err == nil
}
