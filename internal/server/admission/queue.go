package admission

import (
	"container/heap"
	"slices"
	"time"
)

// queue shares places out to clients. Its scheduler's lock guards it, but for what does not change.
type queue struct {
	scheduler *Scheduler
	slice     time.Duration // after which a turn of it makes way
	metered   bool          // by the processor's clock: long work
	perClient int           // places that one client may have at a time; 0: all

	limit   int // places at present
	running int
	waiting int              // claims
	flows   map[Client]*flow // with turns, or a virtual time ahead of the queue's
	ready   flowHeap         // those that have turns waiting and may have another place
	virtual time.Duration    // at which the latest turn began
	order   uint64           // of the latest flow that became ready
	used    time.Duration    // by all turns that ended
	spare   []*flow
}

// flow is the claims of one client to a queue.
type flow struct {
	client  Client
	time    time.Duration // virtual: at which its next turn begins
	waiting []*claim      // the first is next
	running int
	place   int    // in ready; -1: it is not
	order   uint64 // in which it became ready
}

// claim is what a turn has of a queue, or waits for.
type claim struct {
	queue   *queue        // nil: nothing
	flow    *flow         // its client's in the queue
	charged time.Duration // to the flow's time, in advance
	granted chan struct{} // gets a value with the place that it waits for
}

// maxFlows bounds the clients that a queue remembers though they have no turns.
const maxFlows = 16 << 10

// flowOf finds or makes the flow of a client.
func (q *queue) flowOf(c Client) *flow {
	if f := q.flows[c]; f != nil {
		return f
	}
	if len(q.flows) >= maxFlows {
		q.forget()
	}
	var f *flow
	if n := len(q.spare); n > 0 {
		f, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		f = new(flow)
	}
	*f = flow{client: c, place: -1, waiting: f.waiting[:0], time: q.virtual}
	q.flows[c] = f
	return f
}

// forget forgets the clients without turns. What they have used beyond their share is forgotten too.
func (q *queue) forget() {
	for c, f := range q.flows {
		if f.idle() {
			delete(q.flows, c)
		}
	}
}

func (f *flow) idle() bool { return f.running == 0 && len(f.waiting) == 0 }

// take gives a client's claim a place, unless it has to wait.
func (q *queue) take(c *claim, by Client) bool {
	if q.try(c, by) {
		return true
	}
	f := q.flowOf(by)
	c.queue, c.flow = q, f
	q.enqueue(c, len(f.waiting))
	return false
}

// enqueue puts a claim at a place among those of its client that wait.
func (q *queue) enqueue(c *claim, at int) {
	if c.granted == nil {
		c.granted = make(chan struct{}, 1)
	}
	c.flow.waiting = slices.Insert(c.flow.waiting, at, c)
	q.waiting++
	q.settle(c.flow)
}

// again takes a place back whose turn has used so much, for a claim that waits for the next. It comes before the others
// of its client: so of a client's requests one ends after the other, and not all at the end.
func (q *queue) again(c *claim, used time.Duration) {
	q.end(c, used)
	q.enqueue(c, 0)
	q.next()
}

// end ends the turn of a claim, which has used so much.
func (q *queue) end(c *claim, used time.Duration) {
	f := c.flow
	f.time += used - c.charged
	q.used += used
	f.running--
	q.running--
}

// try is take that does not wait.
func (q *queue) try(c *claim, by Client) bool {
	f := q.flowOf(by)
	if q.running >= q.limit || len(q.ready) > 0 || !q.admits(f) {
		return false
	}
	c.queue, c.flow = q, f
	q.grant(c)
	return true
}

func (q *queue) admits(f *flow) bool { return q.perClient == 0 || f.running < q.perClient }

// grant gives a claim its place. The slice is charged in advance, so that a client does not get all places while
// it is not known what its turns use.
func (q *queue) grant(c *claim) {
	f := c.flow
	f.time = max(f.time, q.virtual)
	q.virtual = f.time
	f.time += q.slice
	f.running++
	q.running++
	c.charged = q.slice
}

// give takes a place back whose turn has used so much, and gives it to who is next.
func (q *queue) give(c *claim, used time.Duration) {
	f := c.flow
	q.end(c, used)
	c.queue, c.flow = nil, nil
	q.settle(f)
	q.next()
	if q.running == 0 && q.waiting == 0 { // nobody has used more than another any more
		clear(q.flows)
		q.virtual = 0
	}
	if f.idle() && f.time <= q.virtual && q.flows[f.client] == f {
		delete(q.flows, f.client)
	}
	if q.flows[f.client] != f && len(q.spare) < 64 {
		q.spare = append(q.spare, f)
	}
}

// next gives free places to those whose turn it is.
func (q *queue) next() {
	for q.running < q.limit && len(q.ready) > 0 {
		f := q.ready[0]
		c := f.waiting[0]
		f.waiting[0] = nil
		f.waiting = f.waiting[1:]
		q.waiting--
		q.grant(c)
		q.settle(f)
		c.granted <- struct{}{}
	}
}

// leave takes a waiting claim out. It reports false where the claim has got its place meanwhile.
func (q *queue) leave(c *claim) bool {
	f := c.flow
	i := slices.Index(f.waiting, c)
	if i < 0 {
		return false
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
	q.waiting--
	c.queue, c.flow = nil, nil
	q.settle(f)
	return true
}

// settle puts a flow where it belongs: among the ready ones or not, and by its time.
func (q *queue) settle(f *flow) {
	ready := len(f.waiting) > 0 && q.admits(f)
	switch {
	case ready && f.place < 0:
		f.time = max(f.time, q.virtual)
		q.order++
		f.order = q.order
		heap.Push(&q.ready, f)
	case ready:
		heap.Fix(&q.ready, f.place)
	case f.place >= 0:
		heap.Remove(&q.ready, f.place)
	}
}

// flowHeap has the flow first whose next turn begins first.
type flowHeap []*flow

func (h flowHeap) Len() int { return len(h) }

func (h flowHeap) Less(i, j int) bool {
	if h[i].time != h[j].time {
		return h[i].time < h[j].time
	}
	return h[i].order < h[j].order
}

func (h flowHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

func (h *flowHeap) Push(x any) {
	f := x.(*flow)
	f.place = len(*h)
	*h = append(*h, f)
}

func (h *flowHeap) Pop() any {
	old := *h
	f := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	f.place = -1
	return f
}
