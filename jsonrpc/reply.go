package jsonrpc

import (
	"context"
	"encoding/json"
	"sync"
)

// maxPooledBytes is the largest buffer that is kept for the next request.
const maxPooledBytes = 1 << 20

// unaskedBytes may answer a body before its quota is asked.
const unaskedBytes = 8 << 10

// A reply collects what answers one body.
type reply struct {
	out     []byte
	start   int // of the answer in out
	encoder *json.Encoder
	batch   bool
	// spent counts the bytes produced, the discarded ones too: they were work as well.
	spent, limit int

	quota Quota // nil where there is room for anything
	room  int   // bytes that may answer the body, as the quota said last
	busy  bool
	pause func() error // lets others have their turn between two pieces of an answer
}

// Write appends to the answer, for the encoder.
func (r *reply) Write(text []byte) (int, error) {
	r.out = append(r.out, text...)
	return len(text), nil
}

// An exchange is a body taken apart and what answers it.
type exchange struct {
	document
	reply
	clock clock
	place Turns // of which it has a turn; nil: it has none
	ctx   context.Context
}

var exchanges = sync.Pool{New: func() any {
	x := new(exchange)
	x.pause = x.yield
	x.encoder = json.NewEncoder(&x.reply)
	x.encoder.SetEscapeHTML(false)
	return x
}}

// newExchange returns an exchange whose answer of at most limit bytes is appended to dst. free gives it back.
func newExchange(dst []byte, limit int) *exchange {
	x := exchanges.Get().(*exchange)
	x.out, x.start, x.reply.batch, x.spent, x.reply.limit = dst, len(dst), false, 0, limit
	x.room, x.busy = unaskedBytes, false
	return x
}

func (x *exchange) free() {
	x.leave()
	x.forget()
	x.out, x.quota = nil, nil
	exchanges.Put(x)
}

// enter waits for a turn of those of t, nil for none, before the next call. One that it has goes on, unless it is the
// turn of others now. One of another kind ends first.
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

// yield lets others have their turn, if it has one.
func (x *exchange) yield() error {
	if x.place == nil {
		return nil
	}
	return x.place.Yield(x.ctx)
}

// leave ends the turn that it has, if any.
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

// closeBatch ends a batch; when it had notifications only, nothing is left of it.
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
		return NewError(CodeLimit, "the server has no memory for a larger response at present", "reason", "busy")
	}
	return limitError("the response is too large", "response_size", r.limit)
}

// result answers the call id with what encode appends. On an error, one of encoding or of size, nothing is written; a
// panic of encode is such an error.
func (r *reply) result(id []byte, encode func(*reply) error) error {
	return r.append(id, `,"result":`, encode)
}

// error answers the call id with e, as result does.
func (r *reply) error(id []byte, e *Error) error {
	return r.append(id, `,"error":`, func(r *reply) error { return r.encode(e) })
}

func (r *reply) append(id []byte, member string, encode func(*reply) error) (err error) {
	start := len(r.out)
	defer func() {
		if err != nil {
			r.out = r.out[:start]
		}
	}()
	defer catch(&err)
	if err := r.write(id, member, encode); err != nil {
		return err
	}
	if r.spent += len(r.out) - start; r.spent > r.limit || !r.fits() {
		return r.limitError()
	}
	return nil
}

// fits reports whether there is memory for the answer as it is now.
func (r *reply) fits() bool {
	size := len(r.out) - r.start
	if r.quota != nil && size > r.room && !r.busy {
		room := r.quota.Room(cap(r.out) - r.start)
		r.room, r.busy = max(r.room, room), room < size
	}
	return r.quota == nil || size <= r.room
}

// small answers the call id with an error of this package's own making, whatever has been spent. What it could fail
// with would be a fault in this package.
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

// encode appends value as encoding/json has it, without HTML escapes.
func (r *reply) encode(value any) error {
	if err := r.encoder.Encode(value); err != nil {
		return err
	}
	r.out = r.out[:len(r.out)-1] // Encode ends with a newline
	return nil
}
