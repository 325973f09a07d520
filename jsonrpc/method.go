package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// A Method is a name, a list of parameters and a handler. NewMethod and NewGroupMethod create one.
type Method struct {
	name   string
	params []param
	result reflect.Type
	err    error
	turns  Turns // turns for its calls; nil: none
	placed bool  // turns was set by In; otherwise Options.Running applies
	large  bool  // set by Large
	// Exactly one of these is set.
	call  func(ctx context.Context, r *reply, c given) error
	group func(ctx context.Context, calls []given) (answers, error)
}

// given is the part of a call that its method receives.
type given struct {
	id        []byte // nil for a notification
	arguments []argument
	turn      func() error // waits for a turn for encoding the result; nil if the call has one
}

// answers writes the answer of the i-th call of a group, or returns its error.
type answers func(r *reply, i int) error

// NewMethod returns the method name, which decodes its parameters into P and answers with the result of fn.
//
// P is a struct. Its exported fields in order are the positional parameters, named by their json tags; struct{} has
// none. The tag jsonrpc:"optional" marks a parameter that may be absent or null, which leaves the field at its zero
// value; optional parameters come last. A null for a required parameter is an error unless its type is a pointer, an
// interface or json.RawMessage. Within parameters, at every level, unknown and repeated members of objects are errors.
// So are missing members, and null under the same rule as for parameters, unless the field has the json option
// omitempty. Interfaces decode numbers as float64: a parameter of several types should be a json.RawMessage or
// implement json.Unmarshaler. If UnmarshalJSON fails with an *Error, the client receives that, with the parameter's
// name added as data.param; for any other error it learns only that the parameter is malformed. UnmarshalJSON and
// UnmarshalText must not retain or modify their argument.
//
// A result that is an Appender encodes itself; any other is encoded by encoding/json without HTML escapes. A nil result
// becomes null. fn must be safe for concurrent use.
//
// NewServer reports errors in P.
func NewMethod[P, R any](name string, fn func(context.Context, P) (R, error)) Method {
	m := newMethod[P, R](name, fn != nil)
	if m.err != nil {
		return m
	}
	frames := framePool[P, R](m.params)
	m.call = func(ctx context.Context, r *reply, c given) error {
		f := frames.Get().(*frame[P, R]) // lost if fn panics
		err := f.call(ctx, r, c, fn)
		f.reset()
		frames.Put(f)
		return err
	}
	return m
}

func (f *frame[P, R]) call(ctx context.Context, r *reply, c given, fn func(context.Context, P) (R, error)) (err error) {
	if invalid := bind(f.fields, c.arguments); invalid != nil {
		return invalid
	}
	if f.result, err = fn(ctx, f.params); err != nil || c.id == nil {
		return err
	}
	if c.turn != nil {
		if err := c.turn(); err != nil {
			return err
		}
	}
	return r.result(c.id, f.encode)
}

// An Outcome is the result of one call of a group, or its error.
type Outcome[R any] struct {
	Result R
	Err    error
}

// NewGroupMethod returns a method like NewMethod's, but its consecutive calls in a batch, including notifications, are
// handed to fn together; calls with invalid parameters are left out. A single call is a group of one. fn must return
// one Outcome for each element of params, in order; the answers keep the positions of their calls. If fn panics, all
// calls of the group fail. The limit of a response is checked before a group begins, and for each of its answers. Once
// begun, a group is executed whole, even if there is no room for some of its answers.
func NewGroupMethod[P, R any](name string, fn func(ctx context.Context, params []P) []Outcome[R]) Method {
	m := newMethod[P, R](name, fn != nil)
	if m.err != nil {
		return m
	}
	frames := framePool[P, R](m.params)
	m.group = func(ctx context.Context, calls []given) (answers, error) {
		f := frames.Get().(*frame[P, R])
		defer frames.Put(f)
		defer f.reset()
		invalid := make([]*Error, len(calls))
		params := make([]P, 0, len(calls))
		for i, c := range calls {
			f.reset()
			if invalid[i] = bind(f.fields, c.arguments); invalid[i] == nil {
				params = append(params, f.params)
			}
		}
		outcomes, err := together(ctx, params, fn)
		if err != nil {
			return nil, err
		}
		next := 0
		return func(r *reply, i int) error {
			if invalid[i] != nil {
				return invalid[i]
			}
			outcome := &outcomes[next]
			next++
			if outcome.Err != nil || calls[i].id == nil {
				return outcome.Err
			}
			return r.result(calls[i].id, encoderOf(&outcome.Result))
		}, nil
	}
	return m
}

// together calls fn unless params is empty.
func together[P, R any](
	ctx context.Context, params []P, fn func(context.Context, []P) []Outcome[R],
) ([]Outcome[R], error) {
	if len(params) == 0 {
		return nil, nil
	}
	outcomes := fn(ctx, params)
	if len(outcomes) != len(params) {
		return nil, fmt.Errorf("jsonrpc: %d outcomes of %d calls", len(outcomes), len(params))
	}
	return outcomes, nil
}

// newMethod returns a method without its function. hasFunction reports whether there is one.
func newMethod[P, R any](name string, hasFunction bool) Method {
	m := Method{name: name, result: reflect.TypeFor[R]()}
	if name == "" || !hasFunction {
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
	return m
}

// In returns the method with its calls run in turns of t instead of Options.Running. If t is nil, they have no turn
// until their result is encoded: they mostly wait for something.
func (m Method) In(t Turns) Method {
	m.turns, m.placed = t, true
	return m
}

// Large returns the method with its results encoded in turns of Options.Heavy, unless its calls have a turn already.
func (m Method) Large() Method {
	m.large = true
	return m
}

// Name returns the method's name.
func (m Method) Name() string { return m.name }

// Params returns the parameters in order.
func (m Method) Params() []ParamInfo {
	infos := make([]ParamInfo, len(m.params))
	for i, p := range m.params {
		infos[i] = p.ParamInfo
	}
	return infos
}

// Result returns the Go type of the result.
func (m Method) Result() reflect.Type { return m.result }
