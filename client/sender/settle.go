package sender

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// settle looks whether blocks have what is open, and replaces what they leave out.
func (p *pump) settle() error {
	var b client.Batch
	baseCall := client.Add(&b, api.GetTransactionCount, api.GetTransactionCountParams{Account: p.s.Account().String()})
	heightCall := client.Add(&b, api.BlockNumber, api.NoParams{})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	var err error
	base, height := take(&err, baseCall), take(&err, heightCall)
	if err != nil {
		return err
	}
	p.pollAt = p.now() + p.s.options.Poll
	if uint64(base) < p.slots.base {
		p.resyncAt = p.now() // a development chain went back, or another node answers
	}
	p.slots.moveTo(uint64(base))
	p.height = types.Height(height)
	for jobs := range slices.Chunk(p.slots.used(), maxBatch) {
		if err := p.conclude(jobs); err != nil {
			return err
		}
	}
	return p.replace()
}

// conclude finds the receipts of jobs whose nonces blocks have used.
func (p *pump) conclude(jobs []*job) error {
	receipts, err := p.receipts(jobs)
	if err != nil {
		return err
	}
	var ended, cancelled, absent []*job
	var dones []done
	var entries []Entry
	for _, j := range jobs {
		r, found := receipts[j]
		switch {
		case !found:
			absent = append(absent, j)
		case j.has(r.TransactionHash, true):
			cancelled = append(cancelled, j)
		default:
			d := done{j.digest, r.TransactionHash, r.BlockHeight, 0}
			if client.Failure(r) == nil {
				d.status = 1
			}
			ended, dones, entries = append(ended, j), append(dones, d), append(entries, d.entry(j.id))
		}
	}
	if err := p.append(entries); err != nil {
		return err
	}
	for i, j := range ended {
		delete(p.slots.jobs, j.nonce)
		p.s.drop(j, &dones[i])
		j.end(receipts[j])
	}
	if err := p.withdraw(cancelled); err != nil {
		return err
	}
	for _, j := range absent {
		if err := p.displaced(j); err != nil {
			return err
		}
	}
	return nil
}

// receipts are those of the jobs that have one, of whichever version.
func (p *pump) receipts(jobs []*job) (map[*job]api.Receipt, error) {
	type question struct {
		job  *job
		hash types.TxID
	}
	var questions []question
	for _, j := range jobs {
		for _, v := range j.versions {
			questions = append(questions, question{j, v.hash})
		}
	}
	found := make(map[*job]api.Receipt, len(jobs))
	for some := range slices.Chunk(questions, maxBatch) {
		var b client.Batch
		calls := make([]client.Pending[*api.Receipt], len(some))
		for i, q := range some {
			calls[i] = client.Add(&b, api.GetTransactionReceipt, api.TransactionParams{Hash: q.hash})
		}
		if err := p.ask(p.s.ctx, &b); err != nil {
			return nil, err
		}
		for i, q := range some {
			receipt, err := calls[i].Result()
			if err != nil && !errors.Is(err, api.ErrPruned) { // a node that keeps a part cannot know, as one that is behind
				return nil, err
			}
			if receipt != nil && receipt.TransactionHash == q.hash {
				found[q.job] = *receipt
			}
		}
	}
	return found, nil
}

// displaced asks what used the nonce of a job without a receipt. Only another transaction in a block shows that ours
// can never be included; without one the job waits, as it may have been paid.
func (p *pump) displaced(j *job) error {
	var b client.Batch
	call := client.Add(&b, api.GetTransactionByNonce, api.TransactionByNonceParams{
		Account: p.s.Account().String(), Nonce: api.LooseQuantity(j.nonce),
	})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	other, err := call.Result()
	var refusal *client.Error // such as that the search is too long
	switch {
	case err != nil && !errors.As(err, &refusal):
		return err
	case err != nil || other == nil || other.BlockHash == nil || uint64(other.Nonce) != j.nonce ||
		other.From != p.s.Account():
		if !j.undecided && p.s.options.OnUndecided != nil {
			p.s.options.OnUndecided(j.id)
		}
		j.undecided = true
		return nil
	case j.has(other.Hash, false):
		return nil // its receipt comes with the next look
	case j.isCancelled():
		return p.withdraw([]*job{j})
	}
	if err := p.append([]Entry{{Type: Refused, ID: j.id, Reason: "displaced"}}); err != nil {
		return err
	}
	delete(p.slots.jobs, j.nonce)
	j.release()
	if p.s.options.RejectDisplaced {
		p.reject(j, fmt.Errorf("%w: %s", ErrDisplaced, other.Hash))
	} else {
		p.requeue(j)
	}
	return nil
}

// replace raises the fees of what blocks have left out: the lowest nonce, and what pays less than the next base fee.
func (p *pump) replace() error {
	return p.addPriced(p.slots.waiting(p.height, replaceAfter), false, p.replacement)
}

// addPriced adds versions to jobs, on the terms that there are for each at the node's prices. With cancels these cancel
// them.
func (p *pump) addPriced(jobs []*job, cancels bool, price func(*job, prices) (terms, bool)) error {
	if len(jobs) == 0 {
		return nil
	}
	var b client.Batch
	priceCall := client.Add(&b, api.GasPrice, api.NoParams{})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	var err error
	now := pricesOf(&err, priceCall)
	if err != nil {
		return err
	}
	var priced []*job
	var with []terms
	for _, j := range jobs {
		j.since = p.height
		if t, ok := price(j, now); ok {
			priced, with = append(priced, j), append(with, t)
		}
	}
	if err := p.addVersions(priced, with, cancels); err != nil {
		return err
	}
	entries := make([]Entry, len(priced))
	for i, j := range priced {
		entries[i] = j.entry(len(j.versions) - 1)
	}
	return p.append(entries)
}

// replacement is what a job is replaced by, if it is.
func (p *pump) replacement(j *job, now prices) (terms, bool) {
	old := j.latest().tx
	switch {
	case len(j.versions) >= maxVersions, j.nonce != p.slots.base && old.MaxFeePerGas >= now.base:
		return terms{}, false
	case j.sweep != nil && !j.isCancelled():
		return sweepAgain(old, now, p.s.cap(j))
	}
	return raised(old, now, p.s.cap(j))
}
