// Command tsgen writes the methods, types and error reasons of the TypeScript SDK from the OpenRPC document.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/cairn-chain/cairn/api"
)

//go:generate go run .

// output is the file that is written, from this package's directory.
const output = "../../sdk/typescript/src/generated.ts"

func main() {
	text, err := generate(api.NewDocument(api.Declarations()))
	if err == nil {
		err = os.WriteFile(output, text, 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// document is the part of the OpenRPC document that the SDK is made of.
type document struct {
	Methods []struct {
		Name    string
		Summary string
		Params  []struct {
			Name     string
			Required bool
			Schema   schema
		}
		Result struct{ Schema schema }
		Errors []struct {
			Code int
			Data struct{ Reasons map[string]string }
		}
	}
	Components struct{ Schemas map[string]schema }
}

// schema is a JSON Schema of the document.
type schema struct {
	Ref                  string `json:"$ref"`
	Description          string
	Type                 string
	Format               string
	Enum                 []string
	OneOf                []schema
	AllOf                []schema
	Items                *schema
	Properties           map[string]schema
	Required             []string
	AdditionalProperties json.RawMessage // a schema, false, or true
}

// generate gives the TypeScript source of a document.
func generate(d api.Document) ([]byte, error) {
	encoded, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var read document
	if err := json.Unmarshal(encoded, &read); err != nil {
		return nil, fmt.Errorf("reading the OpenRPC document: %w", err)
	}
	return newWriter(read).write(), nil
}
