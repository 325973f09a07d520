package mempool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// Limits of signature verification. They bound the queue, not the rate.
const (
	// signatures per batch: twice as many would be a tenth cheaper each, but a bad one would cost twice as much
	batchSize  = 1024
	queueItems = 32_768   // about a second's work of one core
	queueBytes = 64 << 20 // bytes of transactions in the queue

	// Transactions with signatures over P-256: up to 32 of them, of which each takes as long as about ten in a batch.
	p256Batch = 8
	p256Items = 1024
	p256Bytes = 16 << 20

	// spill is the number of queued signatures from which another worker verifies them while one is busy. Fewer wait
	// for it: one batch costs less than two.
	spill = 256

	// commitMost bounds the time under the pool's lock: callers with this many transactions are added without others.
	commitMost = 256

	// lingerTime is the wait of a few first signatures for others to fill a group. It is short compared with the block
	// time, and with a dozen clients that send singly it halves the cost per signature.
	lingerTime   = 300 * time.Microsecond
	queueBackoff = time.Second // after which a retry makes sense
)

// verifyFunc is the type of types.VerifyWitnesses for a network.
type verifyFunc func([]*types.Tx) []*types.VerifiedTx

// lane is a bounded queue of transactions, with goroutines that verify them in batches of up to size. For callers that
// ask for it, the goroutine also adds their transactions to the pool, with one write to the journal for several
// callers.
type lane struct {
	verifyBatch verifyFunc
	add         func(...*batch)
	gather      int // preferred minimum of a batch
	spill       int // see the constant
	size        int
	maxItems    int
	maxBytes    int

	ended  sync.WaitGroup
	linger *time.Timer

	mu        sync.Mutex // guards the fields below
	filled    *sync.Cond
	queue     []item
	bytes     int
	busy      int // workers that are verifying
	last      int // size of the last batch
	closed    bool
	lingering lingerState
}

// lingerState is the state of a queue's wait for more items.
type lingerState uint8

const (
	notLingering lingerState = iota
	lingering
	lingered // the wait is over
)

// item is a candidate in a lane's queue. The worker writes its result to the group, because the caller may have given
// up.
type item struct {
	tx    *types.Tx
	group *group
	index int
}

// group holds the candidates and results of one caller.
type group struct {
	candidates []*candidate
	results    []*types.VerifiedTx
	left       atomic.Int64
	adds       *batch // to be added to the pool afterwards; nil: nothing
	// owned is set by whoever decides the group's end first: the worker that completes it, or the caller who leaves.
	owned atomic.Bool
	done  chan struct{}
}

func newGroup(candidates []*candidate, adds *batch) *group {
	g := &group{
		candidates: candidates, results: make([]*types.VerifiedTx, len(candidates)), adds: adds,
		done: make(chan struct{}),
	}
	g.left.Store(int64(len(candidates)))
	return g
}

// settle gives the candidates their results.
func (g *group) settle() {
	for i, c := range g.candidates {
		if c.verified = g.results[i]; c.verified == nil {
			c.err = ErrBadSignature
		}
	}
}

func newLane(verify verifyFunc, add func(...*batch), workers, gather, size, maxItems, maxBytes int) *lane {
	l := &lane{verifyBatch: verify, add: add, gather: gather, size: size, maxItems: maxItems, maxBytes: maxBytes}
	l.spill = spill
	if gather == 1 {
		l.spill = 1
	}
	l.filled = sync.NewCond(&l.mu)
	l.linger = time.AfterFunc(time.Hour, l.endLinger)
	l.linger.Stop()
	for range workers {
		l.ended.Go(l.work)
	}
	return l
}

// verify sets verified or err of every candidate: ErrBadSignature, ErrFull, ErrClosed or the context's error. Unless adds
// is nil, it also adds that batch, which holds the candidates, to the pool, unless the context ends first.
func (l *lane) verify(ctx context.Context, candidates []*candidate, adds *batch) {
	g := newGroup(candidates, adds)
	err := l.enqueue(g)
	if err == nil {
		select {
		case <-g.done:
			return
		case <-ctx.Done():
			err = ctx.Err()
		}
		if !g.owned.CompareAndSwap(false, true) {
			<-g.done
			return
		}
	}
	for _, c := range candidates {
		c.err = err
	}
}

