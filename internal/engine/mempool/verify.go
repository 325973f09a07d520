package mempool

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-chain/cairn/types"
)

// Limits of signature verification. They bound what waits, not what is verified in a second.
const (
	// signatures verified together: twice as many take a tenth less, and a bad one costs twice as much
	batchSize  = 1024
	queueItems = 32_768   // about a second's work of one core
	queueBytes = 64 << 20 // of transactions waiting for verification

	// lingerTime is what the first of a few signatures waits for others to fill a group. It is little beside a block's
	// time, and with a dozen clients that send singly it halves what a signature costs.
	lingerTime   = 300 * time.Microsecond
	queueBackoff = time.Second // after which another try makes sense
)

// verifyFunc is types.VerifySignatures.
type verifyFunc func([]*types.Tx) []*types.VerifiedTx

// lane is a bounded queue of transactions and the goroutines that verify them, up to size together.
type lane struct {
	verifyBatch verifyFunc
	gather      int // items that a worker would rather verify together
	size        int
	maxItems    int
	maxBytes    int

	mu     sync.Mutex // guards waiting
	filled *sync.Cond
	waiting
	ended  sync.WaitGroup
	linger *time.Timer
}

// waiting is what a lane has at present.
type waiting struct {
	queue     []item
	bytes     int
	busy      int // workers that verify
	last      int // items that were taken last
	closed    bool
	lingering lingerState
}

// lingerState says whether the first items of a queue still wait for others.
type lingerState uint8

const (
	notLingering lingerState = iota
	lingering
	lingered // long enough
)

// item is a candidate in a lane's queue. The worker writes its result to the group, because the caller may have given
// up.
type item struct {
	tx    *types.Tx
	group *group
	index int
}

// group is the candidates that one caller waits for.
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
	// A batch larger than the bounds passes alone.
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

// work verifies until the lane is closed and empty: who waits gets an answer.
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

// next waits for queued items and appends up to the batch size of them to items; none when the lane is closed.
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

// worthWaiting reports whether the queue's items should wait for others: until another worker has verified, or, where
// there is more than one sender, for a short time. A lone sender, whose next item comes after the answer, never waits.
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

// finish says that a worker has verified what it took.
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
