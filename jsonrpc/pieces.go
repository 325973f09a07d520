package jsonrpc

import (
	"encoding/json"
	"reflect"
)

const (
	// pieceBytes is the size of the pieces of an answer between which others may have their turn: about half a
	// millisecond of encoding.
	pieceBytes = 64 << 10
	// streamBytes is the size from which the present part of a streamed answer is sent.
	streamBytes = 256 << 10
)

// A Streamer is a result, or an item of a list, that may be too large to be held in memory at once. Where the transport
// takes an answer in parts (see [Server.AppendTo]), its JSON is sent as it is written. Elsewhere it is held and bounded
// as any other.
type Streamer interface {
	// WriteJSON passes to write the JSON of the value in pieces of at most some 100 KiB. It ends with the first error of
	// write.
	WriteJSON(write func(text []byte) error) error
}

// isList reports whether values of a type are encoded item by item.
func isList(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 && !t.Implements(reflect.TypeFor[json.Marshaler]())
}

// list appends a slice like encode, in pieces.
func (r *reply) list(items reflect.Value) error {
	if items.IsNil() {
		r.out = append(r.out, nullText...)
		return nil
	}
	r.out = append(r.out, '[')
	for i := range items.Len() {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		var err error
		switch item := items.Index(i).Addr().Interface().(type) {
		case Streamer:
			err = r.stream(item)
		case Appender:
			r.out = item.AppendJSON(r.out)
		default:
			err = r.encode(item)
		}
		if err == nil {
			err = r.between()
		}
		if err != nil {
			return err
		}
	}
	r.out = append(r.out, ']')
	return nil
}

// stream appends a result like encode, in pieces, and sends what has accumulated when that is long enough.
func (r *reply) stream(s Streamer) error {
	return s.WriteJSON(func(text []byte) error {
		r.out = append(r.out, text...)
		if r.sink == nil || r.batch || len(r.out)-r.start < streamBytes {
			return r.between()
		}
		if !r.fits() {
			return r.limitError()
		}
		r.streamed = true
		err := r.pass(r.out[r.start:])
		r.out, r.paused = r.out[:r.start], r.start
		return err
	})
}

// between lets others have their turn if the answer has grown by a piece since the last time.
func (r *reply) between() error {
	if len(r.out)-r.paused < pieceBytes {
		return nil
	}
	if len(r.out)-r.start > r.limit || !r.fits() {
		return r.limitError()
	}
	err := r.pause()
	r.paused = len(r.out)
	return err
}
