package api

import (
	"reflect"
	"slices"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// Method declares a method with parameters P, a struct whose exported fields in order are the positional parameters,
// and result R.
type Method[P, R any] struct {
	Declaration
}

// Declaration is what a [Method] says of itself, whatever its types.
type Declaration struct {
	Name    string
	Summary string           // one sentence for people
	Params  reflect.Type     // P
	Result  reflect.Type     // R; a pointer where the result may be null
	Errors  []*jsonrpc.Error // what it may fail with, its own first, then those of all methods
}

// NoParams is P of a method without parameters.
type NoParams struct{}

var declared []Declaration

// define declares a method. It is called to initialize package variables only.
func define[P, R any](name, summary string, errors ...*jsonrpc.Error) Method[P, R] {
	d := Declaration{
		Name: name, Summary: summary, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](), Errors: withCommon(errors),
	}
	declared = append(declared, d)
	return Method[P, R]{d}
}

// Declarations lists every method that this package declares. A node may serve fewer: dev_ methods exist on
// development chains only.
func Declarations() []Declaration { return slices.Clone(declared) }
