package mempool

import (
	"cmp"
	"container/list"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/types"
)

// Replay takes this many transactions or bytes at a time: enough for the batches of several cores.
const (
	replayBatch = 8 * batchSize
	replayBytes = 16 << 20
)

// rewriteSlack is the number of bytes by which the journal may exceed twice its live content before it is rewritten.
const rewriteSlack = 16 << 20

// openJournal replays the journal, and starts a new one with the transactions that are still valid.
func (p *Pool) openJournal() error {
	opts := journal.Options{FS: p.opts.FS, Path: p.opts.Journal, Sync: p.opts.SyncJournal, Lazy: p.opts.replicated}
	passed, report, err := p.readJournal(opts)
	if err != nil {
		return err
	}
	p.opts.Log.Info("read the mempool journal",
		"transactions", len(p.index.byID), "records", report.Records, "dropped", passed)
	if report.Absent && p.head.Height > 0 {
		p.opts.Log.Warn(emergency.MissingJournal(p.opts.Journal).Error())
	}
	p.logDamage(report)
	p.journal, err = journal.Create(opts, p.payloads())
	return err
}

// logDamage logs damage to the journal, its cost, and a remedy.
func (p *Pool) logDamage(report journal.Report) {
	switch {
	case report.Lost > 0:
		e := emergency.DamagedJournal(p.opts.Journal, report.Records, report.Damaged, p.opts.replicated)
		p.opts.Log.Error(e.Error(), "read", report.Records, "lost_at_least", report.Damaged, "bytes_passed_over", report.Lost)
	case report.Torn > 0:
		p.opts.Log.Warn(emergency.TornJournal(p.opts.Journal, report.Torn).Error())
	}
}

// readJournal replays a journal, and returns the number of its transactions that are not pending now. On a member of a
// cluster it restores the journal's last position in the log, if there is one and the chain still has the state there.
func (p *Pool) readJournal(opts journal.Options) (passed int, report journal.Report, err error) {
	if p.opts.replicated {
		h, err := p.readHistory(opts)
		if err != nil {
			return 0, report, err
		}
		if h != nil {
			if err := p.restorePosition(h.at); err == nil {
				return p.resume(opts, h)
			} else {
				p.opts.Log.Warn("the state at which the pending transactions were accepted is pruned: checking them "+
					"against the current state",
					"height", h.at.Height, "error", err)
			}
		}
	}
	r := &replay{pool: p}
	report, err = journal.Read(opts.FS, opts.Path, func(payload []byte) error {
		r.read(payload)
		return nil
	})
	r.flush()
	p.sortArrivals()
	return r.refused, report, err
}

// replay adds the payloads of a journal to the pool.
type replay struct {
	pool    *Pool
	waiting []*candidate
	bytes   int // size of waiting
	refused int // payloads that are not pending now
}

// read adds a payload, at the latest when flush is called.
func (r *replay) read(payload []byte) {
	record, ok := decodeRecord(payload)
	if !ok {
		r.refused++
		return
	}
	switch {
	case record.dropped != nil:
		r.flush() // it may be in waiting
		r.pool.remove(*record.dropped)
		return
	case record.at != nil:
		return
	}
	added, encoded, now := record.added, record.encoded, r.pool.opts.Clock()
	// A transaction from the future would not expire. A cluster's times are not adjusted: a member that catches up
	// restores the pool first, and learns the log's time with the blocks.
	if added.After(now) && !r.pool.opts.replicated {
		added = now
	}
	c := &candidate{restored: true}
	c.decode(r.pool.rules(), encoded, added)
	if c.err == nil && now.Sub(added) >= r.pool.opts.Expiry {
		c.err = errExpired
	}
	r.waiting = append(r.waiting, c)
	if r.bytes += len(encoded); len(r.waiting) == replayBatch || r.bytes >= replayBytes {
		r.flush()
	}
}

// flush adds the waiting candidates to the pool.
func (r *replay) flush() {
	if len(r.waiting) == 0 {
		return
	}
	b := &batch{candidates: r.waiting}
	r.pool.screen(b)
	if waiting := b.pending(); len(waiting) > 0 {
		r.pool.verifier.checkAll(context.Background(), waiting)
	}
	r.pool.insertAll(b)
	r.refused += len(r.waiting) - len(b.pending())
	for _, c := range r.waiting {
		if errors.Is(c.err, errExpired) {
			r.pool.fates.put(c.tx.ID(), Fate{Cause: Expired})
		}
	}
	r.waiting, r.bytes = nil, 0
}

var errExpired = errors.New("the transaction was pending for too long")

