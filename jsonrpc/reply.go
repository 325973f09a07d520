package jsonrpc

import (
	"context"
	"encoding/json"
	"sync"
)

// maxPooledBytes is the size of the largest buffer that is kept for reuse.
const maxPooledBytes = 1 << 20

// unaskedBytes is the size that an answer may have before its quota is asked.
const unaskedBytes = 8 << 10

// A reply builds the answer to one body.
type reply struct {
	out     []byte
	start   int // start of the answer in out
	encoder *json.Encoder
	batch   bool
	// spent counts the bytes produced, including discarded ones: they were work too.
	spent, limit int

	quota  Quota // nil: no quota
	room   int   // bytes that may answer the body, according to the last call of Room
	busy   bool
	pause  func() error // lets others have their turn between two pieces of an answer
	paused int          // length of out at the last pause

	sink     func(part []byte) error // sends a part of the answer; nil: the answer is sent as a whole
	pass     func(part []byte) error // sends a part by calling sink outside of a turn
	streamed bool                    // a part was sent
	broken   error                   // why the answer breaks off after such a part
}

// Write appends to the answer, for the encoder.
func (r *reply) Write(text []byte) (int, error) {
	r.out = append(r.out, text...)
	return len(text), nil
}

// An exchange is a parsed body with its answer.
type exchange struct {
	document
	reply
	clock clock
	place Turns // holds the present turn; nil for none
	heavy Turns // for the rest of a streamed answer
	ctx   context.Context
}

var exchanges = sync.Pool{New: func() any {
	x := new(exchange)
	x.pause, x.pass = x.yield, x.send
	x.encoder = json.NewEncoder(&x.reply)
	x.encoder.SetEscapeHTML(false)
	return x
}}

// newExchange returns an exchange that appends an answer of at most limit bytes to dst. The caller must call free.
func newExchange(dst []byte, limit int) *exchange {
	x := exchanges.Get().(*exchange)
	x.out, x.start, x.paused, x.reply.batch, x.spent, x.reply.limit = dst, len(dst), len(dst), false, 0, limit
	x.streamed, x.broken = false, nil
	x.room, x.busy = unaskedBytes, false
	return x
}

func (x *exchange) free() {
	x.leave()
	x.forget()
	x.out, x.quota, x.sink, x.heavy = nil, nil, nil, nil
	exchanges.Put(x)
}

// enter waits for a turn of t before the next call; a nil t means no turn. A present turn of t continues, after
// yielding. A turn of other Turns ends first.
func (x *exchange) enter(ctx context.Context, t Turns) error {
	if t != nil && x.place == t {
		return t.Yield(ctx)
	}
	x.leave()
	if t == nil {
		return nil
	}
	if err := t.Enter(ctx); err != nil {
		return err
	}
	x.place, x.ctx = t, ctx
	return nil
}

// yield lets others have their turn, if x has one.
func (x *exchange) yield() error {
	if x.place == nil {
		return nil
	}
	return x.place.Yield(x.ctx)
}

// send sends a part of the answer, without a turn: the client may read slowly. What comes after it is long work.
func (x *exchange) send(part []byte) error {
	ctx, had := x.ctx, x.place != nil
	x.leave()
	if x.sink(part) != nil {
		return NewError(CodeLimit, "the client has not read the answer", "reason", "gone")
	}
	if !had {
		return nil
	}
	return x.enter(ctx, x.heavy)
}

// leave ends the present turn, if any.
func (x *exchange) leave() {
	if x.place != nil {
		x.place.Leave(x.ctx)
		x.place, x.ctx = nil, nil
	}
}

func (r *reply) openBatch() {
	r.batch = true
	r.out = append(r.out, '[')
}

// closeBatch ends a batch. If it had only notifications, it removes the opening bracket.
func (r *reply) closeBatch() {
	if len(r.out) == r.start+1 {
		r.out = r.out[:r.start]
		return
	}
	r.out = append(r.out, ']')
}

// full reports whether there is no room for another answer.
func (r *reply) full() bool { return r.busy || r.spent >= r.limit }

func (r *reply) limitError() *Error {
	if r.busy {
		return NewError(CodeLimit, "the server has no memory for a larger response: try again later", "reason", "busy")
	}
	return limitError("the response is too large", "response_size", r.limit)
}

// result answers the call id with the JSON that encode appends. If encoding fails or panics, or the answer is too
// large, it writes nothing and returns an error.
func (r *reply) result(id []byte, encode func(*reply) error) error {
	return r.append(id, `,"result":`, encode)
}

// error answers the call id with e, like result.
func (r *reply) error(id []byte, e *Error) error {
	return r.append(id, `,"error":`, func(r *reply) error { return r.encode(e) })
}

func (r *reply) append(id []byte, member string, encode func(*reply) error) (err error) {
	start := len(r.out)
	r.paused = start
	defer func() {
		switch {
		case err == nil:
		case r.streamed:
			r.out, r.broken = r.out[:r.start], err
		default:
			r.out = r.out[:start]
		}
	}()
	defer catch(&err)
	if err := r.write(id, member, encode); err != nil {
		return err
	}
	if r.streamed {
		return nil
	}
	if r.spent += len(r.out) - start; r.spent > r.limit || !r.fits() {
		return r.limitError()
	}
	return nil
}

// fits reports whether there is memory for the answer at its present size.
func (r *reply) fits() bool {
	size := len(r.out) - r.start
	if r.quota != nil && size > r.room && !r.busy {
		room := r.quota.Room(cap(r.out) - r.start)
		r.room, r.busy = max(r.room, room), room < size
	}
	return r.quota == nil || size <= r.room
}

// small answers the call id with an error of this package, regardless of the limit. Such an error always encodes;
// anything else is a bug in this package.
func (r *reply) small(id []byte, e *Error) {
	if err := r.write(id, `,"error":`, func(r *reply) error { return r.encode(e) }); err != nil {
		panic("jsonrpc: an error of its own does not encode: " + err.Error())
	}
}

// write writes one response object.
func (r *reply) write(id []byte, member string, encode func(*reply) error) error {
	if r.batch && len(r.out) > r.start+1 {
		r.out = append(r.out, ',')
	}
	r.out = append(r.out, `{"jsonrpc":"2.0","id":`...)
	r.out = append(r.out, id...)
	r.out = append(r.out, member...)
	if err := encode(r); err != nil {
		return err
	}
	r.out = append(r.out, '}')
	return nil
}

// encode appends value as encoding/json does without HTML escapes.
func (r *reply) encode(value any) error {
	if err := r.encoder.Encode(value); err != nil {
		return err
	}
	r.out = r.out[:len(r.out)-1] // Encode ends with a newline
	return nil
}
