package api

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// specified are the fields of results as the specification lists them, in its order: "name type", where ? allows null.
var specified = map[string][]string{
	"Block": {
		"height integer", "hash string", "timestamp integer", "txCount integer", "stateRoot string", "transactions array",
	},
	"Transaction": {"hash string", "from string", "to string", "value string", "gasLimit string", "gasPrice string",
		"nonce string", "blockHeight integer?", "blockHash string?", "status string"},
	"Receipt": {"transactionHash string", "blockHeight integer", "blockHash string", "status string", "gasUsed string",
		"contractAddress string?", "logs array"},
	"Log": {"address string", "topics array", "data string"},
	"MempoolStats": {
		"pending_count integer", "total_gas integer", "backpressure_active boolean", "oldest_tx_age_secs integer",
	},
	"FeeMarket": {"base_fee integer", "utilization number", "target_utilization number", "min_base_fee integer",
		"max_base_fee integer"},
	"GasPriceInfo": {"base_fee string", "suggested_priority_fee string", "suggested_max_fee string"},
	"NodeInfo": {"version string", "network string", "mode string", "block_height integer", "protocol_public_key string",
		"peer_count integer"},
	"SyncStatus": {"mode string", "synced boolean", "local_height integer", "primary_height integer?",
		"blocks_behind integer?",
		"sync_rate_blocks_per_sec number"},
	"ResolvedAddress": {"pubkey string"},
	"BlockRange":      {"from_height integer", "to_height integer", "include_transactions boolean?"},
}

func TestResultsBeginWithTheSpecifiedFields(t *testing.T) {
	document := NewDocument(Declarations())
	for name, fields := range specified {
		schema, ok := document.Components.Schemas[name]
		if !ok {
			t.Errorf("%s is not in the document", name)
			continue
		}
		properties := schema["properties"].(map[string]Schema)
		for _, field := range fields {
			field, want, _ := strings.Cut(field, " ")
			if got := jsonType(document, properties[field]); got != want {
				t.Errorf("%s.%s is %q, specified is %s", name, field, got, want)
			}
		}
	}
	for _, result := range []any{
		Block{}, Transaction{}, Receipt{}, Log{}, NodeInfo{}, SyncStatus{}, MempoolStats{}, FeeMarket{}, GasPriceInfo{},
	} {
		at := reflect.TypeOf(result)
		for i, field := range specified[at.Name()] {
			name, _, _ := strings.Cut(field, " ")
			if got, _, _ := strings.Cut(at.Field(i).Tag.Get("json"), ","); got != name {
				t.Errorf("field %d of %s is %s, specified is %s", i, at.Name(), got, name)
			}
		}
	}
}

// TestNamesAreOfOneStyle requires that each object's names have one style. The specification uses both: camelCase in
// blocks, transactions, receipts and their parts, and snake_case in lists, filters and a node's own status.
func TestNamesAreOfOneStyle(t *testing.T) {
	for name, schema := range NewDocument(Declarations()).Components.Schemas {
		properties, _ := schema["properties"].(map[string]Schema)
		var snake, camel []string
		for field := range properties {
			switch {
			case field == "before" || field == "after":
				t.Errorf("%s.%s: want cursor, by which every list goes on", name, field)
			case strings.Contains(field, "_"):
				snake = append(snake, field)
			case strings.ToLower(field) != field:
				camel = append(camel, field)
			}
		}
		if name == "StateSnapshot" {
			continue // a snapshot's manifest, which is a file of nodes
		}
		if len(snake) > 0 && len(camel) > 0 {
			t.Errorf("%s mixes %v and %v: want one style in an object", name, snake, camel)
		}
	}
}

// jsonType is the JSON type that a schema allows, with ? if null is allowed too.
func jsonType(d Document, s Schema) string {
	if all, ok := s["allOf"].([]Schema); ok {
		return jsonType(d, all[0])
	}
	if ref, ok := s["$ref"].(string); ok {
		return jsonType(d, d.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")])
	}
	if one, ok := s["oneOf"].([]Schema); ok && one[1]["type"] == "null" {
		return jsonType(d, one[0]) + "?"
	}
	name, _ := s["type"].(string)
	return name
}

func TestDocumentDeclaresEveryMethod(t *testing.T) {
	document := NewDocument(Declarations())
	if !slices.IsSortedFunc(document.Methods, func(a, b DocumentMethod) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("methods do not ascend")
	}
	if len(document.Methods) != len(Declarations()) {
		t.Errorf("%d methods of %d", len(document.Methods), len(Declarations()))
	}
	for i, m := range document.Methods {
		if i > 0 && document.Methods[i-1].Name == m.Name {
			t.Errorf("%s is there twice", m.Name)
		}
		if m.Summary == "" || len(m.Result.Schema) == 0 {
			t.Errorf("%s has no summary or no result", m.Name)
		}
		optional := false
		for _, p := range m.Params {
			if p.Name == "" || p.Description == "" || len(p.Schema) == 0 {
				t.Errorf("%s: parameter %+v is not described", m.Name, p)
			}
			if p.Required && optional {
				t.Errorf("%s: parameter %s is required after an optional one", m.Name, p.Name)
			}
			optional = !p.Required
		}
	}
}

func TestDocumentIsWhole(t *testing.T) {
	encoded, err := json.Marshal(NewDocument(Declarations()))
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(encoded, &document); err != nil {
		t.Fatal(err)
	}
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)
	var walk func(at string, v any)
	walk = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok && strings.HasPrefix(ref, "#") {
				if _, ok := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]; !ok {
					t.Errorf("%s: %s leads nowhere", at, ref)
				}
			}
			for key, member := range v {
				walk(at+"."+key, member)
			}
		case []any:
			for _, item := range v {
				walk(at, item)
			}
		}
	}
	walk("", document)
}

