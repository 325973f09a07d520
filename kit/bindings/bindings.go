// Package bindings generates bindings for a contract from its ABI, in Go, Rust and TypeScript. ABIs are untrusted: only
// identifiers and types from an ABI reach the generated code.
package bindings

//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/types.wasm --lang go --name typed --out generated/typed/typed.go
//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/nep20.wasm --lang go --name nep20 --out generated/nep20/nep20.go
//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/types.wasm --lang rust --name typed --out ../../contracts/rust/tests/caller/src/typed.rs
//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/types.wasm --lang ts --name typed --out ../../sdk/typescript/test/bindings/typed.ts

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/abi"
)

// generators maps each language to its generator.
var generators = map[string]func(a abi.ABI, name string) ([]byte, error){"go": Go, "rust": Rust, "ts": TypeScript}

// Languages lists the languages that [Generate] supports.
func Languages() []string { return []string{"go", "rust", "ts"} }

// ErrName is returned, wrapped, for a name that is not allowed in a program.
var ErrName = errors.New("a program cannot have this name")

// Generate generates bindings for a contract in one of [Languages]. name is the identifier of Go's package, or of
// Rust's or TypeScript's type or constant. It returns [ErrName], or an error if the language's SDK does not support a
// type of the ABI.
func Generate(lang string, a abi.ABI, name string) ([]byte, error) {
	generate, ok := generators[lang]
	if !ok {
		known := strings.Join(Languages(), ", ")
		return nil, fmt.Errorf("there are no bindings in %q: the languages are %s", lang, known)
	}
	for _, n := range append(a.Names(), name) {
		if !abi.Identifier(n) {
			return nil, fmt.Errorf("%w: %q", ErrName, n)
		}
	}
	a.Storage = nil // never called by bindings
	return generate(a, name)
}

// text returns the ABI as JSON for embedding in a program.
func text(a abi.ABI) (string, error) {
	encoded, err := json.Marshal(a)
	return string(encoded), err
}

// camel converts a name to camel case with a capital initial: tokenId becomes TokenId, a_b becomes AB.
func camel(name string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	if b.Len() == 0 || b.String()[0] >= '0' && b.String()[0] <= '9' {
		return "X" + b.String()
	}
	return b.String()
}

// scope is the set of names taken within a part of a program.
type scope map[string]bool

func newScope(taken ...string) scope {
	s := scope{}
	for _, name := range taken {
		s[name] = true
	}
	return s
}

// take returns a free name: the one wanted, or that name with a number appended.
func (s scope) take(wanted string) string {
	name := wanted
	for i := 2; s[name]; i++ {
		name = wanted + strconv.Itoa(i)
	}
	s[name] = true
	return name
}

// errorsOf returns an ABI's errors, ordered by code.
func errorsOf(a abi.ABI) []abi.Error {
	list := slices.Clone(a.Errors)
	slices.SortFunc(list, func(x, y abi.Error) int { return int(int64(x.Code) - int64(y.Code)) })
	return list
}