func (l *lane) enqueue(g *group) error {
	bytes := 0
	for _, c := range g.candidates {
		bytes += c.size()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	// A batch that exceeds the bounds is accepted into an empty queue.
	case len(l.queue) > 0 && (len(l.queue)+len(g.candidates) > l.maxItems || l.bytes+bytes > l.maxBytes):
		return &FullError{Class: ClassSignatures, RetryAfter: queueBackoff}
	}
	for i, c := range g.candidates {
		l.queue = append(l.queue, item{tx: c.tx, group: g, index: i})
	}
	l.bytes += bytes
	if !l.worthWaiting() {
		l.filled.Signal()
	}
	return nil
}

// work verifies batches until the lane is closed and empty, so that every caller gets an answer.
func (l *lane) work() {
	var items []item
	var txs []*types.Tx
	var verified []*group
	for {
		if items = l.next(items[:0]); len(items) == 0 {
			return
		}
		txs = txs[:0]
		for _, it := range items {
			txs = append(txs, it.tx)
		}
		verified = verified[:0]
		for i, result := range l.verifyBatch(txs) {
			g := items[i].group
			g.results[items[i].index] = result
			if g.left.Add(-1) == 0 && g.owned.CompareAndSwap(false, true) {
				verified = append(verified, g)
			}
		}
		l.complete(verified)
		clear(items)
		clear(txs)
		clear(verified)
		l.finish()
	}
}

// complete settles groups, adds the batches of those that ask for it to the pool, several at once, and releases the
// callers.
func (l *lane) complete(groups []*group) {
	for len(groups) > 0 {
		var batches []*batch
		n, count := 0, 0
		for ; n < len(groups) && (n == 0 || count < commitMost); n++ {
			g := groups[n]
			g.settle()
			if g.adds != nil {
				batches = append(batches, g.adds)
				count += len(g.adds.candidates)
			}
		}
		if len(batches) > 0 {
			l.add(batches...)
		}
		for _, g := range groups[:n] {
			close(g.done)
		}
		groups = groups[n:]
	}
}

// next waits for queued items and appends one batch of them to items. It appends none once the lane is closed and
// empty.
func (l *lane) next(items []item) []item {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && (len(l.queue) == 0 || l.worthWaiting()) {
		l.filled.Wait()
	}
	l.lingering = notLingering
	l.linger.Stop()
	n := min(len(l.queue), l.size)
	items = append(items, l.queue[:n]...)
	for _, it := range items {
		l.bytes -= len(it.tx.Encoded())
	}
	clear(l.queue[:n])
	l.queue = l.queue[n:]
	l.busy++
	l.last = n
	if len(l.queue) >= l.spill {
		l.filled.Signal()
	}
	return items
}

// worthWaiting reports whether the queue should wait for more items: while another worker is verifying, or, with more
// than one sender, for lingerTime. A lone sender sends its next item after the answer, so it never waits.
func (l *lane) worthWaiting() bool {
	if l.busy > 0 || len(l.queue) >= l.gather {
		return l.busy > 0 && len(l.queue) < l.spill
	}
	alone := len(l.queue) == 1 && l.last <= 1
	if l.lingering == notLingering && !alone {
		l.lingering = lingering
		l.linger.Reset(lingerTime)
	}
	return l.lingering == lingering
}

func (l *lane) endLinger() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.lingering == lingering {
		l.lingering = lingered
		l.filled.Broadcast()
	}
}

// finish ends a worker's batch. The worker takes what is queued next.
func (l *lane) finish() {
	l.mu.Lock()
	l.busy--
	l.mu.Unlock()
}

func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	l.filled.Broadcast()
	l.mu.Unlock()
	l.ended.Wait()
}
