package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Example is a call of a method, and its result.
type Example struct {
	Name   string            `json:"name"` // what it shows
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"` // by place
	Result json.RawMessage   `json:"result"`
}

// MaxExampleBytes is how many bytes of a value are in an example; the rest is left out.
const MaxExampleBytes = 400

// examplesFile has the examples in an order in which they can be made, one after the other, on a development chain.
//
//go:embed examples.json
var examplesFile []byte

var examples = sync.OnceValue(func() (all []Example) {
	if err := json.Unmarshal(examplesFile, &all); err != nil {
		panic(fmt.Sprintf("api: examples.json: %v", err)) // it is part of the program
	}
	return all
})

// Examples are calls of all methods, each of a development chain on which those before it were made. Their results are
// what a node gave (package e2e makes them).
func Examples() []Example { return slices.Clone(examples()) }

// documentExamples are the examples of a method as OpenRPC has them.
func documentExamples(m Declaration) []DocumentExample {
	shown := []DocumentExample{}
	for _, e := range examples() {
		if e.Method != m.Name {
			continue
		}
		pairing := DocumentExample{Name: e.Name, Params: []ExampleValue{}, Result: ExampleValue{"result", e.Result}}
		for i, value := range e.Params {
			pairing.Params = append(pairing.Params, ExampleValue{m.Params.Field(i).Tag.Get("json"), value})
		}
		shown = append(shown, pairing)
	}
	return shown
}
