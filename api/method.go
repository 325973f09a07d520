package api

import (
	"reflect"
	"slices"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// Method declares a method with parameters P and result R. P is a struct whose exported fields, in order, are the
// positional parameters.
type Method[P, R any] struct {
	Declaration
}

// Declaration is the untyped part of a [Method].
type Declaration struct {
	Name    string
	Summary string           // one sentence for people
	Params  reflect.Type     // P
	Result  reflect.Type     // R; a pointer where the result may be null
	Errors  []*jsonrpc.Error // possible errors: its own, then those common to all methods
}

// NoParams is the parameter struct of a method without parameters.
type NoParams struct{}

var declared []Declaration

// define declares a method. It must be called only to initialize package variables.
func define[P, R any](name, summary string, errors ...*jsonrpc.Error) Method[P, R] {
	d := Declaration{
		Name: name, Summary: summary, Params: reflect.TypeFor[P](), Result: reflect.TypeFor[R](), Errors: withCommon(errors),
	}
	declared = append(declared, d)
	return Method[P, R]{d}
}

// Declarations returns every method declared in this package. A node may serve fewer: dev_ methods exist only on
// development chains.
func Declarations() []Declaration { return slices.Clone(declared) }
