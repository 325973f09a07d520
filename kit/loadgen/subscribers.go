package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Audience is who listens while transfers are sent.
type Audience struct {
	Subscribers int // to new blocks, each on a connection of its own
	Stalled     int // of them, the first ones: they subscribe and read nothing
	Pending     int // of them, the first ones: they subscribe to pending transactions too
}

// Check returns an error unless there can be such an audience.
func (a Audience) Check() error {
	if a.Subscribers < 1 || a.Subscribers > MaxConnections {
		return fmt.Errorf("the number of subscribers is 1 to %d", MaxConnections)
	}
	if a.Stalled < 0 || a.Stalled > a.Subscribers || a.Pending < 0 || a.Pending > a.Subscribers {
		return fmt.Errorf("those who stall, and those of pending transactions, are 0 to all %d subscribers", a.Subscribers)
	}
	return nil
}

// AudienceReport is what became of the subscribers of a run.
type AudienceReport struct {
	Subscribers   int   `json:"subscribers"`
	Blocks        int64 `json:"blocks"`        // that each subscriber was to get
	Notifications int64 `json:"notifications"` // that those who read got, of both topics
	Bytes         int64 `json:"bytes"`         // of them
	// Missed and Repeated count blocks that a subscriber who reads did not get, or got again.
	Missed   int64 `json:"missed"`
	Repeated int64 `json:"repeated"`
	// Delay is of blocks: from when anyone first knew of the height until a subscriber who reads had the notification.
	Delay Percentiles `json:"delay"`
	// Lost are subscribers who read and whose connection ended all the same.
	Lost    []ErrorCount   `json:"lost"`
	Pending *PendingReport `json:"pending,omitempty"`
	Stalled *StalledReport `json:"stalled,omitempty"`
	Node    *NodeReport    `json:"node,omitempty"`
}

// PendingReport is of those who read and subscribed to pending transactions.
type PendingReport struct {
	Subscribers int         `json:"subscribers"`
	Missed      int64       `json:"missed"`   // accepted transactions of the run that one of them was not told of
	Repeated    int64       `json:"repeated"` // that one of them was told of again
	Delay       Percentiles `json:"delay"`    // from sending to the notification
}

// StalledReport is of those who read nothing.
type StalledReport struct {
	Subscribers int `json:"subscribers"`
	Open        int `json:"open"` // whose connection was still open when they read again
	// by the code that they were closed with; "cut" where the reason could not be sent any more
	Closed []ErrorCount `json:"closed"`
}

// lastWait is how long those who stalled have to read what is there when a run has ended.
const lastWait = 10 * time.Second

// dropWait is how long the node has, when a run has ended, to drop those who stalled: more than its default.
const dropWait = 30 * time.Second

// maxBlocks bounds the blocks of a run: a day of ten a second.
const maxBlocks = 1 << 20

// audience are the subscribers of a run.
type audience struct {
	size    Audience
	start   time.Time // what times count from
	from    uint64    // the first height that everyone is to get
	members []*subscriber
	watcher *watcher
	scraper *scraper // nil where there are no metrics
	target  Chain
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	resume  chan struct{} // closed when those who stalled read again
	resumed sync.Once
}

// gather connects the subscribers and lets them listen.
func gather(ctx context.Context, target Chain, o Options, dial dialer) (*audience, error) {
	head, err := target.Height(ctx)
	if err != nil {
		return nil, err
	}
	a := &audience{size: o.Audience, start: time.Now(), from: head + 1, target: target, resume: make(chan struct{})}
	if o.MetricsURL != "" {
		if a.scraper, err = newScraper(ctx, o.MetricsURL); err != nil {
			return nil, err
		}
	}
	var listening context.Context
	listening, a.cancel = context.WithCancel(context.WithoutCancel(ctx))
	a.watcher = newWatcher(target, wallClock{a.start}, nil, head)
	a.tasks.Go(func() { a.watcher.follow(listening) })
	if a.scraper != nil {
		a.tasks.Go(func() {
			a.scraper.follow(listening, func(dropped float64) {
				if dropped >= float64(a.size.Stalled) { // all: now they see why
					a.readAgain()
				}
			})
		})
	}
	for i := range a.size.Subscribers {
		if err := a.join(ctx, i, o.Token, dial); err != nil {
			a.leave()
			return nil, fmt.Errorf("subscriber %d: %w", i, err)
		}
	}
	return a, nil
}

// join connects a subscriber.
func (a *audience) join(ctx context.Context, number int, token string, dial dialer) error {
	s := &subscriber{
		stalled: number < a.size.Stalled, pending: number < a.size.Pending,
		from: a.from, heard: heard{transactions: map[[32]byte]time.Duration{}},
	}
	var err error
	if s.socket, err = openSocket(ctx, dial, token); err != nil {
		return err
	}
	if err := s.subscribe(); err != nil {
		_ = s.socket.Close() // it is of no use
		return err
	}
	s.since = time.Since(a.start)
	a.members = append(a.members, s)
	a.tasks.Go(func() {
		if s.stalled {
			<-a.resume
		}
		s.listen(a.start)
	})
	return nil
}

