package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ParamInfo describes one parameter of a Method.
type ParamInfo struct {
	// Name is the parameter's name, from the json tag.
	Name string
	// Type is the Go type of its value.
	Type reflect.Type
	// Optional parameters may be omitted or null; they follow the required ones.
	Optional bool
}

// A param is a parameter together with its field in the parameter struct.
type param struct {
	ParamInfo
	field int
	shape *shape
}

// paramsOf returns the parameters of the struct type t, in order.
func paramsOf(t reflect.Type) ([]param, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("the parameters %v are not a struct", t)
	}
	var params []param
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Anonymous {
			return nil, fmt.Errorf("the parameters %v embed %v", t, field.Type)
		}
		name, ok := memberName(field)
		if !ok {
			continue
		}
		p := param{ParamInfo: ParamInfo{Name: name, Type: field.Type}, field: i}
		switch tag := field.Tag.Get("jsonrpc"); tag {
		case "":
		case "optional":
			p.Optional = true
		default:
			return nil, fmt.Errorf("parameter %q has the unknown tag jsonrpc:%q", name, tag)
		}
		if n := len(params); n > 0 && params[n-1].Optional && !p.Optional {
			return nil, fmt.Errorf("parameter %q is required after an optional one", name)
		}
		if slices.ContainsFunc(params, func(other param) bool { return other.Name == name }) {
			return nil, fmt.Errorf("parameter %q is duplicated", name)
		}
		params = append(params, p)
	}
	return params, nil
}

// A field is a parameter's variable with its decoder and the value in a call, nil if absent.
type field struct {
	*param
	raw    []byte
	into   any // pointer to the variable
	decode decoder
}

// bind decodes the arguments, given by position or by name, into the variables of the parameters.
func bind(fields []field, arguments []argument) *Error {
	for i, a := range arguments {
		if a.name != nil {
			i = slices.IndexFunc(fields, func(f field) bool { return f.Name == string(stringText(a.name)) })
		}
		switch {
		case i < 0:
			name := shown(stringText(a.name))
			return InvalidParam(name, fmt.Sprintf("there is no parameter %q", name), "reason", "unknown")
		case i == len(fields):
			return InvalidParam("["+strconv.Itoa(i)+"]", fmt.Sprintf("too many parameters: the maximum is %d", i),
				"reason", "too_many", "max", i)
		case fields[i].raw != nil:
			name := fields[i].Name
			return InvalidParam(name, fmt.Sprintf("parameter %q is duplicated", name), "reason", "duplicate")
		}
		fields[i].raw = a.value
	}
	for i := range fields {
		if err := fields[i].take(); err != nil {
			return err
		}
	}
	return nil
}

// take sets the variable to the given value.
func (f *field) take() *Error {
	null := f.raw != nil && f.raw[0] == 'n'
	switch {
	case f.Optional && (f.raw == nil || null):
		return nil
	case f.raw == nil:
		return InvalidParam(f.Name, fmt.Sprintf("parameter %q is missing", f.Name), "reason", "missing")
	case null && !f.shape.nullable:
		return InvalidParam(f.Name, fmt.Sprintf("parameter %q must not be null", f.Name), "reason", "missing")
	}
	if f.decode != nil {
		if done, err := f.decode(f.raw); err != nil {
			return f.refusal(err)
		} else if done {
			return nil
		}
	}
	if err := f.shape.check(&scanner{text: f.raw, limit: maxDepth}, f.Name); err != nil {
		return err
	}
	if err := json.Unmarshal(f.raw, f.into); err != nil {
		return f.refusal(err)
	}
	return nil
}

// refusal returns an error in plain words for a parameter that does not decode, naming the member at fault.
func (f *field) refusal(err error) *Error {
	what, member := fmt.Sprintf("parameter %q", f.Name), culprit(f.Type, f.raw)
	switch {
	case strings.ContainsFunc(member, unicode.IsLetter):
		what = fmt.Sprintf("member %q of parameter %q", member, f.Name)
	case member != "":
		what, member = fmt.Sprintf("an element of parameter %q", f.Name), ""
	}
	var wrong *json.UnmarshalTypeError
	e := asError(err)
	switch {
	case e != nil:
		e = e.with("param", f.Name)
	case errors.As(err, &wrong):
		e = InvalidParam(f.Name, fmt.Sprintf("%s must be %s", what, describe(wrong.Type)), "reason", "wrong_type")
	default:
		e = InvalidParam(f.Name, what+" is malformed", "reason", "malformed")
	}
	if member != "" {
		e = e.with("member", member)
	}
	return e
}

// culprit returns the path to the first part of a value that does not decode into t, such as topics[0]. The path is
// empty if that part is the whole value.
func culprit(t reflect.Type, raw []byte) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if decodesItself(t) {
		return ""
	}
	switch t.Kind() {
	case reflect.Struct:
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return ""
		}
		for i := range t.NumField() {
			name, ok := memberName(t.Field(i))
			inner, there := members[name]
			if ok && there && json.Unmarshal(inner, reflect.New(t.Field(i).Type).Interface()) != nil {
				return name + within(t.Field(i).Type, inner)
			}
		}
	case reflect.Slice:
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return ""
		}
		for i, inner := range elements {
			if json.Unmarshal(inner, reflect.New(t.Elem()).Interface()) != nil {
				return "[" + strconv.Itoa(i) + "]" + within(t.Elem(), inner)
			}
		}
	}
	return ""
}

// within returns the culprit of an inner value, as a suffix of the path to that value.
func within(t reflect.Type, raw []byte) string {
	path := culprit(t, raw)
	if path == "" || path[0] == '[' {
		return path
	}
	return "." + path
}
