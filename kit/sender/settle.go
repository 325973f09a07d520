package sender

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// settle checks which open jobs are in blocks, and replaces those that blocks leave out.
func (p *pump) settle() error {
	var b client.Batch
	takeHead := p.askHead(&b)
	baseCall := client.Add(&b, api.GetTransactionCount, api.GetTransactionCountParams{Account: p.s.Account().String()})
	heightCall := client.Add(&b, api.BlockNumber, api.NoParams{})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	var err error
	base, height := take(&err, baseCall), take(&err, heightCall)
	head := takeHead(&err)
	if err != nil {
		return err
	}
	p.pollAt = p.now() + p.s.options.Poll
	if uint64(base) < p.slots.base {
		p.resyncAt = p.now() // a development chain was reverted, or another node is behind
	}
	p.slots.moveTo(uint64(base))
	p.height = types.Height(height)
	for used := p.slots.used(); len(used) > 0; {
		versions, count := 0, 0
		for count < len(used) && versions+len(used[count].versions) <= maxBatch {
			versions += len(used[count].versions)
			count++
		}
		if err := p.conclude(used[:count]); err != nil {
			return err
		}
		used = used[count:]
	}
	if err := p.expire(p.slots.late(head)); err != nil {
		return err
	}
	return p.replace()
}

// expire ends jobs that no block has and none can have any more.
func (p *pump) expire(jobs []*job) error {
	entries := make([]Entry, len(jobs))
	for i, j := range jobs {
		entries[i] = Entry{Type: Refused, ID: j.id, Reason: reasonOf(api.ErrExpired)}
	}
	if err := p.append(entries); err != nil {
		return err
	}
	for _, j := range jobs {
		why := ErrCancelled
		if !j.isCancelled() {
			why = &client.Error{
				Code: api.ErrExpired.Code, Message: "the job was valid until a time that is over, and no block has it",
				Data: map[string]any{"reason": reasonOf(api.ErrExpired), "hash": j.latest().hash},
			}
		}
		delete(p.slots.jobs, j.nonce)
		j.release()
		p.reject(j, why)
	}
	return nil
}

// conclude requests the receipts of jobs whose nonces are used, in one request. It processes the available receipts
// even if others fail.
func (p *pump) conclude(jobs []*job) error {
	findings, failed := p.receipts(jobs)
	var ended, cancelled, absent, expired []*job
	var dones []done
	var entries []Entry
	for _, j := range jobs {
		r, f := findings[j].receipt, findings[j]
		switch {
		case f.unknown:
		case r == nil && j.expired(f.head):
			expired = append(expired, j)
		case r == nil:
			absent = append(absent, j)
		case j.has(r.TransactionHash, true):
			cancelled = append(cancelled, j)
		default:
			d := done{j.digest, r.TransactionHash, r.BlockHeight, 0}
			if client.Failure(*r) == nil {
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
		p.end(j, *findings[j].receipt)
	}
	if err := p.withdraw(cancelled); err != nil {
		return err
	}
	if err := p.expire(expired); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	for _, j := range absent {
		if err := p.displaced(j); err != nil {
			return err
		}
	}
	return nil
}

// end ends a job that is in a block. A sweep that did not use all of its gas leaves the unused gas in the account, as
// another transaction created the recipient's account meanwhile: the rest is swept before the caller learns of the end.
func (p *pump) end(j *job, receipt api.Receipt) {
	tx := j.latest().tx
	if j.sweep == nil || tx.Payer != nil || client.Failure(receipt) != nil || types.Gas(receipt.GasUsed) >= tx.GasLimit {
		j.end(receipt)
		return
	}
	said := p.s.said(j)
	rest := newJob(restIDs+rand.Text(), j.digest, client.Action{}, Job{MaxFee: said.MaxFee, ValidFor: said.ValidFor})
	rest.sweep, rest.then = j.sweep, func() { j.end(receipt) }
	p.s.mu.Lock()
	p.s.jobs[rest.id] = rest
	p.s.mu.Unlock()
	p.requeue(rest)
}

// finding is the result of a search for a job's receipt.
type finding struct {
	receipt *api.Receipt
	unknown bool   // a query failed, and no other one found a receipt
	head    uint64 // without a receipt: time up to which the asked node has all blocks, in milliseconds; 0: unknown
}

// receipts requests the receipts of all versions of jobs in one request. It returns a finding for each job, and the
// first error of a query.
func (p *pump) receipts(jobs []*job) (findings map[*job]finding, failed error) {
	var b client.Batch
	takeHead := p.askHead(&b)
	calls := make(map[*job][]client.Pending[*api.Receipt], len(jobs))
	for _, j := range jobs {
		for _, v := range j.versions {
			calls[j] = append(calls[j], client.Add(&b, api.GetTransactionReceipt, api.TransactionParams{Hash: v.hash}))
		}
	}
	_ = p.ask(p.s.ctx, &b) // each call has its own error
	head := takeHead(&failed)
	findings = make(map[*job]finding, len(jobs))
	for _, j := range jobs {
		f, err := j.find(calls[j], head)
		if err == nil && f.receipt == nil && j.until != nil && b.Divided() && len(jobs) > 1 {
			var alone map[*job]finding
			alone, err = p.receipts([]*job{j})
			f = alone[j]
		}
		findings[j], failed = f, cmp.Or(failed, err)
	}
	return findings, failed
}

// find reads the answers to the queries for the receipts of a job's versions, of a node with a head. It returns the
// error of a query unless there is a receipt.
func (j *job) find(calls []client.Pending[*api.Receipt], head uint64) (f finding, failed error) {
	f.head = head
	for i, call := range calls {
		receipt, err := call.Result()
		switch {
		case errors.Is(err, api.ErrPruned): // a node that is behind or has pruned the block cannot know
			f.head = 0
		case err != nil:
			failed = err
		case receipt != nil && receipt.TransactionHash == j.versions[i].hash:
			return finding{receipt: receipt}, nil
		}
	}
	f.unknown = failed != nil
	return f, failed
}

// displaced finds out which transaction used the nonce of a job without a receipt. Only another transaction in a block
// proves that the job's can never be included; without that proof the job waits, as it may have been paid.
func (p *pump) displaced(j *job) error {
	var b client.Batch
	call := client.Add(&b, api.GetTransactionByNonce, api.TransactionByNonceParams{
		Account: p.s.Account().String(), Nonce: api.LooseQuantity(j.nonce),
	})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	other, err := call.Result()
	var refusal *client.Error // for example, the search is too long
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
		return nil // the next poll gets its receipt
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

// replace raises the fees of transactions that blocks leave out: the one at the lowest nonce, and those whose max fee
// is below the next base fee.
func (p *pump) replace() error {
	return p.addPriced(p.slots.waiting(p.height, replaceAfter), false, p.replacement)
}

// addPriced adds versions to jobs, on terms computed from the node's prices. With cancels, they cancel the jobs.
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
	var entries []Entry
	for i, failed := range p.addVersions(priced, with, cancels) {
		if j := priced[i]; failed == nil { // otherwise the signer is asked again later
			entries = append(entries, j.entry(len(j.versions)-1))
		}
	}
	return p.append(entries)
}

// replacement returns the terms of a job's replacement. ok is false if it is not replaced.
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
