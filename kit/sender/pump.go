package sender

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// Limits and times.
const (
	maxBatch      = 256     // transactions per request
	witnessRoom   = 300     // assumed bytes of a transaction beside its payload
	maxBatchBytes = 2 << 20 // bytes of several transactions in a request
	window        = 1000    // nonces used beyond those in blocks; the node accepts 1,024
	resyncEvery   = 30 * time.Second
	fillAfter     = 500 * time.Millisecond // how long a gap waits for a job
	holdTime      = 100 * time.Millisecond // pause of new jobs after one was queued again
	firstBackoff  = 200 * time.Millisecond
	longestBack   = 10 * time.Second
	replaceAfter  = 3  // in blocks
	maxVersions   = 32 // per job, including the first
)

// pump sends the jobs of one account, sequentially in one goroutine, so that requests cannot overtake each other. Only
// the pump uses the node and the journal.
type pump struct {
	s     *Sender
	epoch time.Time
	slots *slots

	height   types.Height
	head     uint64 // timestamp of the newest block seen, in milliseconds; 0: none was asked for
	resyncAt time.Duration
	pollAt   time.Duration
	gapSince time.Duration // never if there is no gap
	holdTill time.Duration
	failures int // consecutive failures of the node
	entries  int // number of entries in the journal
}

// journalError is a fatal error of the sender: a failure of the journal.
type journalError struct{ error }

func (e journalError) Unwrap() error { return e.error }

func newPump(s *Sender, entries []Entry) (*pump, error) {
	open, finished, err := restore(entries)
	if err != nil {
		return nil, err
	}
	p := &pump{s: s, epoch: s.options.Clock.Now(), gapSince: never, entries: len(entries)}
	if p.slots, err = newSlots(open); err != nil {
		return nil, err
	}
	for _, j := range open {
		p.slots.jobs[j.nonce] = j
		s.jobs[j.id] = j
	}
	s.finished = finished
	return p, nil
}

func (p *pump) now() time.Duration { return p.s.options.Clock.Now().Sub(p.epoch) }

// run is the main loop of the sender. It returns when the sender is stopped.
func (p *pump) run() {
	for p.s.ctx.Err() == nil {
		if err := p.attempt(); err != nil {
			p.s.stop(err)
			break
		}
		if p.s.ctx.Err() == nil {
			p.s.options.Clock.Sleep(p.pause(), p.s.wake)
		}
	}
	closing := p.s.journal.Close()
	p.s.mu.Lock()
	if closing != nil && errors.Is(p.s.closed, ErrClosed) {
		p.s.closed = closing
	}
	for _, j := range p.s.jobs {
		j.reject(p.s.closed)
	}
	p.s.mu.Unlock()
	close(p.s.ended)
}

// attempt does the due work. It schedules a retry if the node does not respond, and returns other errors.
func (p *pump) attempt() error {
	now := p.now()
	err := p.step(now)
	var fatal journalError
	switch {
	case err == nil:
		if p.failures > 0 {
			p.failures = 0
			p.reportConnection(nil)
		}
		return nil
	case errors.As(err, &fatal):
		return fmt.Errorf("the sender stopped: %w", err)
	case p.s.ctx.Err() != nil:
		return nil // the sender is being closed
	}
	p.failures++
	p.resyncAt = now + p.backoff(err)
	if p.failures == 1 {
		p.reportConnection(err)
	}
	return nil
}

func (p *pump) reportConnection(err error) {
	if p.s.options.OnConnection != nil {
		p.s.options.OnConnection(err)
	}
}

func (p *pump) step(now time.Duration) error {
	if now >= p.resyncAt {
		if !p.busy() {
			return p.compact() // a job that arrives now is taken after a resync
		}
		if err := p.resync(); err != nil {
			return err
		}
	}
	if err := p.cancel(); err != nil {
		return err
	}
	if err := p.post(); err != nil {
		return err
	}
	if len(p.slots.jobs) > 0 && p.now() >= p.pollAt {
		if err := p.settle(); err != nil {
			return err
		}
	}
	return p.compact()
}

// busy reports whether any job is open or queued.
func (p *pump) busy() bool { return len(p.slots.jobs) > 0 || p.queued() > 0 }

func (p *pump) queued() int {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return len(p.s.queue)
}

func (p *pump) backoff(err error) time.Duration {
	if status, ok := errors.AsType[*client.StatusError](err); ok && status.RetryAfter > 0 {
		return min(status.RetryAfter, longestWait)
	}
	if slices.Contains(later, reasonOf(err)) {
		return retryAfter(err)
	}
	return min(firstBackoff<<min(p.failures-1, 10), longestBack)
}

