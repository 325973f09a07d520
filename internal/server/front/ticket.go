package front

import (
	"context"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/request"
)

// callTime and callBytes are the resources covered by one call. A request that takes more costs several calls, which
// are charged afterwards. An address with the default rate thus has a fifth of a core, and 25 MiB of answers a second.
const (
	callTime  = time.Millisecond // processor time of one call
	callBytes = 128 << 10        // bytes of one call, of the request and of the answer
)

// Ticket is an admitted request or message: its turn on the processor, its cost, and the memory it holds. It belongs to
// one goroutine; others may call only Gone, Used and Closing.
type Ticket struct {
	server *Server
	who    client
	conn   *conn // connection of the waiting client
	shared bool  // the connection carries other messages too: a WebSocket
	turn   admission.Turn

	calls   int          // calls in the message: more than one for a batch
	used    atomic.Int64 // nanoseconds of processor time
	bytes   int          // of the request and of its answers
	charged int          // calls charged to the rate so far

	held   int64        // bytes
	answer int64        // bytes of held reserved for the answer
	place  *placeMemory // nil if the place has no limit, or until it is needed

	awaits    bool         // the ticket waits for its client
	slow      link[Ticket] // in the place's list waiting; guarded by the memory's lock
	displaced bool         // others have its memory; guarded likewise
}

// begin initializes the ticket for an admitted client on a connection.
func (t *Ticket) begin(s *Server, who client, c *conn) {
	t.server, t.who, t.conn = s, who, c
	t.turn.Client = admission.Client{Place: who.place}
	if who.key != nil {
		t.turn.Client = admission.Client{Key: who.key.name}
	}
	t.turn.Waiter = t
}

// NewTicket returns a ticket for a message of the same client, on the connection that the request was upgraded to.
func NewTicket(of *request.Request) *Ticket {
	first := of.Quota.(*Ticket) // set for every request that a Server hands to its fallback
	t := new(Ticket)
	t.begin(first.server, first.who, first.conn)
	t.shared = true
	return t
}

// Turn returns the ticket's turn on the processor.
func (t *Ticket) Turn() *admission.Turn { return &t.turn }

// Gone reports whether the client has closed its connection. Behind a proxy this is the proxy's connection, which the
// proxy closes when its client has gone.
func (t *Ticket) Gone() bool {
	raw, ok := t.conn.raw.(syscall.Conn) // not in tests
	return ok && machine.Gone(raw)
}

// Idle runs wait, which waits for something outside the request, such as a block. Meanwhile the connection may make way
// for a new one, like a connection without a request. If it has, Idle returns admission.ErrGone.
func (t *Ticket) Idle(wait func() error) error {
	if t.shared {
		return wait()
	}
	if !t.conn.park(stateReading) {
		return admission.ErrGone
	}
	err := wait()
	if !t.conn.begin() {
		return admission.ErrGone
	}
	return err
}

// Closing ends a WebSocket's connection after closingBytes more from the client: after its close, the WebSocket library
// reads a byte at a time until the client has closed too.
func (t *Ticket) Closing() { t.conn.closing.Store(true) }

// Used adds processor time to the ticket's cost.
func (t *Ticket) Used(d time.Duration) { t.used.Add(int64(d)) }

// Take takes a message's call from its client's rate. If no call is left, it takes none and returns how long to wait.
func (t *Ticket) Take() time.Duration {
	t.pause()
	wait := t.server.take(t.who, t.server.now())
	if wait > 0 {
		t.server.counts.rateLimited.Add(1)
	} else {
		t.charged = 1
	}
	return wait
}

// Owe takes a call of the client's rate even if none is left, and returns how long to wait until it is paid. If several
// connections of one client wait, they do so one after another.
func (t *Ticket) Owe() time.Duration {
	wait := t.server.take(t.who, t.server.now())
	if wait > 0 {
		t.server.counts.rateLimited.Add(1)
		t.server.spend(t.who, 1)
	}
	return wait
}

// Charge raises the ticket's total charge to calls, if it is lower. One call was charged on admission.
func (t *Ticket) Charge(calls int) {
	t.calls = max(t.calls, calls)
	t.settle()
}

// Spend adds bytes that the client has sent, or that are sent to it, to the ticket's cost.
func (t *Ticket) Spend(bytes int) { t.bytes += bytes }

// settle charges the part of the ticket's cost that was not charged yet.
func (t *Ticket) settle() {
	cost := max(t.calls, int(t.used.Load()/int64(callTime))+t.bytes/callBytes)
	if more := cost - t.charged; more > 0 {
		t.server.spend(t.who, more)
		t.charged = cost
	}
}

