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

// What one call of a rate stands for. Whatever takes more costs as many calls as it comes to, which are taken from the
// rate afterwards. So an address with the default rate has a fifth of a core, and 25 MiB a second of answers.
const (
	callTime  = time.Millisecond // of the processor
	callBytes = 128 << 10        // of an answer
)

// Ticket is a request or a message that was let in: its turn of the processor, what it costs, and what memory it holds.
// It is for one goroutine.
type Ticket struct {
	server *Server
	who    client
	conn   *conn // that its client waits at
	shared bool  // its connection carries other messages too: a WebSocket
	turn   admission.Turn

	calls   int          // that were asked for: of a batch more than one
	used    atomic.Int64 // nanoseconds of the processor
	sent    int          // bytes of answers
	charged int          // calls that were taken from the rate

	held   int64        // bytes
	answer int64        // bytes of held that are for the answer
	place  *placeMemory // nil where the place has no limit, or before it is needed

	awaits    bool         // it waits for its client
	slow      link[Ticket] // in the place's list of those, under the memory's lock
	displaced bool         // likewise: others have what it held
}

// begin makes a ticket of a client that was let in, who waits at a connection.
func (t *Ticket) begin(s *Server, who client, c *conn) {
	t.server, t.who, t.conn = s, who, c
	t.turn.Client = admission.Client{Place: who.place}
	if who.key != nil {
		t.turn.Client = admission.Client{Key: who.key.name}
	}
	t.turn.Waiter = t
}

// NewTicket returns a ticket for a message on the connection that a request became: of the same client.
func NewTicket(of *request.Request) *Ticket {
	first := of.Quota.(*Ticket) // as every request that a Server hands to its fallback has
	t := new(Ticket)
	t.begin(first.server, first.who, first.conn)
	t.shared = true
	return t
}

// Turn is the ticket's turn of the processor.
func (t *Ticket) Turn() *admission.Turn { return &t.turn }

// Gone reports whether the client has closed its connection. Behind a proxy it is the proxy's, which closes it when its
// client has gone.
func (t *Ticket) Gone() bool {
	raw, ok := t.conn.raw.(syscall.Conn) // not in tests
	return ok && machine.Gone(raw)
}

// Idle runs wait, which waits for something else than the node: for a block. Meanwhile the connection may make way for a
// new one, as a connection without a request does. It returns admission.ErrGone when it has.
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

// Closing ends the connection of a WebSocket after closingBytes more of the client: the library reads what follows its
// close a byte at a time, until the client has closed too.
func (t *Ticket) Closing() { t.conn.closing.Store(true) }

// Used notes what processor time the ticket's work has used.
func (t *Ticket) Used(d time.Duration) { t.used.Add(int64(d)) }

// Take takes a call of a message from its client's rate. It takes none and returns how long to wait where there is
// none left.
func (t *Ticket) Take() time.Duration {
	wait := t.server.take(t.who, t.server.now())
	if wait > 0 {
		t.server.counts.rateLimited.Add(1)
	} else {
		t.charged = 1
	}
	return wait
}

// Charge takes from the rate what so many calls cost together, beyond the one that was taken when
// the client was let in.
func (t *Ticket) Charge(calls int) {
	t.calls = max(t.calls, calls)
	t.settle()
}

// Spend notes how many bytes of an answer were sent.
func (t *Ticket) Spend(bytes int) { t.sent += bytes }

// settle takes from the rate what the ticket has cost so far and was not taken.
func (t *Ticket) settle() {
	cost := max(t.calls, int(t.used.Load()/int64(callTime))+t.sent/callBytes)
	if more := cost - t.charged; more > 0 {
		t.server.spend(t.who, more)
		t.charged = cost
	}
}

// Begin waits for a turn of long work that no message asked for just now: what a subscription has still to send. It also
// waits while its client has used more than its rate allows.
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

// Yield lets others have their turn, if the ticket's has lasted long enough.
func (t *Ticket) Yield(ctx context.Context) error { return admission.Yield(t.context(ctx)) }

// End ends the turn.
func (t *Ticket) End() {
	t.server.config.Admission.Long().Leave(t.context(t.server.context))
	t.settle()
}

// turned is a context with a ticket's turn.
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

// Reserve takes memory for a body of so many bytes and an answer of as many, and reports whether there was some within
// a bounded time. It is called once, where the body is larger than FreeBytes.
func (t *Ticket) Reserve(ctx context.Context, body int) bool {
	return t.reserve(ctx, int64(body), 0)
}

// reserve is Reserve with extra bytes.
func (t *Ticket) reserve(ctx context.Context, body, extra int64) bool {
	if body <= FreeBytes && extra == 0 {
		return true
	}
	t.joinPlace()
	need := 2*body + extra
	if !t.server.memory.acquire(ctx, t.place, need) {
		t.server.counts.busy.Add(1)
		return false
	}
	t.held, t.answer = need, body
	return true
}

// Waits runs what waits for the client: for more of a body, or until an answer is taken. Meanwhile those who would hold
// less may take what the ticket holds, which ends the connection. It reports whether nobody did.
func (t *Ticket) Waits(f func()) bool {
	t.await()
	f()
	return t.resume()
}

// await begins Waits, resume ends it; without an await before it does nothing.
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

// Shrink gives back what a body takes less than was reserved for it.
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

// Hold waits until there is memory for so many bytes beside what the ticket holds, or for the client's whole share if
// that is less. It fails when ctx ends first. The ticket has no turn while it waits.
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

// Room makes room for an answer of so many bytes and returns how large it may become. It does not wait: what is made
// already takes memory while it waits.
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

// OutOfTime counts a request that did not get its turn, or was not done, in the time that it has.
func (t *Ticket) OutOfTime() { t.server.counts.busy.Add(1) }

// Release gives back what the ticket holds, and takes from the rate what it has cost. It may be used again then.
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
