package rpc

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/testkit/openrpc"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// discover returns a node's OpenRPC document.
func discover(c *testChain) openrpc.Document {
	c.t.Helper()
	raw, failure := c.post("rpc.discover")
	if failure != nil {
		c.t.Fatal(failure)
	}
	return must(openrpc.Read(raw))(c.t)
}

func decodeNumbers(t testing.TB, raw []byte) any {
	t.Helper()
	return must(openrpc.Value(raw))(t)
}

// TestParametersAreAsDeclared: a node reads the parameters that the OpenRPC document declares and no others. It accepts
// a value that has the shape of the schema, even if the value is out of range, and no other value.
func TestParametersAreAsDeclared(t *testing.T) {
	s := newTokenScenario(t)
	declared := discover(s.testChain)
	good := map[string]any{
		"account":   account(alice),
		"address":   types.Regtest.Address(account(alice)),
		"amount":    "0x1",
		"args":      "",
		"block":     "latest",
		"blocks":    1,
		"calls":     []any{},
		"code_hash": types.CodeHash{},
		"contract":  s.token,
		"count":     1,
		"cursor":    "",
		"filter":    map[string]any{},
		"full":      false,
		"function":  "name", "function_name": "name",
		"hash":        types.TxID{},
		"key":         "0x",
		"limit":       1,
		"message":     "0x",
		"nonce":       "0x0",
		"page":        map[string]any{},
		"percentiles": []any{},
		"proof":       "0x",
		"range":       map[string]any{"from_height": 0, "to_height": 0},
		"role":        "payer",
		"token":       s.token,
		"transaction": "0x",
		"witness":     "0x",
	}
	// On /ws, or with lasting effects: their parameters have the same types as others.
	others := []string{"svc_subscribe", "svc_unsubscribe", "svc_sendRawTransactionSync"}
	for name, m := range declared.Methods {
		if slices.Contains(others, name) || strings.HasPrefix(name, "dev_") {
			continue
		}
		for i, p := range m.Params {
			params := make([]any, len(m.Params))
			for j, other := range m.Params {
				params[j] = good[other.Name]
			}
			for _, value := range append(oddValues(s), good[p.Name]) {
				params[i] = value
				text := must(json.Marshal(value))(t)
				_, failure := s.post(name, params...)
				invalid := declared.Validate(decodeNumbers(t, text), p.Schema, p.Name)
				if understood := failure == nil || !misshapen(failure); understood != (invalid == nil) {
					t.Errorf("%s: %s as %s is answered with %v, and by its schema %v", name, text, p.Name, failure, invalid)
				}
			}
		}
	}
}

// misshapen reports whether an error says that a method cannot read a parameter at all.
func misshapen(e *jsonrpc.Error) bool {
	reason, _ := e.Data["reason"].(string)
	return e.Code == jsonrpc.CodeInvalidParams &&
		slices.Contains([]string{"malformed", "wrong_type", "missing", "unknown", "duplicate"}, reason)
}

// oddValues are parameters of every kind, each wrong for most methods.
func oddValues(s *tokenScenario) []any {
	id := s.token.String()
	item := func(members ...any) []any { return []any{object(append(members, "contract_id", id)...)} }
	return []any{
		nil, true, false, 0, 1, -1, 1.5, json.Number("1.0"), json.Number("1e3"), json.Number("18446744073709551615"),
		json.Number("18446744073709551616"), "", "0x", "0x0", "0x1", "0x01", "0X1", "0xg", "0x123", "0xFF", "1", "latest",
		"earliest", "Latest", "x\u0000é",
		id, id[2:], strings.ToUpper(id[2:]), id +
			"00", []any{}, []any{nil}, []any{1}, []any{"x"}, []any{[]any{}}, []any{object()}, object(),
		object("x", 1), object("limit", nil), object("limit", 1), object("limit", "1"), object("limit", 1.5),
		object("Limit", 1),
		object("cursor", nil), object("cursor", 1),
		object("from_height", 0), object("to_height", 0), object("from_height", 0, "to_height", 0),
		object("from_height", 0, "to_height", nil),
		object("from_height", "0x0", "to_height", 0), object("from_height", -1, "to_height", 0),
		object("FROM_HEIGHT", 0, "to_height", 0),
		object("from_height", 0, "to_height", 0, "include_transactions", nil),
		object("from_height", 0, "to_height", 0, "include_transactions", 1),
		object("from_height", 0, "to_height", 0, "raw_only", true, "follower", nil),
		object("from_height", 0, "to_height", 0, "more", 3),
		object("contract_id", nil, "event_name", nil, "from_block", nil, "to_block", nil, "topics", nil),
		object("contract_id", id[2:]),
		object("contract_id", "0x"), object("event_name", 1), object("from_block", "0x1"), object("to_block", -1),
		object("topics", []any{nil, id}),
		object("topics", []any{
			1,
		}), item(), item("function", "name"), item("function", nil), item("function", "name", "args", nil),
		item("function", "name", "args", "7b7d"), item("function", "name", "args", "0x0"),
		item("function", "name", "more", 1),
		[]any{object("function", "name")},
	}
}

// object is a JSON object of names and values.
func object(members ...any) map[string]any {
	o := map[string]any{}
	for i := 0; i < len(members); i += 2 {
		o[members[i].(string)] = members[i+1]
	}
	return o
}
