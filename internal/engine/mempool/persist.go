package mempool

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/types"
)

// Journaled transactions are taken up this many, or this many bytes, at a time: enough for several cores' batches.
const (
	replayBatch = 8 * batchSize
	replayBytes = 16 << 20
)

// rewriteSlack is by how many bytes the journal may be longer than twice what is alive in it before it is rewritten.
const rewriteSlack = 16 << 20

// openJournal takes up what the journal holds and starts it anew with what of that is still valid.
func (p *Pool) openJournal() error {
	opts := journal.Options{FS: p.opts.FS, Path: p.opts.Journal, Sync: p.opts.SyncJournal}
	r := &replay{pool: p}
	report, err := journal.Read(opts.FS, opts.Path, func(payload []byte) error {
		r.take(payload)
		return nil
	})
	if err != nil {
		return err
	}
	r.flush()
	p.sortArrivals()
	p.opts.Log.Info("mempool journal read", "transactions", len(p.byID), "records", report.Records, "dropped", r.refused)
	if report.Damaged > 0 || report.Lost > 0 {
		p.opts.Log.Warn("mempool journal is damaged", "records", report.Damaged, "bytes_lost", report.Lost)
	}
	p.journal, err = journal.Create(opts, p.payloads())
	return err
}

// replay takes up the payloads of a journal.
type replay struct {
	pool    *Pool
	waiting []*candidate
	bytes   int // of waiting
	refused int // payloads that are not pending now
}

// take takes up a payload, at the latest when flush is called.
func (r *replay) take(payload []byte) {
	record, ok := decodeRecord(payload)
	if !ok {
		r.refused++
		return
	}
	if record.dropped != nil {
		r.flush() // it may be waiting
		r.pool.remove(*record.dropped)
		return
	}
	added, encoded, now := record.added, record.encoded, r.pool.opts.Now()
	if added.After(now) {
		added = now // in the future it would never expire
	}
	c := &candidate{restored: true}
	c.decode(r.pool.head.Env, encoded, added)
	if c.err == nil && now.Sub(added) >= r.pool.opts.Expiry {
		c.err = errExpired
	}
	r.waiting = append(r.waiting, c)
	if r.bytes += len(encoded); len(r.waiting) == replayBatch || r.bytes >= replayBytes {
		r.flush()
	}
}

// flush puts what waits into the pool.
func (r *replay) flush() {
	if len(r.waiting) == 0 {
		return
	}
	b := &batch{candidates: r.waiting}
	r.pool.screen(b)
	if waiting := b.pending(); len(waiting) > 0 {
		r.pool.verifier.honest.verify(context.Background(), waiting)
	}
	r.pool.insertAll(b)
	r.refused += len(r.waiting) - len(b.pending())
	r.waiting, r.bytes = nil, 0
}

var errExpired = errors.New("transaction has waited too long")

// sortArrivals brings restored transactions back into the order of their arrival; the journal has them by sender.
func (p *Pool) sortArrivals() {
	entries := make([]*entry, 0, len(p.byID))
	for e := p.arrivals.Front(); e != nil; e = e.Next() {
		entries = append(entries, e.Value.(*entry))
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.added.UnixNano(), b.added.UnixNano()) })
	p.arrivals = list.New()
	for i, e := range entries {
		e.sequence = uint64(i + 1)
		e.arrival = p.arrivals.PushBack(e)
	}
	p.sequence = uint64(len(entries))
	for _, s := range p.senders {
		p.order.update(s)
	}
}

// appendToJournal appends records, all or none.
func (p *Pool) appendToJournal(records ...[]byte) error {
	err := p.journal.Append(records...)
	p.requestRewrite()
	p.tellOfJournal(err)
	return err
}

// needsRewrite reports whether the journal is too long for what is alive, or has failed.
func (p *Pool) needsRewrite() bool {
	p.mu.Lock()
	alive := int64(p.usage.bytes) + int64(p.usage.count*journal.RecordBytes(recordPrefix))
	p.mu.Unlock()
	return p.journal.Size() > 2*alive+rewriteSlack || p.journal.Err() != nil
}

func (p *Pool) requestRewrite() {
	if !p.needsRewrite() {
		return
	}
	select {
	case p.rewrite <- struct{}{}:
	default:
	}
}

// tellOfJournal logs when appending to the journal begins to fail, and when it does not any more.
func (p *Pool) tellOfJournal(err error) {
	switch failing := err != nil; {
	case errors.Is(err, journal.ErrClosed) || p.journalFails.Swap(failing) == failing:
	case failing:
		p.opts.Log.Error("transactions are refused: the mempool journal cannot be written", "error", err)
	default:
		p.opts.Log.Info("transactions are taken again: the mempool journal is written")
	}
}

// rewriteLoop rewrites the journal when asked to, after a failure not again for a minute.
func (p *Pool) rewriteLoop() {
	var retry time.Time
	for {
		select {
		case <-p.done:
			return
		case <-p.rewrite:
		}
		now := p.opts.Now()
		if now.Before(retry) || !p.needsRewrite() {
			continue
		}
		if err := p.rewriteJournal(); err != nil {
			retry = now.Add(time.Minute)
			p.opts.Log.Error("mempool journal could not be rewritten", "error", err)
		}
	}
}

func (p *Pool) rewriteJournal() error {
	p.rewriting.Lock()
	defer p.rewriting.Unlock()
	p.writing.Lock()
	mark := p.journal.Size()
	p.writing.Unlock()
	return p.journal.Rewrite(mark, p.payloads())
}

// payloads is the journal's payloads of what is in the pool now: each sender's by nonce, so that reading them back
// fills its run without holding any.
func (p *Pool) payloads() iter.Seq[[]byte] {
	type pending struct {
		tx    *types.VerifiedTx
		added time.Time
	}
	p.mu.Lock()
	records := make([]pending, 0, len(p.byID))
	for _, s := range p.senders {
		for _, part := range [][]*entry{s.run, s.held} {
			for _, e := range part {
				records = append(records, pending{e.tx, e.added})
			}
		}
	}
	p.mu.Unlock()
	return func(yield func([]byte) bool) {
		for _, r := range records {
			if !yield(appendTaken(nil, r.added, r.tx)) {
				return
			}
		}
	}
}