func TestEveryFieldIsDescribed(t *testing.T) {
	for _, d := range Declarations() {
		for _, of := range []reflect.Type{d.Params, d.Result} {
			describeFields(t, of, map[reflect.Type]bool{})
		}
	}
}

func describeFields(t *testing.T, of reflect.Type, seen map[reflect.Type]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if _, ok := formOf[of]; ok {
		return
	}
	if _, ok := encoded[of]; ok || seen[of] || of.Kind() != reflect.Struct ||
		of.PkgPath() != reflect.TypeFor[Block]().PkgPath() && of.PkgPath() != reflect.TypeFor[abi.ABI]().PkgPath() {
		return
	}
	seen[of] = true
	if of == reflect.TypeFor[BlockTransactions]() {
		describeFields(t, reflect.TypeFor[Transaction](), seen)
		return
	}
	for i := range of.NumField() {
		field := of.Field(i)
		if field.Tag.Get("json") == "-" {
			continue
		}
		if field.Tag.Get("json") == "" || field.Tag.Get("doc") == "" {
			t.Errorf("%v.%s has no name or description", of, field.Name)
		}
		describeFields(t, field.Type, seen)
	}
}

func TestBlockTransactions(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		full       bool
	}{
		{"none", `[]`, false},
		{"hashes", `["0x1111111111111111111111111111111111111111111111111111111111111111"]`, false},
	} {
		var got BlockTransactions
		if err := json.Unmarshal([]byte(tc.text), &got); err != nil || (got.Full != nil) != tc.full {
			t.Errorf("%s: got %+v, error %v", tc.name, got, err)
		}
		if again, err := json.Marshal(got); err != nil || string(again) != tc.text {
			t.Errorf("%s became %s, error %v", tc.text, again, err)
		}
	}
	full := BlockTransactions{Full: []Transaction{{Type: "transfer", Witness: Witness{types.WitnessKey{}}}}}
	text, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	var got BlockTransactions
	if err := json.Unmarshal(text, &got); err != nil || len(got.Full) != 1 || got.Full[0].Type != "transfer" {
		t.Errorf("%s became %+v, error %v", text, got, err)
	}
}

// OpenRPC requires the codes of a method's errors to be unique. The words of data.reason must remain nevertheless.
func TestDocumentGathersErrors(t *testing.T) {
	document := NewDocument(Declarations())
	for _, m := range document.Methods {
		codes := map[int]DocumentError{}
		for _, e := range m.Errors {
			if _, twice := codes[e.Code]; twice {
				t.Errorf("%s has code %d twice", m.Name, e.Code)
			}
			codes[e.Code] = e
		}
		declared := Declarations()[slices.IndexFunc(Declarations(), func(d Declaration) bool { return d.Name == m.Name })]
		for _, e := range declared.Errors {
			documented := codes[e.Code]
			if !strings.Contains(documented.Message, e.Message) {
				t.Errorf("%s does not document %v: got %+v, want %q", m.Name, e, documented, e.Message)
			}
			if reason, ok := e.Data["reason"].(string); ok &&
				(documented.Data == nil || documented.Data.Reasons[reason] != e.Message) {
				t.Errorf("%s does not document the reason %s", m.Name, reason)
			}
		}
	}
}

func TestErrorsAreDistinct(t *testing.T) {
	for _, d := range Declarations() {
		seen := map[string]bool{}
		for _, e := range d.Errors {
			key := e.Error()
			if seen[key] || e.Code == 0 || e.Message == "" {
				t.Errorf("%s: error %q is there twice or says nothing", d.Name, key)
			}
			seen[key] = true
		}
	}
	if !ErrNonceTooLow.Is(jsonrpc.NewError(CodeNonce, "another text", "reason", "nonce_too_low")) ||
		ErrNonceTooLow.Is(ErrNonceTooHigh) {
		t.Error("errors are not told apart by code and reason")
	}
}

