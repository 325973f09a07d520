package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// A Method is a name, the parameters it takes, and the function that answers. NewMethod makes one.
type Method struct {
	name   string
	params []param
	result reflect.Type
	call   func(ctx context.Context, params []byte) (any, error)
	err    error
}

// NewMethod returns the method name that decodes its parameters into P and answers with what fn returns.
//
// P is a struct. Its exported fields in order are the positional parameters, named by their json tags; struct{} takes
// none. The tag jsonrpc:"optional" marks a parameter that may be absent or null, which leaves the field at its zero
// value; optional parameters come last. A null for a required parameter is an error, unless its type is a pointer, an
// interface or json.RawMessage. Unknown and repeated members of objects are errors at every level. Interfaces decode
// numbers as float64: where a parameter may be of several types, take json.RawMessage or a type that implements
// json.Unmarshaler. If UnmarshalJSON fails with an *Error, the client is told that, with the parameter's name added as
// data.param; of any other error it is told only that the parameter is malformed.
//
// A result is encoded by encoding/json without HTML escapes; nil is answered as null. fn may be called by many
// goroutines at once.
//
// What is wrong with P is reported by NewServer.
func NewMethod[P, R any](name string, fn func(context.Context, P) (R, error)) Method {
	m := Method{name: name, result: reflect.TypeFor[R]()}
	if name == "" || fn == nil {
		m.err = errors.New("a method needs a name and a function")
		return m
	}
	if m.params, m.err = paramsOf(reflect.TypeFor[P]()); m.err != nil {
		return m
	}
	known := make(map[reflect.Type]*shape)
	for i := range m.params {
		p := &m.params[i]
		if p.shape, m.err = shapeOf(p.Type, known); m.err != nil {
			m.err = fmt.Errorf("parameter %q: %w", p.Name, m.err)
			return m
		}
	}
	params := m.params
	m.call = func(ctx context.Context, raw []byte) (any, error) {
		var p P
		if err := bind(params, raw, reflect.ValueOf(&p).Elem()); err != nil {
			return nil, err
		}
		return fn(ctx, p)
	}
	return m
}

// Name returns the method's name.
func (m Method) Name() string { return m.name }

// Params returns the parameters in their order.
func (m Method) Params() []ParamInfo {
	infos := make([]ParamInfo, len(m.params))
	for i, p := range m.params {
		infos[i] = p.ParamInfo
	}
	return infos
}

// Result returns the Go type of the result.
func (m Method) Result() reflect.Type { return m.result }
