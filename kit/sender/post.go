package sender

import (
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// post sends the due jobs, together with new ones, which it prepares, signs with nonces and writes to the journal
// first.
func (p *pump) post() error {
	now := p.now()
	p.fill(now)
	fresh, err := p.sign(p.take())
	if err != nil {
		return err
	}
	entries := make([]Entry, len(fresh))
	for i, j := range fresh {
		entries[i] = j.entry(0)
	}
	if err := p.append(entries); err != nil {
		return err
	}
	due := p.slots.due(now)
	if len(due) == 0 || p.s.ctx.Err() != nil {
		return nil
	}
	return p.deliver(due[:fitting(due, func(j *job) int { return len(j.latest().raw) })])
}

// fitting returns the number of jobs that fit in one request by total size: at least one.
func fitting(jobs []*job, size func(*job) int) int {
	total := 0
	for i, j := range jobs {
		total += size(j)
		if i == maxBatch || i > 0 && total > maxBatchBytes {
			return i
		}
	}
	return len(jobs)
}

// deliver sends the bytes of jobs and processes the node's replies.
func (p *pump) deliver(batch []*job) error {
	var b client.Batch
	calls := make([]client.Pending[types.TxID], len(batch))
	for i, j := range batch {
		calls[i] = client.Add(&b, api.SendRawTransaction, api.RawTransactionParams{Transaction: j.latest().raw})
	}
	err := p.ask(p.s.ctx, &b)
	var refusal *client.Error // a refusal of the whole batch is set on each call
	if err != nil && !errors.As(err, &refusal) {
		if !untaken(err) {
			for _, j := range batch {
				j.out = true
			}
		}
		return err
	}
	var refused []*job
	var reasons []error
	for i, j := range batch {
		hash, err := calls[i].Result()
		a := j.read(hash, err, p.now())
		if a.accepted {
			p.accept(j, j.latest().hash)
		}
		if a.misplaced {
			p.resyncAt = p.now()
		}
		if a.refused != nil {
			refused, reasons = append(refused, j), append(reasons, a.refused)
		}
	}
	return p.refuse(refused, reasons)
}

// untaken reports whether a request was refused before the node examined its content.
func untaken(err error) bool {
	var status *client.StatusError
	return errors.As(err, &status) && slices.Contains([]int{401, 403, 413, 415, 429}, status.Status)
}

// refuse removes refused jobs from their nonces. Those that another nonce or fee may help are queued again.
func (p *pump) refuse(jobs []*job, reasons []error) error {
	entries := make([]Entry, len(jobs))
	for i, j := range jobs {
		entries[i] = Entry{Type: Refused, ID: j.id, Reason: reasonOf(reasons[i])}
	}
	// Write the journal first: otherwise a restart could send a job that its caller believes refused.
	if err := p.append(entries); err != nil {
		return err
	}
	var again []*job
	for i, j := range jobs {
		delete(p.slots.jobs, j.nonce)
		j.release()
		dearer := errors.Is(reasons[i], api.ErrFeeTooLow) && !j.tooCheap // only once: a cap that is too low stays so
		if !dearer && !slices.Contains(places, reasonOf(reasons[i])) {
			p.reject(j, reasons[i])
			continue
		}
		j.tooCheap = dearer
		p.holdTill = p.now() + holdTime
		again = append(again, j)
	}
	p.requeue(again...)
	return nil
}

// mayTake reports whether the next queued job may be sent now. A sweep must be alone, with nothing open.
func (p *pump) mayTake() bool {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	if len(p.s.queue) == 0 || p.now() < p.holdTill {
		return false
	}
	if p.s.queue[0].sweep != nil {
		return len(p.slots.jobs) == 0
	}
	for _, j := range p.slots.jobs {
		if j.sweep != nil {
			return false
		}
	}
	return p.slots.free(p.slots.base)-p.slots.base < window
}

// take removes the jobs from the queue that may be sent now.
func (p *pump) take() []*job {
	if !p.mayTake() {
		return nil
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	count := 1
	if p.s.queue[0].sweep == nil {
		nonce := p.slots.free(p.slots.base)
		for count = 0; count < len(p.s.queue) && nonce-p.slots.base < window; count++ {
			if p.s.queue[count].sweep != nil {
				break
			}
			nonce = p.slots.free(nonce + 1)
		}
		count = fitting(p.s.queue[:count], func(j *job) int { return len(types.EncodePayload(j.action.Payload)) + witnessRoom })
	}
	taken := slices.Clone(p.s.queue[:count])
	p.s.queue = slices.Delete(p.s.queue, 0, count)
	return taken
}

// price determines the terms of jobs that have no nonce yet, so a failure here uses none.
func (p *pump) price(jobs []*job) (ready []*job, found []terms, err error) {
	if jobs[0].sweep != nil {
		t, err := p.sweep(p.s.ctx, jobs[0])
		if errors.Is(err, ErrInsufficientForFee) {
			p.reject(jobs[0], err)
			return nil, nil, nil
		}
		return jobs, []terms{t}, err
	}
	all, err := p.prepare(p.s.ctx, jobs)
	if err != nil {
		return nil, nil, err
	}
	p.requeue(jobs[len(all):]...)
	for i, j := range jobs[:len(all)] {
		if all[i].err != nil {
			p.reject(j, all[i].err)
			continue
		}
		ready, found = append(ready, j), append(found, all[i].terms)
	}
	return ready, found, nil
}

// sign assigns terms and the lowest free nonces to jobs and signs them. If the node does not respond, it queues them
// again. A job that a signer refuses ends with the signer's error.
func (p *pump) sign(jobs []*job) ([]*job, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	ready, found, err := p.price(jobs)
	if err != nil {
		p.requeue(jobs...)
		return nil, err
	}
	nonce := p.slots.base
	for i, j := range ready {
		nonce = p.slots.free(nonce)
		p.slots.jobs[nonce] = j
		j.nonce, j.until = nonce, p.until(j)
		j.action = found[i].action
	}
	failed := p.addVersions(ready, found, false)
	signed := ready[:0]
	for i, j := range ready {
		if failed[i] == nil {
			signed = append(signed, j)
			continue
		}
		delete(p.slots.jobs, j.nonce)
		if p.s.ctx.Err() == nil { // otherwise it ends with the sender
			p.reject(j, failed[i])
		}
	}
	return signed, nil
}

// addVersions signs jobs at their nonces and makes the new versions due. It returns an error for each that was not
// signed.
func (p *pump) addVersions(jobs []*job, with []terms, cancel bool) (failed []error) {
	txs := make([]types.Transaction, len(jobs))
	for i, j := range jobs {
		txs[i] = types.Transaction{
			Sender:               p.s.Account(),
			Target:               with[i].action.Target,
			ChainID:              p.s.chainID,
			Nonce:                j.nonce,
			GasLimit:             with[i].gasLimit,
			MaxFeePerGas:         with[i].maxFee,
			MaxPriorityFeePerGas: with[i].priority,
			Value:                with[i].action.Value,
			ValidUntil:           j.until,
			Payload:              with[i].action.Payload,
		}
		if payer := p.s.options.Payer; payer != nil {
			txs[i].Payer = new(payer.Account())
		}
	}
	signed, failed := p.signAll(txs)
	for i, j := range jobs {
		if failed[i] != nil {
			continue
		}
		j.versions = append(j.versions, version{
			tx: txs[i], raw: signed[i].Encode(), hash: signed[i].ID(), cancels: cancel || j.isCancelled(),
		})
		j.due = 0
	}
	return failed
}

// signAll signs transactions as their sender and, if there is one, as their payer.
func (p *pump) signAll(txs []types.Transaction) (signed []types.SignedTransaction, failed []error) {
	failed = make([]error, len(txs))
	payer := p.s.options.Payer
	if _, byKey := p.s.signer.(client.KeySigner); byKey && payer == nil {
		signed, err := client.SignAll(p.s.ctx, p.s.signer, txs)
		for i := range failed {
			failed[i] = err
		}
		return signed, failed
	}
	signed = make([]types.SignedTransaction, len(txs))
	now := time.UnixMilli(int64(p.nowMs()))
	for i, tx := range txs {
		if signed[i], failed[i] = client.Sign(p.s.ctx, p.s.signer, tx); failed[i] == nil && payer != nil {
			signed[i], failed[i] = client.Sponsor(p.s.ctx, payer, signed[i], now)
		}
	}
	return signed, failed
}

// until returns the valid_until of a job that is signed now. A job that was signed before keeps its own.
func (p *pump) until(j *job) *uint64 {
	lasts := p.s.validFor(j)
	if lasts == 0 || j.until != nil {
		return j.until
	}
	return new(p.nowMs() + uint64(lasts.Milliseconds()))
}

// nowMs returns the present in milliseconds of Unix time, which is not before the newest block that was seen.
func (p *pump) nowMs() uint64 {
	return max(uint64(max(p.s.options.Clock.Now().UnixMilli(), 0)), p.head)
}

// fill sends a zero transfer to oneself at an unused nonce, if others wait behind it and no job arrives.
func (p *pump) fill(now time.Duration) {
	switch {
	case !p.slots.hasGap() || p.queued() > 0:
		p.gapSince = never
		return
	case p.gapSince == never:
		p.gapSince = now
	}
	if now-p.gapSince < fillAfter {
		return
	}
	p.gapSince = never
	nothing := client.Transfer(p.s.Account(), 0)
	j := newJob(fillerIDs+rand.Text(), digestOf(nothing), nothing, Job{})
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.jobs[j.id] = j
	p.s.queue = append(p.s.queue, j)
}