// readAgain lets those read who stalled.
func (a *audience) readAgain() { a.resumed.Do(func() { close(a.resume) }) }

// leave closes all connections and waits until everyone has gone.
func (a *audience) leave() {
	a.cancel()
	a.readAgain()
	for _, s := range a.members {
		s.mu.Lock()
		s.left = true
		s.mu.Unlock()
		_ = s.socket.Close() // the node may have closed it
	}
	a.tasks.Wait()
}

// settle waits, with patience, until the subscribers have what there is: the blocks up to the head that it returns.
func (a *audience) settle(ctx context.Context, accepted int64, patience time.Duration) (head uint64, err error) {
	asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptedTime)
	defer cancel()
	if head, err = a.target.Height(asking); err != nil {
		return 0, err
	}
	await := func(stalled bool, patience time.Duration) {
		clock := wallClock{time.Now()}
		for _, s := range a.members {
			for s.stalled == stalled && !s.done(head, accepted) && clock.now() < patience {
				if !clock.waitUntil(ctx, clock.now()+settleInterval) {
					return
				}
			}
		}
	}
	await(false, patience)
	if a.scraper != nil && a.size.Stalled > 0 {
		select { // until the node has dropped them all
		case <-a.resume:
		case <-time.After(dropWait):
		case <-ctx.Done():
		}
	}
	a.readAgain()
	await(true, lastWait)
	return head, nil
}

// end lets everyone go and reports what the subscribers got of the blocks up to head, and of the transactions of a run
// that began at a time.
func (a *audience) end(head uint64, submissions map[[32]byte]*submission, began time.Time) *AudienceReport {
	a.leave()
	r := &AudienceReport{Subscribers: len(a.members), Blocks: int64(head + 1 - a.from), Lost: []ErrorCount{}}
	visible := a.visible(head)
	delay, pendingDelay := newHistogram(), newHistogram()
	lost, closed := map[string]*ErrorCount{}, map[string]*ErrorCount{}
	pending, stalled := &PendingReport{}, &StalledReport{}
	for _, s := range a.members {
		if s.stalled {
			stalled.Subscribers++
			if s.ended == nil {
				stalled.Open++
			} else {
				countEnd(closed, s.ended)
			}
			continue
		}
		if s.ended != nil {
			countEnd(lost, s.ended)
		}
		r.Notifications += s.count
		r.Bytes += s.socket.bytes
		r.Repeated += s.repeated
		for height := a.from; height <= head; height++ {
			arrival := s.arrival(height)
			if arrival == 0 {
				r.Missed++
				continue
			}
			record(delay, arrival-max(visible[height-a.from], s.since))
		}
		if s.pending {
			pending.Subscribers++
			pending.Repeated += s.retold
			for hash, submitted := range submissions {
				if told, ok := s.transactions[hash]; ok {
					record(pendingDelay, told-submitted.sent-began.Sub(a.start))
				} else if submitted.accepted {
					pending.Missed++
				}
			}
		}
	}
	r.Delay, r.Lost = percentiles(delay), ranked(lost)
	if pending.Subscribers > 0 {
		pending.Delay = percentiles(pendingDelay)
		r.Pending = pending
	}
	if stalled.Subscribers > 0 {
		stalled.Closed = ranked(closed)
		r.Stalled = stalled
	}
	if a.scraper != nil {
		r.Node = a.scraper.report()
	}
	return r
}

// record notes a duration. One beyond the histogram's is beyond all patience.
func record(h *hdrhistogram.Histogram, d time.Duration) { _ = h.RecordValue(int64(max(d, 0))) }

// visible is when anyone first knew of each height from a.from to head: a subscriber, or who asks for the height.
func (a *audience) visible(head uint64) []time.Duration {
	visible := make([]time.Duration, head+1-a.from)
	seen := 0
	for i := range visible {
		height := a.from + uint64(i)
		for seen < len(a.watcher.seen) && a.watcher.seen[seen].height < height {
			seen++
		}
		if seen < len(a.watcher.seen) {
			visible[i] = a.watcher.seen[seen].at
		}
		for _, s := range a.members {
			arrival := s.arrival(height)
			if !s.stalled && arrival != 0 && (visible[i] == 0 || arrival < visible[i]) {
				visible[i] = arrival
			}
		}
	}
	return visible
}

// countEnd counts how a connection ended.
func countEnd(ends map[string]*ErrorCount, err error) {
	code, example := "cut", err.Error()
	var c closed
	if errors.As(err, &c) {
		code, example = strconv.Itoa(int(c.code)), c.reason
	}
	if ends[code] == nil {
		ends[code] = &ErrorCount{Code: code, Example: example}
	}
	ends[code].Count++
}
