// Package bindings writes programs' access to a contract by its ABI, in Go, Rust and TypeScript. An ABI comes from
// whoever wrote the contract: of its text nothing reaches a program except identifiers and types.
package bindings

//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/types.wasm --lang go --name typed --out ../testkit/bindings/typed/typed.go
//go:generate go run ../../cmd/cairn contract bindings ../../contracts/wasm/nep20.wasm --lang go --name nep20 --out ../testkit/bindings/nep20/nep20.go
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

// generators write a program that accesses a contract under a name.
var generators = map[string]func(a abi.ABI, name string) ([]byte, error){"go": Go, "rust": Rust, "ts": TypeScript}

// Languages are those that [Generate] knows.
func Languages() []string { return []string{"go", "rust", "ts"} }

// ErrName is what generating fails with, wrapped, of a name that a program cannot have.
var ErrName = errors.New("a program cannot have this name")

// Generate writes the access to a contract in one of [Languages]. name is an identifier: Go's package, Rust's and
// TypeScript's type or constant. Errors: [ErrName]; what the language's SDK does not have.
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
	a.Storage = nil // which is not called
	return generate(a, name)
}

// text is the ABI as programs have it.
func text(a abi.ABI) (string, error) {
	encoded, err := json.Marshal(a)
	return string(encoded), err
}

// camel is a name with a capital letter at the beginning and in place of each underscore: tokenId is TokenId, a_b is
// AB.
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

// scope are the names that are taken within a part of a program.
type scope map[string]bool

func newScope(taken ...string) scope {
	s := scope{}
	for _, name := range taken {
		s[name] = true
	}
	return s
}

// take gives a name that is not taken yet: the one wanted, or that with a number behind it.
func (s scope) take(wanted string) string {
	name := wanted
	for i := 2; s[name]; i++ {
		name = wanted + strconv.Itoa(i)
	}
	s[name] = true
	return name
}

// errorsOf are an ABI's errors by code.
func errorsOf(a abi.ABI) []abi.Error {
	list := slices.Clone(a.Errors)
	slices.SortFunc(list, func(x, y abi.Error) int { return int(int64(x.Code) - int64(y.Code)) })
	return list
}