// sortByTime sorts the arrivals by time. It does not change their sequence numbers, which a builder may be reading.
func (p *Pool) sortByTime() []*entry {
	entries := make([]*entry, 0, len(p.index.byID))
	for e := p.index.arrivals.Front(); e != nil; e = e.Next() {
		entries = append(entries, e.Value.(*entry))
	}
	slices.SortStableFunc(entries, func(a, b *entry) int { return cmp.Compare(a.added.UnixNano(), b.added.UnixNano()) })
	p.index.arrivals = list.New()
	for _, e := range entries {
		e.arrival = p.index.arrivals.PushBack(e)
	}
	return entries
}

// sortArrivals sorts replayed transactions by time of arrival. The journal has them by sender.
func (p *Pool) sortArrivals() {
	entries := p.sortByTime()
	for i, e := range entries {
		e.sequence = uint64(i + 1)
	}
	p.index.sequence = uint64(len(entries))
	for _, s := range p.index.senders {
		p.index.order.changed(s)
		s.payList = s.paid()
		slices.SortFunc(s.payList, func(a, b *entry) int { return cmp.Compare(a.sequence, b.sequence) })
	}
}

// appendToJournal appends all records or none.
func (p *Pool) appendToJournal(records ...[]byte) error {
	err := p.journal.Append(records...)
	p.requestRewrite()
	p.logJournal(err)
	return err
}

// needsRewrite reports whether the journal has failed or is too long for its live content.
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
	case p.rewriteWanted <- struct{}{}:
	default:
	}
}

// probeBytes is the free space, in bytes, that a failed journal needs before it is used again.
const probeBytes = 64 << 10

// Failing returns the reason why transactions are currently refused because of the journal, or nil. During a failure it
// tests whether there is room again: clients that know of the failure send no transactions, so nothing else would show
// the end of it. The test writes to the disk, so it should not be called often.
func (p *Pool) Failing() error {
	if p.journal == nil || !p.journalFails.Load() {
		return nil
	}
	p.probing.Lock()
	defer p.probing.Unlock()
	err := p.journal.Err()
	if err == nil {
		err = probe(p.opts.FS, p.opts.Journal+".probe")
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrJournal, err)
	}
	p.logJournal(nil)
	return nil
}

// probe writes a file and removes it.
func probe(files journal.FS, name string) error {
	file, err := files.Create(name)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, probeBytes))
	if err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), files.Remove(name))
}

// logJournal logs when appending to the journal starts to fail and when it works again.
func (p *Pool) logJournal(err error) {
	switch failing := err != nil; {
	case errors.Is(err, journal.ErrClosed) || p.journalFails.Swap(failing) == failing:
	case failing:
		p.opts.Log.Error("refusing transactions: cannot write the mempool journal", "error", err)
	default:
		p.opts.Log.Info("accepting transactions again: the mempool journal is writable")
	}
}

// rewriteLoop rewrites the journal on request. After a failure it ignores requests for a minute.
func (p *Pool) rewriteLoop() {
	var retry time.Time
	for {
		select {
		case <-p.done:
			return
		case <-p.rewriteWanted:
		}
		now := p.opts.Now()
		if now.Before(retry) || !p.needsRewrite() {
			continue
		}
		if err := p.rewriteJournal(); err != nil {
			retry = now.Add(time.Minute)
			p.opts.Log.Error("cannot compact the mempool journal", "error", err)
		}
	}
}

func (p *Pool) rewriteJournal() error {
	p.rewriting.Lock()
	defer p.rewriting.Unlock()
	p.moving.Lock()
	mark, payloads := p.alive()
	p.moving.Unlock()
	return p.journal.Rewrite(mark, payloads)
}

// alive returns the current end of the journal as a mark, and the payloads to keep of what lies before it. The caller
// must hold moving.
func (p *Pool) alive() (mark int64, payloads iter.Seq[[]byte]) {
	p.writing.Lock()
	mark = p.journal.Size()
	p.writing.Unlock()
	return mark, p.payloads()
}

// payloads returns the journal payloads of all pending transactions. Each sender's are ordered by nonce, so that
// replaying them extends its run without holding any. In a cluster's member they are ordered by arrival, and the
// position in the log follows.
func (p *Pool) payloads() iter.Seq[[]byte] {
	type pending struct {
		tx    *types.VerifiedTx
		added time.Time
	}
	p.mu.Lock()
	records := make([]pending, 0, len(p.index.byID))
	if p.opts.replicated {
		for e := p.index.arrivals.Front(); e != nil; e = e.Next() {
			records = append(records, pending{e.Value.(*entry).tx, e.Value.(*entry).added})
		}
	} else {
		for _, s := range p.index.senders {
			for _, part := range [][]*entry{s.run, s.held} {
				for _, e := range part {
					records = append(records, pending{e.tx, e.added})
				}
			}
		}
	}
	p.mu.Unlock()
	at := p.position()
	return func(yield func([]byte) bool) {
		var b []byte
		for _, r := range records {
			if b = appendTaken(b[:0], r.added, r.tx); !yield(b) {
				return
			}
		}
		if p.opts.replicated {
			yield(logged{p.opts.Cluster, at}.encode())
		}
	}
}
