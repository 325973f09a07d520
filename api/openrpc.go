package api

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// ContractVersion is the semantic version of this interface. Additions increase the minor number. The meaning of a
// method never changes and no field is ever removed.
const ContractVersion = "2.0.0"

// Discover returns the document of the methods that a node serves (OpenRPC 1.x, "Service Discovery").
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

// DocumentExample is OpenRPC's Example Pairing Object: a call and its result.
type DocumentExample struct {
	Name   string         `json:"name"`
	Params []ExampleValue `json:"params"`
	Result ExampleValue   `json:"result"`
}

// ExampleValue is OpenRPC's Example Object. Longer byte strings in it are truncated to [MaxExampleBytes].
type ExampleValue struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// DocumentError is OpenRPC's Error Object. It combines all errors of a method with one code, as OpenRPC requires unique
// codes.
type DocumentError struct {
	Code    int                `json:"code"`
	Message string             `json:"message"`
	Data    *DocumentErrorData `json:"data,omitempty"`
}

// DocumentErrorData lists the possible values of data.reason.
type DocumentErrorData struct {
	Reasons map[string]string `json:"reasons"` // message by reason
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

// NewDocument returns the document of the methods that a node serves, ordered by name.
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
		given.of(reflect.TypeFor[Event]()) // occurs only in notifications
	}
	for name, schema := range d.Components.Schemas {
		titled := maps.Clone(schema) // schemas may be shared between documents
		titled["title"] = name       // client generators name the type after it
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

// documentErrors groups errors by code, in order of first occurrence.
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
