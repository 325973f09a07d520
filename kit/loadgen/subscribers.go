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

// Audience configures the subscribers that listen while transfers are sent.
type Audience struct {
	Subscribers int // to new blocks, each on its own connection
	Stalled     int // how many of them, the first ones, subscribe but do not read
	Pending     int // how many of them, the first ones, also subscribe to pending transactions
}

// Check returns an error for an invalid audience.
func (a Audience) Check() error {
	if a.Subscribers < 1 || a.Subscribers > MaxConnections {
		return fmt.Errorf("the number of subscribers must be 1 to %d", MaxConnections)
	}
	if a.Stalled < 0 || a.Stalled > a.Subscribers || a.Pending < 0 || a.Pending > a.Subscribers {
		return fmt.Errorf("at most all %d subscribers can stall, or follow pending transactions", a.Subscribers)
	}
	return nil
}

// AudienceReport summarizes the notifications to the subscribers of a run.
type AudienceReport struct {
	Subscribers   int   `json:"subscribers"`
	Blocks        int64 `json:"blocks"`        // that each subscriber should receive
	Notifications int64 `json:"notifications"` // received by readers, of both topics
	Bytes         int64 `json:"bytes"`         // size of the received messages
	// Missed and Repeated count the blocks that readers missed or received twice.
	Missed   int64 `json:"missed"`
	Repeated int64 `json:"repeated"`
	// Delay is the time from the first sighting of a block's height by anyone to a reader's notification.
	Delay Percentiles `json:"delay"`
	// Lost counts the readers whose connection ended early.
	Lost    []ErrorCount   `json:"lost"`
	Pending *PendingReport `json:"pending,omitempty"`
	Stalled *StalledReport `json:"stalled,omitempty"`
	Node    *NodeReport    `json:"node,omitempty"`
}

// PendingReport covers the readers that subscribed to pending transactions.
type PendingReport struct {
	Subscribers int         `json:"subscribers"`
	Missed      int64       `json:"missed"`   // missing notifications of accepted transactions of the run
	Repeated    int64       `json:"repeated"` // duplicate notifications
	Delay       Percentiles `json:"delay"`    // from sending to the notification
}

// StalledReport covers the subscribers that did not read.
type StalledReport struct {
	Subscribers int `json:"subscribers"`
	Open        int `json:"open"` // connections still open when reading resumed
	// by close code; "cut" if the connection ended without one
	Closed []ErrorCount `json:"closed"`
}

// lastWait limits the time for stalled subscribers to read their backlog after a run.
const lastWait = 10 * time.Second

// dropWait limits the wait after a run for the node to drop stalled subscribers: more than its default timeout.
const dropWait = 30 * time.Second

// maxBlocks bounds the blocks of a run: one day at ten per second.
const maxBlocks = 1 << 20

// audience holds the subscribers of a run.
type audience struct {
	size    Audience
	start   time.Time // base of all times
	from    uint64    // first height that everyone should receive
	members []*subscriber
	watcher *watcher
	scraper *scraper // nil without metrics
	target  Chain
	cancel  context.CancelFunc
	tasks   sync.WaitGroup
	resume  chan struct{} // closed when stalled subscribers resume reading
	resumed sync.Once
}

// gather connects the subscribers and starts listening.
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
				if dropped >= float64(a.size.Stalled) { // all were dropped: let them read the reason
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
		from: a.from, transactions: map[[32]byte]time.Duration{},
	}
	var err error
	if s.socket, err = openSocket(ctx, dial, token); err != nil {
		return err
	}
	if err := s.subscribe(); err != nil {
		_ = s.socket.Close() // already unusable
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

// readAgain makes stalled subscribers read again.
func (a *audience) readAgain() { a.resumed.Do(func() { close(a.resume) }) }

// leave closes all connections and waits for the subscribers to finish.
func (a *audience) leave() {
	a.cancel()
	a.readAgain()
	for _, s := range a.members {
		s.mu.Lock()
		s.left = true
		s.mu.Unlock()
		_ = s.socket.Close() // the node may have closed it already
	}
	a.tasks.Wait()
}

// settle waits, within patience, until the subscribers have all blocks up to the head, which it returns, and the
// accepted transactions.
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
		select { // until the node has dropped all of them
		case <-a.resume:
		case <-time.After(dropWait):
		case <-ctx.Done():
		}
	}
	a.readAgain()
	await(true, lastWait)
	return head, nil
}

// end disconnects the subscribers and reports on the blocks up to head, and on the transactions of a run that began at
// a given time.
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

// record records a duration. Durations beyond the histogram's range are dropped: they exceed any patience.
func record(h *hdrhistogram.Histogram, d time.Duration) { _ = h.RecordValue(int64(max(d, 0))) }

// visible returns when each height from a.from to head was first seen, by a subscriber or by the watcher's polls.
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

// countEnd counts the ends of connections by reason.
func countEnd(ends map[string]*ErrorCount, err error) {
	code, example := "cut", err.Error()
	if c, ok := errors.AsType[closed](err); ok {
		code, example = strconv.Itoa(int(c.code)), c.reason
	}
	if ends[code] == nil {
		ends[code] = &ErrorCount{Code: code, Example: example}
	}
	ends[code].Count++
}