// pause returns how long to sleep, or a negative duration to sleep until woken.
func (p *pump) pause() time.Duration {
	now := p.now()
	if p.failures > 0 {
		return max(p.resyncAt-now, 0)
	}
	if p.mayTake() {
		return 0
	}
	if !p.busy() {
		return -1
	}
	next := p.resyncAt
	for _, j := range p.slots.jobs {
		next = min(next, j.due)
	}
	if len(p.slots.jobs) > 0 {
		next = min(next, p.pollAt)
	}
	if p.queued() > 0 && p.holdTill > now {
		next = min(next, p.holdTill)
	}
	if p.gapSince != never {
		next = min(next, p.gapSince+fillAfter)
	}
	return max(next-now, 0)
}

// ask sends a batch of calls, each of which may fail on its own.
func (p *pump) ask(ctx context.Context, b *client.Batch) error {
	return b.SendOnce(ctx, p.s.client)
}

// append writes entries to the journal. Callers must not act on them before it returns.
func (p *pump) append(entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	if err := p.s.journal.Append(entries); err != nil {
		return journalError{err}
	}
	p.entries += len(entries)
	return nil
}

// resync reads the state of the account: the nonces used in blocks, and its own and other transactions in the pool.
func (p *pump) resync() error {
	var b client.Batch
	takeHead := p.askHead(&b)
	self := p.s.Account().String()
	baseCall := client.Add(&b, api.GetTransactionCount, api.GetTransactionCountParams{Account: self})
	poolCall := client.Add(&b, api.GetPendingTransactions, api.PendingTransactionsParams{
		Filter: api.PendingFilter{Sender: self, Limit: new(uint64(api.MaxPending))},
	})
	heightCall := client.Add(&b, api.BlockNumber, api.NoParams{})
	if err := p.ask(p.s.ctx, &b); err != nil {
		return err
	}
	var err error
	base, pending, height := take(&err, baseCall), take(&err, poolCall), take(&err, heightCall)
	if takeHead(&err); err != nil {
		return err
	}
	now := p.now()
	p.resyncAt, p.pollAt = now+resyncEvery, now
	p.height = types.Height(height)
	p.slots.base = uint64(base)
	pool := make(map[uint64]types.TxID, len(pending))
	for _, tx := range pending {
		pool[uint64(tx.Nonce)] = tx.Hash
	}
	for _, j := range p.slots.meet(pool, now) {
		p.accept(j, pool[j.nonce])
	}
	return nil
}

// askHead adds a query for the time of the newest block to a batch, if a job is valid only for a time. It comes first in
// the batch, so that the answers of the others are of this block or a newer one. The returned function reads the result,
// in milliseconds. It is 0 if it was not asked for, or if several requests were made: then another node may have given
// the other answers, of older blocks.
func (p *pump) askHead(b *client.Batch) func(failed *error) uint64 {
	if !p.timed() {
		return func(*error) uint64 { return 0 }
	}
	call := client.Add(b, api.GetBlockByNumber, api.GetBlockByNumberParams{Block: api.Latest(), HeadersOnly: true})
	return func(failed *error) uint64 {
		head := take(failed, call)
		if head == nil || b.Divided() {
			return 0
		}
		p.head = head.TimestampMs
		return p.head
	}
}

// timed reports whether a job is valid only for a time.
func (p *pump) timed() bool {
	if p.s.options.ValidFor != 0 {
		return true
	}
	for _, j := range p.slots.jobs {
		if j.until != nil {
			return true
		}
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	return slices.ContainsFunc(p.s.queue, func(j *job) bool { return j.said.ValidFor != 0 || j.until != nil })
}

// accept records that a node has a job's transaction.
func (p *pump) accept(j *job, hash types.TxID) {
	filler := j.isFiller() && !j.accepted.isDecided()
	j.out, j.pooled, j.due = true, true, never
	if j.since == 0 {
		j.since = p.height
	}
	if !j.isCancelled() {
		j.accept(hash)
	}
	if filler && p.s.options.OnFiller != nil {
		p.s.options.OnFiller(hash)
	}
}

// reject ends a job that no block will include.
func (p *pump) reject(j *job, err error) {
	p.s.drop(j, nil)
	j.reject(err)
}

// requeue puts jobs at the front of the queue.
func (p *pump) requeue(jobs ...*job) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.s.queue = slices.Concat(jobs, p.s.queue)
}

// compact rewrites the journal once most of its entries are obsolete.
func (p *pump) compact() error {
	const slack = 4096
	p.s.mu.Lock()
	live := len(p.s.finished)
	p.s.mu.Unlock()
	for _, j := range p.slots.jobs {
		live += len(j.versions)
	}
	if p.entries <= 2*live+slack {
		return nil
	}
	entries := make([]Entry, 0, live)
	p.s.mu.Lock()
	for id, d := range p.s.finished {
		entries = append(entries, d.entry(id))
	}
	p.s.mu.Unlock()
	for _, j := range p.slots.those(func(*job) bool { return true }) {
		entries = append(entries, j.entries()...)
	}
	if err := p.s.journal.Replace(entries); err != nil {
		return journalError{err}
	}
	p.entries = len(entries)
	return nil
}
