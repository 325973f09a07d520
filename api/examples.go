package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// Example is an example call of a method, with its result.
type Example struct {
	Name   string            `json:"name"` // title
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"` // by position
	Result json.RawMessage   `json:"result"`
}

// MaxExampleBytes bounds the bytes shown of a value in an example.
const MaxExampleBytes = 400

// examplesFile holds the examples, in an order in which a development chain can execute them.
//
//go:embed examples.json
var examplesFile []byte

var examples = sync.OnceValue(func() (all []Example) {
	if err := json.Unmarshal(examplesFile, &all); err != nil {
		panic(fmt.Sprintf("api: examples.json: %v", err)) // the file is embedded, so it is valid
	}
	return all
})

// Examples returns example calls of all methods, each made on a development chain after the earlier ones. The results
// were returned by a node (package e2e generates them).
func Examples() []Example { return slices.Clone(examples()) }

// documentExamples returns the examples of a method in OpenRPC form.
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
