package rpc

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// wrongFor is JSON that no value of a type may have.
func wrongFor(t reflect.Type) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if hasMembers(t) {
		return 5
	}
	return map[string]any{"wrong": 5}
}

func hasMembers(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && !reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}

// TestErrorsNameWhatIsWrong passes every parameter, every member of one and every element of such a member a value of a
// wrong type, in an otherwise valid call.
func TestErrorsNameWhatIsWrong(t *testing.T) {
	c := startTestChain(t, types.Regtest, api.DevelopmentChainID, chain.Options{}, jsonrpc.Options{})
	good := map[string][]json.RawMessage{}
	for _, e := range api.Examples() {
		good[e.Method] = e.Params
	}
	tried := 0
	for _, d := range api.Declarations() {
		for i := range d.Params.NumField() {
			field := d.Params.Field(i)
			param, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			refuse := func(value any, member string) {
				tried++
				params := make([]any, max(i+1, len(good[d.Name])))
				for j, raw := range good[d.Name] {
					params[j] = raw
				}
				params[i] = value
				_, failure := c.post(d.Name, params...)
				if failure == nil || failure.Code != jsonrpc.CodeInvalidParams || failure.Data["param"] != param ||
					member != "" && failure.Data["member"] != member {
					t.Errorf("%s with %v: got %v, want parameter %q, member %q", d.Name, params, failure, param, member)
				}
			}
			refuse(wrongFor(field.Type), "")
			if !hasMembers(field.Type) {
				continue
			}
			for j := range field.Type.NumField() {
				member := field.Type.Field(j)
				name, _, _ := strings.Cut(member.Tag.Get("json"), ",")
				with := map[string]any{}
				if i < len(good[d.Name]) {
					check(t, json.Unmarshal(good[d.Name][i], &with))
				}
				with[name] = wrongFor(member.Type)
				refuse(with, name)
				if member.Type.Kind() == reflect.Slice {
					with[name] = []any{wrongFor(member.Type.Elem())}
					refuse(with, name+"[0]")
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("got %d wrong values tried, want every one of the document", tried)
	}
	for _, test := range []struct {
		method string
		filter map[string]any
		member string
	}{
		{"svc_getEvents", map[string]any{"contract_id": "0x00"}, "contract_id"},
		{"svc_getEvents", map[string]any{"topics": []any{nil, "0x00"}}, "topics[1]"},
		{"svc_getPayments", map[string]any{"accounts": []any{account(alice), "0x00"}}, "accounts[1]"},
		{"svc_getPayments", map[string]any{"from_block": "x"}, "from_block"},
	} {
		if data := c.refused(invalid, test.method, test.filter); data["param"] != "filter" || data["member"] != test.member {
			t.Errorf("%s %v: got %v, want member %s of filter", test.method, test.filter, data, test.member)
		}
	}
}
