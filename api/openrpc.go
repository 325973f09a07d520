package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// ContractVersion is the version of this contract, as semantic versioning counts: what is added raises the minor
// number. A method's meaning never changes and a field never disappears.
const ContractVersion = "1.6.0"

// Discover is the method that gives the document of the methods a node serves (OpenRPC 1.x, "Service Discovery").
var Discover = define[NoParams, Document]("rpc.discover", "This interface as an OpenRPC document.")

// Document is an OpenRPC 1.x document (https://spec.open-rpc.org).
type Document struct {
	OpenRPC    string             `json:"openrpc"`
	Info       DocumentInfo       `json:"info"`
	Methods    []DocumentMethod   `json:"methods"`
	Components DocumentComponents `json:"components"`
}

// DocumentInfo is OpenRPC's Info Object.
type DocumentInfo struct {
	Title       string `json:"title"`
	Description string `json:"description"`
	Version     string `json:"version"`
}

// DocumentMethod is OpenRPC's Method Object.
type DocumentMethod struct {
	Name           string              `json:"name"`
	Summary        string              `json:"summary"`
	ParamStructure string              `json:"paramStructure"`
	Params         []ContentDescriptor `json:"params"`
	Result         ContentDescriptor   `json:"result"`
	Errors         []DocumentError     `json:"errors,omitempty"`
	Examples       []DocumentExample   `json:"examples"`
}

// DocumentExample is OpenRPC's Example Pairing Object: a call and what it is answered with.
type DocumentExample struct {
	Name   string         `json:"name"`
	Params []ExampleValue `json:"params"`
	Result ExampleValue   `json:"result"`
}

// ExampleValue is OpenRPC's Example Object. Bytes in it that are longer than [MaxExampleBytes] are cut after these.
type ExampleValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// DocumentError is OpenRPC's Error Object: all that a method declares of one code, as OpenRPC wants codes to be unique.
type DocumentError struct {
	Code    int                `json:"code"`
	Message string             `json:"message"`
	Data    *DocumentErrorData `json:"data,omitempty"`
}

// DocumentErrorData says what data.reason of an error may be.
type DocumentErrorData struct {
	Reasons map[string]string `json:"reasons"` // the word and the message that comes with it
}

// ContentDescriptor is OpenRPC's Content Descriptor Object: a parameter or a result.
type ContentDescriptor struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Schema      Schema `json:"schema"`
}

// DocumentComponents is OpenRPC's Components Object: the schemas of named types.
type DocumentComponents struct {
	Schemas map[string]Schema `json:"schemas"`
}

// NewDocument describes the methods that a node serves, ascending by name.
func NewDocument(served []Declaration) Document {
	d := Document{
		OpenRPC: "1.3.2",
		Info: DocumentInfo{
			Title:       "Cairn node",
			Description: "JSON-RPC 2.0 interface of a Cairn node. Objects may gain fields; none changes or disappears.",
			Version:     ContractVersion,
		},
		Methods:    []DocumentMethod{},
		Components: DocumentComponents{Schemas: map[string]Schema{}},
	}
	within := map[reflect.Type]bool{}
	taken, given := schemas{d.Components.Schemas, true, within}, schemas{d.Components.Schemas, false, within}
	for _, m := range served {
		d.Methods = append(d.Methods, DocumentMethod{
			Name:           m.Name,
			Summary:        m.Summary,
			ParamStructure: "either",
			Params:         taken.params(m.Params),
			Result:         ContentDescriptor{Name: "result", Schema: given.of(m.Result)},
			Errors:         documentErrors(m.Errors),
			Examples:       documentExamples(m),
		})
	}
	if slices.ContainsFunc(served, func(m Declaration) bool { return m.Name == Subscribe.Name }) {
		given.of(reflect.TypeFor[Event]()) // what is only ever sent in notifications
	}
	for name, schema := range d.Components.Schemas {
		titled := maps.Clone(schema) // some are shared by all documents
		titled["title"] = name       // what generators of clients name the type after
		d.Components.Schemas[name] = titled
	}
	slices.SortFunc(d.Methods, func(a, b DocumentMethod) int { return strings.Compare(a.Name, b.Name) })
	return d
}

// params describes the fields of a parameter struct.
func (s schemas) params(t reflect.Type) []ContentDescriptor {
	params := make([]ContentDescriptor, t.NumField())
	for i := range params {
		field := t.Field(i)
		params[i] = ContentDescriptor{
			Name: field.Tag.Get("json"), Description: field.Tag.Get("doc"),
			Required: field.Tag.Get("jsonrpc") != "optional", Schema: s.of(field.Type),
		}
		if !params[i].Required && field.Type.Kind() != reflect.Pointer {
			params[i].Schema = orNull(params[i].Schema)
		}
	}
	return params
}

// documentErrors gathers errors by their codes, in the order in which those come first.
func documentErrors(declared []*jsonrpc.Error) []DocumentError {
	var gathered []DocumentError
	for _, e := range declared {
		i := slices.IndexFunc(gathered, func(g DocumentError) bool { return g.Code == e.Code })
		if i < 0 {
			i, gathered = len(gathered), append(gathered, DocumentError{Code: e.Code, Message: e.Message})
		} else {
			gathered[i].Message += "; " + e.Message
		}
		if reason, ok := e.Data["reason"].(string); ok {
			if gathered[i].Data == nil {
				gathered[i].Data = &DocumentErrorData{map[string]string{}}
			}
			gathered[i].Data.Reasons[reason] = e.Message
		}
	}
	return gathered
}
