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

	// lingerTime is the wait of a few first signatures for others to fill a group. It is short compared with the block
	// time, and with a dozen clients that send singly it halves the cost per signature.
	lingerTime   = 300 * time.Microsecond
	queueBackoff = time.Second // after which a retry makes sense
)

// verifyFunc is the type of types.VerifyWitnesses for a network.
type verifyFunc func([]*types.Tx) []*types.VerifiedTx

// lane is a bounded queue of transactions, with goroutines that verify them in batches of up to size.
type lane struct {
	verifyBatch verifyFunc
	gather      int // preferred minimum of a batch
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
	results []*types.VerifiedTx
	left    atomic.Int64
	done    chan struct{}
}

func newLane(verify verifyFunc, workers, gather, size, maxItems, maxBytes int) *lane {
	l := &lane{verifyBatch: verify, gather: gather, size: size, maxItems: maxItems, maxBytes: maxBytes}
	l.filled = sync.NewCond(&l.mu)
	l.linger = time.AfterFunc(time.Hour, l.endLinger)
	l.linger.Stop()
	for range workers {
		l.ended.Go(l.work)
	}
	return l
}

// verify sets verified or err of every candidate: ErrBadSignature, ErrFull, ErrClosed or the context's error.
func (l *lane) verify(ctx context.Context, batch []*candidate) {
	g := &group{results: make([]*types.VerifiedTx, len(batch)), done: make(chan struct{})}
	g.left.Store(int64(len(batch)))
	err := l.enqueue(batch, g)
	if err == nil {
		select {
		case <-g.done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	for i, c := range batch {
		switch {
		case err != nil:
			c.err = err
		case g.results[i] == nil:
			c.err = ErrBadSignature
		default:
			c.verified = g.results[i]
		}
	}
}

func (l *lane) enqueue(batch []*candidate, g *group) error {
	bytes := 0
	for _, c := range batch {
		bytes += c.size()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return ErrClosed
	// A batch that exceeds the bounds is accepted into an empty queue.
	case len(l.queue) > 0 && (len(l.queue)+len(batch) > l.maxItems || l.bytes+bytes > l.maxBytes):
		return &FullError{Class: ClassSignatures, RetryAfter: queueBackoff}
	}
	wasEmpty := len(l.queue) == 0
	for i, c := range batch {
		l.queue = append(l.queue, item{tx: c.tx, group: g, index: i})
	}
	l.bytes += bytes
	if wasEmpty || len(l.queue) >= l.gather { // between the two, workers wait for more
		l.filled.Broadcast()
	}
	return nil
}

// work verifies batches until the lane is closed and empty, so that every caller gets an answer.
func (l *lane) work() {
	var items []item
	var txs []*types.Tx
	for {
		if items = l.next(items[:0]); len(items) == 0 {
			return
		}
		txs = txs[:0]
		for _, it := range items {
			txs = append(txs, it.tx)
		}
		for i, result := range l.verifyBatch(txs) {
			g := items[i].group
			g.results[items[i].index] = result
			if g.left.Add(-1) == 0 {
				close(g.done)
			}
		}
		clear(items)
		clear(txs)
		l.finish()
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
	return items
}

// worthWaiting reports whether the queue should wait for more items: while another worker is verifying, or, with more
// than one sender, for lingerTime. A lone sender sends its next item after the answer, so it never waits.
func (l *lane) worthWaiting() bool {
	if len(l.queue) >= l.gather {
		return false
	}
	if l.busy > 0 {
		return true
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

// finish marks a worker's batch as verified.
func (l *lane) finish() {
	l.mu.Lock()
	l.busy--
	l.filled.Broadcast()
	l.mu.Unlock()
}

func (l *lane) close() {
	l.mu.Lock()
	l.closed = true
	l.filled.Broadcast()
	l.mu.Unlock()
	l.ended.Wait()
}
