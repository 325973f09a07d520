// Command apigen generates files from the OpenRPC document: the methods, types and error reasons of the TypeScript SDK,
// and the method reference in the documentation.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/cairn-chain/cairn/api"
)

//go:generate go run .

// outputs maps each generated file, relative to this package's directory, to its generator.
var outputs = map[string]func(document) []byte{
	"../../sdk/typescript/src/generated.ts": func(d document) []byte { return newWriter(d).write() },
	"../../docs/methods.md":                 page,
}

func main() {
	d, err := read(api.NewDocument(api.Declarations()))
	if err != nil {
		log.Fatal(err)
	}
	for file, write := range outputs {
		if err := os.WriteFile(file, write(d), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// document is the part of the OpenRPC document that the generators use.
type document struct {
	Methods    []method
	Components struct{ Schemas map[string]schema }
}

// method is a method of the document.
type method struct {
	Name    string
	Summary string
	Params  []struct {
		Name        string
		Description string
		Required    bool
		Schema      schema
	}
	Result struct{ Schema schema }
	Errors []struct {
		Code int
		Data struct{ Reasons map[string]string }
	}
	Examples []api.DocumentExample
}

// schema is a JSON Schema of the document.
type schema struct {
	// A reference to a component is one of two members:
	Ref    string `json:"$ref"`
	Within string `json:"x-cairn-ref"` // api.SchemaWithin

	Description          string
	Type                 string
	Format, Pattern      string
	Enum                 []string
	OneOf                []schema
	AllOf                []schema
	Items                *schema
	Properties           map[string]schema
	Required             []string
	AdditionalProperties json.RawMessage // a schema, false, or true
}

// read converts the OpenRPC document by way of its JSON.
func read(d api.Document) (read document, err error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return read, err
	}
	if err := json.Unmarshal(encoded, &read); err != nil {
		return read, fmt.Errorf("reading the OpenRPC document: %w", err)
	}
	return read, nil
}
