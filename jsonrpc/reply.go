package jsonrpc

import (
	"bytes"
	"encoding/json"
	"sync"
)

// maxPooledBytes is the largest buffer that is kept for the next request.
const maxPooledBytes = 1 << 20

// A reply collects what answers one body.
type reply struct {
	buffer  bytes.Buffer
	encoder *json.Encoder
	batch   bool
	// spent counts the bytes produced, the discarded ones too: they were work as well.
	spent, limit int
}

var replies = sync.Pool{New: func() any {
	r := new(reply)
	r.encoder = json.NewEncoder(&r.buffer)
	r.encoder.SetEscapeHTML(false)
	return r
}}

// newReply returns an empty reply that takes limit bytes. free gives it back.
func newReply(limit int) *reply {
	r := replies.Get().(*reply)
	r.buffer.Reset()
	r.batch, r.spent, r.limit = false, 0, limit
	return r
}

func (r *reply) free() {
	if r.buffer.Cap() <= maxPooledBytes {
		replies.Put(r)
	}
}

// clone returns a copy of the whole reply, nil for an empty one.
func (r *reply) clone() []byte {
	if r.buffer.Len() == 0 {
		return nil
	}
	return bytes.Clone(r.buffer.Bytes())
}

func (r *reply) openBatch() {
	r.batch = true
	r.buffer.WriteByte('[')
}

// closeBatch ends a batch; when it had notifications only, nothing is left of it.
func (r *reply) closeBatch() {
	if r.buffer.Len() == 1 {
		r.buffer.Reset()
		return
	}
	r.buffer.WriteByte(']')
}

// full reports whether there is no room for another answer.
func (r *reply) full() bool { return r.spent >= r.limit }

func (r *reply) limitError() *Error {
	return limitError("the response is too large", "response_size", r.limit)
}

// append writes the answer to the call id: value as its member result or error. On an error, one of encoding or of
// size, nothing is written.
func (r *reply) append(id []byte, member string, value any) (err error) {
	start := r.buffer.Len()
	defer func() {
		if err != nil {
			r.buffer.Truncate(start)
		}
	}()
	if err := r.write(id, member, value); err != nil {
		return err
	}
	if r.spent += r.buffer.Len() - start; r.spent > r.limit {
		return r.limitError()
	}
	return nil
}

// appendSmall writes an error of this package's own making, whatever has been spent. What it could fail with would be
// a fault in this package.
func (r *reply) appendSmall(id []byte, e *Error) {
	if err := r.write(id, "error", e); err != nil {
		panic("jsonrpc: an error of its own does not encode: " + err.Error())
	}
}

// write writes one response object. A panic of a MarshalJSON is an error like any other.
func (r *reply) write(id []byte, member string, value any) (err error) {
	defer catch(&err)
	if r.batch && r.buffer.Len() > 1 {
		r.buffer.WriteByte(',')
	}
	r.buffer.WriteString(`{"jsonrpc":"2.0","id":`)
	r.buffer.Write(id)
	r.buffer.WriteString(`,"`)
	r.buffer.WriteString(member)
	r.buffer.WriteString(`":`)
	if err := r.encoder.Encode(value); err != nil {
		return err
	}
	r.buffer.Truncate(r.buffer.Len() - 1) // Encode ends with a newline
	r.buffer.WriteByte('}')
	return nil
}
