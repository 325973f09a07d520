package jsonrpc

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A shape describes the JSON that decodes into a Go type without loss. encoding/json by itself takes the last of
// repeated members, ignores the case of names and accepts null as a zero value; a shape does not.
type shape struct {
	// members holds an object's members by their exact names; nil if any name is allowed.
	members map[string]*shape
	// required lists the members that must be present and, unless their shape is nullable, not null, in the Go type's
	// order.
	required []string
	// element is the shape of an array's elements, a map's values or a pointer's target; nil allows any.
	element *shape
	pointer bool
	// nullable means that the Go type can distinguish null from a zero value.
	nullable bool
}

var (
	anyShape            = &shape{nullable: true}
	rawMessageType      = reflect.TypeFor[json.RawMessage]()
	jsonUnmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshalerType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of t. It fails if t has parts that JSON cannot fill without loss. Types that decode
// themselves must check themselves. known holds the shapes made so far, as types may contain themselves.
func shapeOf(t reflect.Type, known map[reflect.Type]*shape) (*shape, error) {
	if s, ok := known[t]; ok {
		return s, nil
	}
	s := &shape{nullable: t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || t == rawMessageType}
	known[t] = s
	if decodesItself(t) {
		return s, nil
	}
	var err error
	switch t.Kind() {
	case reflect.Bool, reflect.String, reflect.Float32, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
	case reflect.Pointer:
		s.pointer = true
		s.element, err = shapeOf(t.Elem(), known)
	case reflect.Slice, reflect.Map:
		s.element, err = shapeOf(t.Elem(), known)
	case reflect.Struct:
		s.members = make(map[string]*shape, t.NumField())
		for i := range t.NumField() {
			field := t.Field(i)
			if field.Anonymous {
				return nil, fmt.Errorf("%v embeds %v", t, field.Type)
			}
			name, ok := memberName(field)
			if !ok {
				continue
			}
			if s.members[name], err = shapeOf(field.Type, known); err != nil {
				return nil, err
			}
			if !omittable(field) {
				s.required = append(s.required, name)
			}
		}
	default:
		return nil, fmt.Errorf("%v cannot be decoded from JSON without loss", t)
	}
	return s, err
}

// memberName returns the JSON name of an exported field, or false if encoding/json ignores the field.
func memberName(field reflect.StructField) (string, bool) {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	if !field.IsExported() || name == "-" {
		return "", false
	}
	if name == "" {
		name = field.Name
	}
	return name, true
}

// omittable reports whether a field may be absent from its object.
func omittable(field reflect.StructField) bool {
	_, options, _ := strings.Cut(field.Tag.Get("json"), ",")
	return options == "omitempty"
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(jsonUnmarshalerType) || p.Implements(textUnmarshalerType)
}

// check consumes one valid value of the parameter param and returns an error if it does not have the shape s. A value
// of another JSON type than s expects is left to the decoder, which must refuse it; check only rejects repeated members
// in it.
func (s *shape) check(text *scanner, param string) *Error {
	for s.pointer {
		s = s.element
	}
	switch text.token() {
	case '{':
		return s.checkObject(text, param)
	case '[':
		element := s.element
		if element == nil {
			element = anyShape
		}
		text.enter()
		for first := true; text.more(']', first); first = false {
			if text.token() == 'n' && !element.nullable {
				return InvalidParam(param, fmt.Sprintf("parameter %q must not contain null", param), "reason", "wrong_type")
			}
			if err := element.check(text, param); err != nil {
				return err
			}
		}
	default:
		text.value()
	}
	return nil
}

func (s *shape) checkObject(text *scanner, param string) *Error {
	seen := make(map[string]struct{})
	text.enter()
	for first := true; text.more('}', first); first = false {
		name := string(stringText(text.key()))
		if _, twice := seen[name]; twice {
			short := shown([]byte(name))
			return InvalidParam(param, fmt.Sprintf("member %q of parameter %q is duplicated", short, param),
				"reason", "duplicate", "member", short)
		}
		seen[name] = struct{}{}
		member := s.element
		if s.members != nil {
			var ok bool
			if member, ok = s.members[name]; !ok {
				short := shown([]byte(name))
				return InvalidParam(param, fmt.Sprintf("parameter %q has no member %q", param, short),
					"reason", "unknown", "member", short)
			}
		}
		if member == nil {
			member = anyShape
		}
		if text.token() == 'n' && !member.nullable && slices.Contains(s.required, name) {
			return InvalidParam(param, fmt.Sprintf("member %q of parameter %q must not be null", name, param),
				"reason", "missing", "member", name)
		}
		if err := member.check(text, param); err != nil {
			return err
		}
	}
	for _, name := range s.required {
		if _, given := seen[name]; !given {
			return InvalidParam(param, fmt.Sprintf("member %q of parameter %q is missing", name, param),
				"reason", "missing", "member", name)
		}
	}
	return nil
}

// describe returns a description of the JSON value for a Go type.
func describe(t reflect.Type) string {
	// encoding/json encodes bytes as a base64 string.
	if reflect.PointerTo(t).Implements(textUnmarshalerType) || t == reflect.TypeFor[[]byte]() {
		return "a string"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return describe(t.Elem())
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		most := uint64(1)<<(t.Bits()-1) - 1
		return fmt.Sprintf("an integer from -%d to %d", most+1, most)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("an integer from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}