// Begin waits for a turn for long work that no message has just asked for, such as pending events of a subscription. It
// also waits while the client has used more than its rate.
func (t *Ticket) Begin(ctx context.Context) error {
	for {
		t.settle()
		wait := t.server.owes(t.who, t.server.now())
		if wait <= 0 {
			return t.server.config.Admission.Long().Enter(t.context(ctx))
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// Yield lets others take a turn if the ticket's has lasted long enough.
func (t *Ticket) Yield(ctx context.Context) error { return admission.Yield(t.context(ctx)) }

// End ends the turn.
func (t *Ticket) End() {
	t.server.config.Admission.Long().Leave(t.context(t.server.context))
	t.settle()
}

// turned is a context that carries a ticket's turn.
type turned struct {
	context.Context
	turn *admission.Turn
}

// Value implements context.Context.
func (c turned) Value(key any) any {
	if key == (admission.TurnKey{}) {
		return c.turn
	}
	return c.Context.Value(key)
}

func (t *Ticket) context(ctx context.Context) context.Context { return turned{ctx, &t.turn} }

// Reserve takes memory for a body of the given size and an answer of the same size. It waits for a bounded time and
// reports whether it got the memory. It must be called at most once.
func (t *Ticket) Reserve(ctx context.Context, body int) bool {
	return t.reserve(ctx, int64(body), 0)
}

// reserve is Reserve with extra bytes.
func (t *Ticket) reserve(ctx context.Context, body, extra int64) bool {
	if body <= FreeBytes && extra == 0 {
		return true
	}
	t.pause()
	t.joinPlace()
	need := 2*body + extra
	if !t.server.memory.acquire(ctx, t.place, need) {
		t.server.counts.busy.Add(1)
		return false
	}
	t.held, t.answer = need, body
	return true
}

// pause ends the connection's turn to receive: the ticket may have to wait.
func (t *Ticket) pause() {
	if t.conn != nil { // tests of memory have no connection
		t.conn.stream.leave()
	}
}

// Waits runs f, which waits for the client to send more of a body or to read an answer. Meanwhile others that would
// hold less may take the ticket's memory, which ends the connection. Waits reports whether the ticket kept its memory.
func (t *Ticket) Waits(f func()) bool {
	t.await()
	f()
	return t.resume()
}

// await begins the wait of Waits and resume ends it. resume without await does nothing.
func (t *Ticket) await() {
	if t.place != nil && t.held > 0 && !t.awaits {
		t.awaits = true
		t.server.memory.await(t)
	}
}

func (t *Ticket) resume() bool {
	if !t.awaits {
		return true
	}
	t.awaits = false
	if t.server.memory.resume(t) {
		return true
	}
	t.held, t.answer, t.displaced = 0, 0, false
	return false
}

// Shrink releases the surplus of the reservation, for a body that turned out smaller.
func (t *Ticket) Shrink(body int) {
	t.resume()
	if surplus := t.held - 2*int64(body); t.held > 0 && surplus > 0 {
		t.server.memory.release(t.place, surplus)
		t.held, t.answer = t.held-surplus, int64(body)
	}
}

func (t *Ticket) joinPlace() {
	if t.place == nil && !t.who.free {
		t.place = t.server.memory.join(t.who.place)
	}
}

// Hold waits until the ticket has memory for bytes more than it holds, or for its client's whole share if that is less.
// It fails if ctx ends first. The ticket gives up its turn while it waits.
func (t *Ticket) Hold(ctx context.Context, bytes int64) error {
	t.resume()
	t.joinPlace()
	bytes = max(0, min(bytes, t.server.memory.share()/collected-t.held))
	if t.server.memory.tryAcquire(t.place, bytes) {
		t.held += bytes
		return nil
	}
	return admission.Wait(t.context(ctx), func() error {
		for !t.server.memory.acquire(ctx, t.place, bytes) {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		t.held += bytes
		return nil
	})
}

// Room makes room for an answer of the given size and returns how large the answer may become. It does not wait, since
// the part that exists would hold memory meanwhile.
func (t *Ticket) Room(bytes int) int {
	t.resume()
	have := max(FreeBytes, t.answer)
	more := max(int64(bytes)-have, 0)
	if more == 0 {
		return int(have)
	}
	t.joinPlace()
	for _, n := range []int64{max(more, answerStep), more} {
		if t.server.memory.tryAcquire(t.place, n) {
			t.held += n
			t.answer = have + n
			return int(t.answer)
		}
	}
	t.server.counts.busy.Add(1)
	return int(have)
}

// OutOfTime counts a request that did not get its turn, or did not finish, within its time.
func (t *Ticket) OutOfTime() { t.server.counts.busy.Add(1) }

// Release releases the ticket's memory and settles its cost. The ticket may be used again afterwards.
func (t *Ticket) Release() {
	t.settle()
	t.resume()
	if t.held > 0 {
		t.server.memory.release(t.place, t.held)
	}
	if t.place != nil {
		t.server.memory.leave(t.who.place)
	}
	t.held, t.answer, t.place = 0, 0, nil
}
