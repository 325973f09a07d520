package admission

import (
	"container/heap"
	"slices"
	"time"
)

// queue shares places among clients. Its scheduler's lock guards all fields that change.
type queue struct {
	scheduler *Scheduler
	slice     time.Duration // time after which a turn makes way
	metered   bool          // by the processor's clock, for long work
	perClient int           // places of one client at a time; 0: no limit

	limit   int // number of places
	running int
	waiting int              // waiting claims
	flows   map[Client]*flow // clients with turns, or with a virtual time ahead of the queue's
	active  int              // clients with turns
	ready   flowHeap         // flows with waiting turns that may take another place
	virtual time.Duration    // where new flows start; see end
	order   uint64           // number of the latest flow that became ready
	used    time.Duration    // time used by all ended turns
	spare   []*flow
}

// flow holds one client's claims to a queue.
type flow struct {
	client  Client
	time    time.Duration // virtual start time of the next turn
	waiting []*claim      // in order
	running int
	place   int    // index in ready; -1 if not there
	order   uint64 // number given when it became ready
}

// claim is a turn's place in a queue, or its request for one.
type claim struct {
	queue   *queue        // nil: no claim
	flow    *flow         // the client's flow in the queue
	charged time.Duration // to the flow's time in advance
	granted chan struct{} // receives a value when the place is granted
}

// maxFlows bounds the flows that a queue keeps for clients without turns.
const maxFlows = 16 << 10

// flowOf finds or creates a client's flow.
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

// forget deletes the flows of clients without turns, and with them any excess use.
func (q *queue) forget() {
	for c, f := range q.flows {
		if f.idle() {
			delete(q.flows, c)
		}
	}
}

func (f *flow) idle() bool { return f.running == 0 && len(f.waiting) == 0 }

// take grants a claim a place, or enqueues it and returns false.
func (q *queue) take(c *claim, by Client) bool {
	if q.try(c, by) {
		return true
	}
	f := q.flowOf(by)
	c.queue, c.flow = q, f
	q.enqueue(c, len(f.waiting))
	return false
}

// enqueue inserts a claim at an index among its client's waiting claims.
func (q *queue) enqueue(c *claim, at int) {
	if c.granted == nil {
		c.granted = make(chan struct{}, 1)
	}
	q.begin(c.flow)
	c.flow.waiting = slices.Insert(c.flow.waiting, at, c)
	q.waiting++
	q.settle(c.flow)
}

// again ends a turn that used the given time and enqueues its claim for the next one, before the client's other claims.
// A client's requests thus finish one after another, rather than all at the end.
func (q *queue) again(c *claim, used time.Duration) {
	q.end(c, used)
	q.enqueue(c, 0)
	q.next()
}

// end ends a claim's turn, which used the given time. The queue's virtual time grows by each active client's share of
// it. If it only followed the starts of turns, a stream of new clients, which all start there, would keep every client
// from a second turn.
func (q *queue) end(c *claim, used time.Duration) {
	f := c.flow
	f.time += used - c.charged
	q.used += used
	q.virtual += used / time.Duration(q.active)
	f.running--
	q.running--
	q.rest(f)
}

// begin counts a flow as active. It must be called before the flow gets a claim.
func (q *queue) begin(f *flow) {
	if f.idle() {
		f.time = max(f.time, q.virtual)
		q.active++
	}
}

// rest counts a flow as inactive if it has no claim left.
func (q *queue) rest(f *flow) {
	if f.idle() {
		q.active--
	}
}

// try is like take, but does not enqueue the claim.
func (q *queue) try(c *claim, by Client) bool {
	f := q.flowOf(by)
	if q.running >= q.limit || len(q.ready) > 0 || !q.admits(f) {
		return false
	}
	c.queue, c.flow = q, f
	q.begin(f)
	q.grant(c)
	return true
}

func (q *queue) admits(f *flow) bool { return q.perClient == 0 || f.running < q.perClient }

// grant grants a claim a place. The slice is charged in advance, so that a client cannot take all places while its use
// is unknown.
func (q *queue) grant(c *claim) {
	f := c.flow
	q.virtual = max(q.virtual, f.time)
	f.time += q.slice
	f.running++
	q.running++
	c.charged = q.slice
}

// give releases the place of a turn that used the given time, and grants it to the next claim.
func (q *queue) give(c *claim, used time.Duration) {
	f := c.flow
	q.end(c, used)
	c.queue, c.flow = nil, nil
	q.settle(f)
	q.next()
	if q.running == 0 && q.waiting == 0 { // no client has an excess any more
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

// next grants free places to the ready claims.
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

// leave removes a waiting claim. It returns false if the claim was granted meanwhile.
func (q *queue) leave(c *claim) bool {
	f := c.flow
	i := slices.Index(f.waiting, c)
	if i < 0 {
		return false
	}
	f.waiting = slices.Delete(f.waiting, i, i+1)
	q.waiting--
	q.rest(f)
	c.queue, c.flow = nil, nil
	q.settle(f)
	return true
}

// settle updates a flow's membership and position in ready.
func (q *queue) settle(f *flow) {
	ready := len(f.waiting) > 0 && q.admits(f)
	switch {
	case ready && f.place < 0:
		q.order++
		f.order = q.order
		heap.Push(&q.ready, f)
	case ready:
		heap.Fix(&q.ready, f.place)
	case f.place >= 0:
		heap.Remove(&q.ready, f.place)
	}
}

// flowHeap is a heap of flows, ordered by the virtual start of their next turns.
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
