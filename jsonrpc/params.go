package jsonrpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// ParamInfo describes one parameter of a Method.
type ParamInfo struct {
	// Name is the parameter's name, from the json tag.
	Name string
	// Type is the Go type that it is decoded into.
	Type reflect.Type
	// Optional parameters may be left out or null; they follow the required ones.
	Optional bool
}

// A param is a parameter and the field of the parameter struct that it fills.
type param struct {
	ParamInfo
	field int
	shape *shape
}

// paramsOf returns the parameters that the struct t stands for, in order.
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
			return nil, fmt.Errorf("parameter %q is there twice", name)
		}
		params = append(params, p)
	}
	return params, nil
}

// bind decodes raw, a valid JSON array or object or nil for no parameters, into the parameter struct dst.
func bind(params []param, raw []byte, dst reflect.Value) *Error {
	values := make([][]byte, len(params))
	var err *Error
	switch {
	case raw == nil:
	case raw[0] == '[':
		err = byPosition(params, raw, values)
	default:
		err = byName(params, raw, values)
	}
	if err != nil {
		return err
	}
	for i, p := range params {
		if err := p.decode(values[i], dst.Field(p.field)); err != nil {
			return err
		}
	}
	return nil
}

// byPosition sets values to the elements of the array raw.
func byPosition(params []param, raw []byte, values [][]byte) *Error {
	i := 0
	for value := range elements(raw) {
		if i == len(params) {
			return InvalidParam("["+strconv.Itoa(i)+"]", fmt.Sprintf("there are more parameters than %d", i),
				"reason", "too_many", "max", i)
		}
		values[i] = value
		i++
	}
	return nil
}

// byName sets values to the members of the object raw that have the parameters' names.
func byName(params []param, raw []byte, values [][]byte) *Error {
	for name, value := range members(raw) {
		i := slices.IndexFunc(params, func(p param) bool { return p.Name == string(name) })
		if i < 0 {
			return InvalidParam(string(name), fmt.Sprintf("there is no parameter %q", name), "reason", "unknown")
		}
		if values[i] != nil {
			return InvalidParam(params[i].Name, fmt.Sprintf("parameter %q is there twice", name), "reason", "duplicate")
		}
		values[i] = value
	}
	return nil
}

// decode sets dst to the value raw, nil for an absent one.
func (p *param) decode(raw []byte, dst reflect.Value) *Error {
	null := raw != nil && raw[0] == 'n'
	switch {
	case p.Optional && (raw == nil || null):
		return nil
	case raw == nil:
		return InvalidParam(p.Name, fmt.Sprintf("parameter %q is missing", p.Name), "reason", "missing")
	case null && !p.shape.nullable:
		return InvalidParam(p.Name, fmt.Sprintf("parameter %q must not be null", p.Name), "reason", "missing")
	}
	if err := p.shape.check(&cursor{text: raw}, p.Name); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, dst.Addr().Interface()); err != nil {
		return p.refusal(err)
	}
	return nil
}

// refusal says in plain words why the decoder did not take the parameter.
func (p *param) refusal(err error) *Error {
	if e := asError(err); e != nil {
		return e.with("param", p.Name)
	}
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return InvalidParam(p.Name, fmt.Sprintf("parameter %q is malformed", p.Name), "reason", "malformed")
	}
	e := InvalidParam(p.Name, fmt.Sprintf("parameter %q must be %s", p.Name, describe(wrong.Type)), "reason", "wrong_type")
	if wrong.Field != "" {
		e.Message = fmt.Sprintf("member %q of parameter %q must be %s", wrong.Field, p.Name, describe(wrong.Type))
		e.Data["member"] = wrong.Field
	}
	return e
}
