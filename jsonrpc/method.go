package jsonrpc

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// A Method is a name, the parameters it takes, and the function that answers. NewMethod and NewGroupMethod make one.
type Method struct {
	name   string
	params []param
	result reflect.Type
	err    error
	turns  Turns // in which its calls run; nil: they ask for none
	placed bool  // by In, or else in Options.Running
	large  bool  // by Large
	// One of these is set.
	call  func(ctx context.Context, r *reply, c given) error
	group func(ctx context.Context, calls []given) (answers, error)
}

// given is what a call brings along.
type given struct {
	id        []byte // nil of a notification
	arguments []argument
	turn      func() error // waits for a turn to encode the result in; nil: there is one
}

// answers write the answer of the i-th call of a group, or return its error.
type answers func(r *reply, i int) error

// NewMethod returns the method name that decodes its parameters into P and answers with what fn returns.
//
// P is a struct. Its exported fields in order are the positional parameters, named by their json tags; struct{} takes
// none. The tag jsonrpc:"optional" marks a parameter that may be absent or null, which leaves the field at its zero
// value; optional parameters come last. A null for a required parameter is an error, unless its type is a pointer, an
// interface or json.RawMessage. Unknown and repeated members of objects are errors at every level. So is a member that
// is missing, or null as a parameter must not be, unless its field has the json option omitempty. Interfaces decode
// numbers as float64: where a parameter may be of several types, take json.RawMessage or a type that implements
// json.Unmarshaler. If UnmarshalJSON fails with an *Error, the client is told that, with the parameter's name added as
// data.param. Of any other error the client is told only that the parameter is malformed. UnmarshalJSON and
// UnmarshalText must not keep or change the text they are given.
//
// A result that is an Appender appends itself, any other is encoded by encoding/json without HTML escapes; nil is
// answered as null. fn may be called by many goroutines at once.
//
// What is wrong with P is reported by NewServer.
func NewMethod[P, R any](name string, fn func(context.Context, P) (R, error)) Method {
	m := newMethod[P, R](name, fn != nil)
	if m.err != nil {
		return m
	}
	frames := framePool[P, R](m.params)
	m.call = func(ctx context.Context, r *reply, c given) error {
		f := frames.Get().(*frame[P, R]) // lost when fn panics
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

// An Outcome is what became of one call of a group: a result, or an error.
type Outcome[R any] struct {
	Result R
	Err    error
}

// NewGroupMethod returns a method like that of NewMethod whose consecutive calls in a batch, notifications among them,
// are handed to fn together, those with unusable parameters left out. A call that stands alone is a group of one. fn
// returns one Outcome for each element of params, in their order; the answers stand where the calls did. If fn panics,
// all calls of the group fail. The limit of a response holds before a group begins, and for each of its answers. A
// group that was begun is carried out whole, even if some of its answers find no room any more.
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

// together calls fn unless there is nothing to call it for.
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

// newMethod returns a method without its function, which is there or not.
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

// In returns the method as one whose calls run in turns of t instead of those of Options.Running. With nil they ask for
// none before their result is encoded: they mostly wait for something.
func (m Method) In(t Turns) Method {
	m.turns, m.placed = t, true
	return m
}

// Large returns the method as one whose results, unless its calls have a turn, are encoded in turns of Options.Heavy.
func (m Method) Large() Method {
	m.large = true
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
