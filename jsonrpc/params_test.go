package jsonrpc_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func TestParams(t *testing.T) {
	recorder := new(recorder)
	s := newServer(t, jsonrpc.Options{Incident: recorder.incident})
	bad := func(message, data string) string { return failure("1", -32602, message, data) }
	missing := func(name string) string {
		return bad(fmt.Sprintf("parameter %q is missing", name), fmt.Sprintf(`{"param":%q,"reason":"missing"}`, name))
	}
	null := func(name string) string {
		return bad(fmt.Sprintf("parameter %q must not be null", name), fmt.Sprintf(`{"param":%q,"reason":"missing"}`, name))
	}
	for _, test := range []struct{ name, method, params, want string }{
		{"by position", "sum", `[1,2,3]`, result("1", "6")},
		{"by name", "sum", `{"c":3,"a":1,"b":2}`, result("1", "6")},
		{"escaped name", "sum", `{"\u0061":1}`, result("1", "1")},
		{"optional left out", "sum", `[1]`, result("1", "1")},
		{"optional null", "sum", `[1,null,null]`, result("1", "1")},
		{"optional null by name", "sum", `{"a":1,"b":null}`, result("1", "1")},
		{"none, empty array", "none", `[]`, result("1", "null")},
		{"none, empty object", "none", `{}`, result("1", "null")},
		{
			"none, too many", "none", `[1]`,
			bad("too many parameters: the maximum is 0", `{"max":0,"param":"[0]","reason":"too_many"}`),
		},
		{
			"too many", "sum", `[1,2,3,4,5]`,
			bad("too many parameters: the maximum is 3", `{"max":3,"param":"[3]","reason":"too_many"}`),
		},
		{
			"too many, null", "sum", `[1,2,3,null]`,
			bad("too many parameters: the maximum is 3", `{"max":3,"param":"[3]","reason":"too_many"}`),
		},
		{"required missing", "sum", `[]`, missing("a")},
		{"required missing by name", "sum", `{"b":1}`, missing("a")},
		{"second missing", "own", `[2]`, missing("word")},
		{"required null", "sum", `[null]`, null("a")},
		{"self-decoding null", "own", `[null,"abcd"]`, null("even")},
		{"pointer null", "filter", `[{},null]`, result("1", "false")},
		{"pointer missing", "filter", `[{}]`, missing("on")},
		{"raw null", "echo", `[null]`, result("1", "null")},
		{"unknown name", "sum", `{"a":1,"d":2}`, bad(`there is no parameter "d"`, `{"param":"d","reason":"unknown"}`)},
		{"name's case", "sum", `{"A":1}`, bad(`there is no parameter "A"`, `{"param":"A","reason":"unknown"}`)},
		{"name twice", "sum", `{"a":1,"a":2}`, bad(`parameter "a" is duplicated`, `{"param":"a","reason":"duplicate"}`)},
		{
			"string for integer", "sum", `["1"]`,
			bad(`parameter "a" must be an integer from 0 to 18446744073709551615`, `{"param":"a","reason":"wrong_type"}`),
		},
		{
			"negative", "sum", `[-1]`,
			bad(`parameter "a" must be an integer from 0 to 18446744073709551615`, `{"param":"a","reason":"wrong_type"}`),
		},
		{
			"fraction", "sum", `[1.0]`,
			bad(`parameter "a" must be an integer from 0 to 18446744073709551615`, `{"param":"a","reason":"wrong_type"}`),
		},
		{
			"over 64 bits", "sum", `[18446744073709551616]`,
			bad(`parameter "a" must be an integer from 0 to 18446744073709551615`, `{"param":"a","reason":"wrong_type"}`),
		},
		{
			"over 8 bits", "sum", `[1,2,256]`,
			bad(`parameter "c" must be an integer from 0 to 255`, `{"param":"c","reason":"wrong_type"}`),
		},
		{
			"optional of wrong type", "sum", `[1,true]`,
			bad(`parameter "b" must be an integer from 0 to 18446744073709551615`, `{"param":"b","reason":"wrong_type"}`),
		},
		{"signed", "size", `["x"]`, bad(
			`parameter "bytes" must be an integer from -9223372036854775808 to 9223372036854775807`,
			`{"param":"bytes","reason":"wrong_type"}`,
		)},
		{
			"number for string", "fail", `[1]`, bad(`parameter "way" must be a string`, `{"param":"way","reason":"wrong_type"}`),
		},
		{
			"array for string", "fail", `[["a"]]`,
			bad(`parameter "way" must be a string`, `{"param":"way","reason":"wrong_type"}`),
		},
		{
			"string for object", "filter", `["x",true]`,
			bad(`parameter "filter" must be an object`, `{"param":"filter","reason":"wrong_type"}`),
		},
		{
			"array for object", "filter", `[[],true]`,
			bad(`parameter "filter" must be an object`, `{"param":"filter","reason":"wrong_type"}`),
		},
		{
			"number for boolean", "filter", `[{},1]`,
			bad(`parameter "on" must be true or false`, `{"param":"on","reason":"wrong_type"}`),
		},
		{
			"object", "filter", `[{"from":1,"names":["a","b"],"nested":{"nested":{"from":null}},"labels":{"x":1,"X":2}},true]`,
			result("1", "true"),
		},
		{
			"object's unknown member", "filter", `[{"to":1},true]`,
			bad(`parameter "filter" has no member "to"`, `{"member":"to","param":"filter","reason":"unknown"}`),
		},
		{
			"object's unexported field", "filter", `[{"hidden":1},true]`,
			bad(`parameter "filter" has no member "hidden"`, `{"member":"hidden","param":"filter","reason":"unknown"}`),
		},
		{
			"member's case", "filter", `[{"From":1},true]`,
			bad(`parameter "filter" has no member "From"`, `{"member":"From","param":"filter","reason":"unknown"}`),
		},
		{
			"inner unknown member", "filter", `[{"nested":{"nested":{"x":1}}},true]`,
			bad(`parameter "filter" has no member "x"`, `{"member":"x","param":"filter","reason":"unknown"}`),
		},
		{
			"member twice", "filter", `[{"from":1,"fr\u006fm":2},true]`,
			bad(`member "from" of parameter "filter" is duplicated`, `{"member":"from","param":"filter","reason":"duplicate"}`),
		},
		{
			"label twice", "filter", `[{"labels":{"x":1,"x":1}},true]`,
			bad(`member "x" of parameter "filter" is duplicated`, `{"member":"x","param":"filter","reason":"duplicate"}`),
		},
		{
			"twice in raw", "echo", `[[{"x":[{"y":1,"y":2}]}]]`,
			bad(`member "y" of parameter "value" is duplicated`, `{"member":"y","param":"value","reason":"duplicate"}`),
		},
		{"member of wrong type", "filter", `[{"from":"1"},true]`, bad(
			`member "from" of parameter "filter" must be an integer from 0 to 18446744073709551615`,
			`{"member":"from","param":"filter","reason":"wrong_type"}`,
		)},
		{"object for array", "filter", `[{"names":{}},true]`, bad(
			`member "names" of parameter "filter" must be an array`, `{"member":"names","param":"filter","reason":"wrong_type"}`,
		)},
		{"element of a member", "filter", `[{"names":["a",1]},true]`, bad(
			`member "names[1]" of parameter "filter" must be a string`,
			`{"member":"names[1]","param":"filter","reason":"wrong_type"}`,
		)},
		{
			"null in array", "filter", `[{"names":["a",null]},true]`,
			bad(`parameter "filter" must not contain null`, `{"param":"filter","reason":"wrong_type"}`),
		},
		{"members", "filter", `[{"pair":{"left":1,"right":null,"even":null}},true]`, result("1", "true")},
		{
			"member missing", "filter", `[{"pair":{"right":1}},true]`,
			bad(`member "left" of parameter "filter" is missing`, `{"member":"left","param":"filter","reason":"missing"}`),
		},
		{
			"nullable member missing", "filter", `[{"pair":{"left":1}},true]`,
			bad(`member "right" of parameter "filter" is missing`, `{"member":"right","param":"filter","reason":"missing"}`),
		},
		{
			"member null", "filter", `[{"pair":{"left":null,"right":1}},true]`,
			bad(`member "left" of parameter "filter" must not be null`, `{"member":"left","param":"filter","reason":"missing"}`),
		},
		{
			"element of wrong type", "pairs", `[[{"left":1,"right":2},3]]`,
			bad(`an element of parameter "pairs" must be an object`, `{"param":"pairs","reason":"wrong_type"}`),
		},
		{
			"element's member missing", "pairs", `[[{"left":1}]]`,
			bad(`member "right" of parameter "pairs" is missing`, `{"member":"right","param":"pairs","reason":"missing"}`),
		},
		{"self-decoding", "own", `[2,"abcd"]`, result("1", `"abcd"`)},
		{"its own words", "own", `[3,"abcd"]`, bad("the number is odd", `{"param":"even","reason":"odd"}`)},
		{
			"its Go error", "own", `["x","abcd"]`, bad(`parameter "even" is malformed`, `{"param":"even","reason":"malformed"}`),
		},
		{
			"its Go error of text", "own", `[2,"abc"]`,
			bad(`parameter "word" is malformed`, `{"param":"word","reason":"malformed"}`),
		},
		{
			"number for text", "own", `[2,1]`,
			bad(`parameter "word" must be a string`, `{"param":"word","reason":"wrong_type"}`),
		},
		{"base64", "bytes", `{"Untagged":"AAEC"}`, result("1", "3")},
		{
			"bad base64", "bytes", `["A"]`,
			bad(`parameter "Untagged" is malformed`, `{"param":"Untagged","reason":"malformed"}`),
		},
		{
			"number for bytes", "bytes", `[1]`,
			bad(`parameter "Untagged" must be a string`, `{"param":"Untagged","reason":"wrong_type"}`),
		},
		{
			"field without JSON", "bytes", `["",1]`,
			bad("too many parameters: the maximum is 1", `{"max":1,"param":"[1]","reason":"too_many"}`),
		},
		{"handler refuses", "fail", `["code"]`, bad("no such way", `{"max":3,"param":"way"}`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			body := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s,"id":1}`, test.method, test.params)
			got := string(s.Serve(context.Background(), []byte(body)))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
	if len(recorder.errs) != 0 {
		t.Errorf("a client's mistakes were logged: %v", recorder.errs)
	}
	t.Run("left out", func(t *testing.T) {
		got := string(s.Serve(context.Background(), []byte(`{"jsonrpc":"2.0","method":"sum","id":1}`)))
		if got != missing("a") {
			t.Errorf("got %s", got)
		}
	})
}