// Every method accepts the same forms of a value. Every quantity may have leading zeros, and all bytes in parameters
// may lack 0x, since no type is for answers only.
func TestParametersAreTakenAlike(t *testing.T) {
	strict := []reflect.Type{reflect.TypeFor[Quantity](), reflect.TypeFor[Data]()}
	loose := map[reflect.Type]int{}
	var walk func(at string, of reflect.Type)
	walk = func(at string, of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && encoded[of].schema == nil {
			of = of.Elem()
		}
		loose[of]++
		if slices.Contains(strict, of) {
			t.Errorf("%s is of %v: a parameter takes what is loosely written", at, of)
		}
		if _, ok := encoded[of]; ok || of.Kind() != reflect.Struct {
			return
		}
		for i := range of.NumField() {
			walk(at+"."+of.Field(i).Name, of.Field(i).Type)
		}
	}
	for _, d := range Declarations() {
		walk(d.Name, d.Params)
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[LooseQuantity](), reflect.TypeFor[LooseData](), reflect.TypeFor[BlockRef](),
		reflect.TypeFor[types.TxID](),
	} {
		if loose[of] == 0 {
			t.Errorf("no parameter is of %v", of)
		}
	}
	for text, want := range map[string]uint64{`"0x7"`: 7, `"0x0007"`: 7, `"0x00000000000000000000007"`: 7} {
		var q LooseQuantity
		var b BlockRef
		if json.Unmarshal([]byte(text), &q) != nil || json.Unmarshal([]byte(text), &b) != nil ||
			uint64(q) != want || b != AtHeight(types.Height(want)) {
			t.Errorf("%s is %v and %v", text, q, b)
		}
	}
	for _, text := range []string{`"7"`, `"0x"`, `"0X7"`, `"0x1ffffffffffffffff"`, `""`} {
		if json.Unmarshal([]byte(text), new(LooseQuantity)) == nil || json.Unmarshal([]byte(text), new(BlockRef)) == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Every method has an example that names its parameters. No schema refers to another document or to itself: tools that
// resolve references would not terminate.
func TestDocumentCanBeResolved(t *testing.T) {
	document := NewDocument(Declarations())
	for _, m := range document.Methods {
		if len(m.Examples) == 0 {
			t.Errorf("%s has no example", m.Name)
		}
		for _, e := range m.Examples {
			for i, p := range e.Params {
				if p.Name != m.Params[i].Name {
					t.Errorf("%s: its parameter %d is %s, not %s", m.Name, i, m.Params[i].Name, p.Name)
				}
			}
		}
		for _, e := range CommonErrors() {
			declared := func(d DocumentError) bool { return d.Code == e.Code }
			if !slices.ContainsFunc(m.Errors, declared) {
				t.Errorf("%s does not declare %v", m.Name, e)
			}
		}
	}
	var reach func(name string, through []string)
	var walk func(v any, through []string)
	walk = func(v any, through []string) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				name, local := strings.CutPrefix(ref, "#/components/schemas/")
				if !local {
					t.Errorf("%v refers to %s", through, ref)
					return
				}
				reach(name, through)
			}
			for _, member := range v {
				walk(member, through)
			}
		case []any:
			for _, item := range v {
				walk(item, through)
			}
		}
	}
	schemas := map[string]any{}
	text, err := json.Marshal(document.Components.Schemas)
	if err != nil || json.Unmarshal(text, &schemas) != nil {
		t.Fatal(err)
	}
	reach = func(name string, through []string) {
		if slices.Contains(through, name) {
			t.Fatalf("%s contains itself by %v", name, through)
		}
		walk(schemas[name], append(slices.Clone(through), name))
	}
	for name := range schemas {
		reach(name, nil)
	}
}

// Client generators make a function for each method, with its parameters' names, and a type for each schema, with its
// title.
func TestGeneratedClientsCompile(t *testing.T) {
	reserved := strings.Fields(`arguments await break case catch class const continue debugger default delete do else enum
		eval export extends false finally for function if implements import in instanceof interface let new null package
		private protected public return static super switch this throw true try typeof var void while with yield
		and as assert async def del elif except from global is lambda nonlocal not or pass raise`)
	document := NewDocument(Declarations())
	for _, method := range document.Methods {
		for _, param := range method.Params {
			if slices.Contains(reserved, param.Name) {
				t.Errorf("%s: got a parameter %q, want a name that is no keyword of JavaScript or Python", method.Name, param.Name)
			}
		}
	}
	for name, schema := range document.Components.Schemas {
		if schema["title"] != name {
			t.Errorf("the schema %s: got the title %v, want its name", name, schema["title"])
		}
	}
}
