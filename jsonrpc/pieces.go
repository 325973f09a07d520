package jsonrpc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// pieceBytes is the size of the pieces of an answer between which others may have their turn: about half a millisecond
// of encoding.
const pieceBytes = 64 << 10

// A Splitter is a result with one member that is a long list. The list is encoded item by item, and others may have
// their turn in between.
type Splitter interface {
	// Split returns the result with an empty list as the named member, and that member's list. A nil list means that
	// there is nothing to split.
	Split() (shell any, member string, list any)
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
	paused := len(r.out)
	for i := range items.Len() {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		item := items.Index(i).Addr().Interface()
		if a, ok := item.(Appender); ok {
			r.out = a.AppendJSON(r.out)
		} else if err := r.encode(item); err != nil {
			return err
		}
		if len(r.out)-paused < pieceBytes {
			continue
		}
		if len(r.out)-r.start > r.limit || !r.fits() {
			return r.limitError()
		}
		if err := r.pause(); err != nil {
			return err
		}
		paused = len(r.out)
	}
	r.out = append(r.out, ']')
	return nil
}

// split appends a result like encode, with its list in pieces.
func (r *reply) split(s Splitter) error {
	shell, member, list := s.Split()
	start := len(r.out)
	if err := r.encode(shell); err != nil || list == nil {
		return err
	}
	empty := []byte(`"` + member + `":[]`)
	at := bytes.Index(r.out[start:], empty)
	if at < 0 {
		return fmt.Errorf("jsonrpc: %T has no empty list %s", shell, member)
	}
	at += start + len(empty)
	rest := bytes.Clone(r.out[at:])
	r.out = r.out[:at-len("[]")]
	if err := r.list(reflect.ValueOf(list)); err != nil {
		return err
	}
	r.out = append(r.out, rest...)
	return nil
}
