package jsonrpc

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// An Appender is a result that encodes itself. AppendJSON appends to dst the JSON that encoding/json would produce
// without HTML escapes, and returns the extended slice.
type Appender interface {
	AppendJSON(dst []byte) []byte
}

// A Parser is a result that can decode itself from the JSON that its AppendJSON writes, several times as fast as
// encoding/json. ParseJSON reports whether text has that form. If not, it changes nothing, and encoding/json decodes the
// text or finds its fault. It must not retain text.
type Parser interface {
	ParseJSON(text []byte) bool
}

// A frame holds the parameters and the result of one call, with their decoders and encoder. These are determined once
// for a frame; frames are reused.
type frame[P, R any] struct {
	params P
	fields []field
	result R
	encode func(*reply) error // appends result
}

func newFrame[P, R any](params []param) *frame[P, R] {
	f := &frame[P, R]{fields: make([]field, len(params))}
	value := reflect.ValueOf(&f.params).Elem()
	for i := range params {
		into := value.Field(params[i].field).Addr().Interface()
		f.fields[i] = field{param: &params[i], into: into, decode: decoderOf(into)}
	}
	f.encode = encoderOf(&f.result)
	return f
}

// framePool returns the pool of a method's frames.
func framePool[P, R any](params []param) *sync.Pool {
	return &sync.Pool{New: func() any { return newFrame[P, R](params) }}
}

// reset clears the last call's values.
func (f *frame[P, R]) reset() {
	var params P
	var result R
	f.params, f.result = params, result
	for i := range f.fields {
		f.fields[i].raw = nil
	}
}

// A decoder decodes raw, which is not null, into its variable. It returns false if it does not support raw: then the
// strict path decodes raw with the same result, or reports the error.
type decoder func(raw []byte) (bool, error)

// decoderOf returns a decoder for the variable that into points to; nil if there is none.
func decoderOf(into any) decoder {
	switch v := into.(type) {
	case json.Unmarshaler:
		return func(raw []byte) (bool, error) {
			if raw[0] == '{' || raw[0] == '[' {
				return false, nil // may repeat a member
			}
			return true, v.UnmarshalJSON(raw)
		}
	case encoding.TextUnmarshaler:
		return func(raw []byte) (bool, error) {
			if !isPlain(raw) {
				return false, nil
			}
			return true, v.UnmarshalText(raw[1 : len(raw)-1])
		}
	case *string:
		return func(raw []byte) (bool, error) {
			if !isPlain(raw) {
				return false, nil
			}
			*v = string(raw[1 : len(raw)-1])
			return true, nil
		}
	case *bool:
		return func(raw []byte) (bool, error) {
			*v = raw[0] == 't'
			return *v || raw[0] == 'f', nil
		}
	}
	return nil
}

// encoderOf returns a function that appends the variable that result points to.
func encoderOf[R any](result *R) func(*reply) error {
	t := reflect.TypeFor[R]()
	if t.Implements(reflect.TypeFor[Streamer]()) {
		return func(r *reply) error { return r.stream(any(*result).(Streamer)) }
	}
	switch v := any(result).(type) {
	case Appender:
		return func(r *reply) error {
			r.out = v.AppendJSON(r.out)
			return nil
		}
	case json.Marshaler:
	case encoding.TextAppender:
		return func(r *reply) error { return r.text(v) }
	case *string:
		return func(r *reply) error {
			r.out = AppendString(r.out, *v)
			return nil
		}
	}
	switch {
	case isList(t):
		return func(r *reply) error { return r.list(reflect.ValueOf(result).Elem()) }
	case t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[Appender]()):
		return func(r *reply) error {
			if reflect.ValueOf(result).Elem().IsNil() {
				r.out = append(r.out, nullText...)
			} else {
				r.out = any(*result).(Appender).AppendJSON(r.out)
			}
			return nil
		}
	}
	return func(r *reply) error { return r.encode(*result) }
}

// text appends a value as the JSON string of its text.
func (r *reply) text(v encoding.TextAppender) error {
	start := len(r.out)
	out, err := v.AppendText(append(r.out, '"'))
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	if r.out = append(out, '"'); !needsNoEscape(r.out[start+1 : len(r.out)-1]) {
		text := string(r.out[start+1 : len(r.out)-1])
		r.out = AppendString(r.out[:start], text)
	}
	return nil
}

// AppendString appends s to dst as a JSON string, as encoding/json does without HTML escapes.
func AppendString(dst []byte, s string) []byte {
	if needsNoEscape(s) {
		dst = append(dst, '"')
		dst = append(dst, s...)
		return append(dst, '"')
	}
	r := exchanges.Get().(*exchange)
	r.out = dst
	if err := r.encode(s); err != nil {
		panic("jsonrpc: a string does not encode: " + err.Error())
	}
	dst = r.out
	r.free()
	return dst
}

// needsNoEscape reports whether text is ASCII without characters that a JSON string must escape.
func needsNoEscape[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x80 || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}
