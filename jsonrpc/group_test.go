package jsonrpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/jsonrpc"
)

type nameParams struct {
	Name string `json:"name"`
}

// groupServer has the group method greet, which records its calls, and the method sum.
func groupServer(t *testing.T, options jsonrpc.Options, handed *[][]string) *jsonrpc.Server {
	t.Helper()
	greet := jsonrpc.NewGroupMethod("greet", func(_ context.Context, params []nameParams) []jsonrpc.Outcome[string] {
		names := make([]string, len(params))
		outcomes := make([]jsonrpc.Outcome[string], len(params))
		for i, p := range params {
			names[i] = p.Name
			switch outcomes[i].Result = "hello " + p.Name; p.Name {
			case "nobody":
				outcomes[i].Err = jsonrpc.NewError(-32011, "nobody is there")
			case "panic":
				panic("greet")
			case "short":
				outcomes = nil
				*handed = append(*handed, names)
				return outcomes
			}
		}
		*handed = append(*handed, names)
		return outcomes
	})
	s, err := jsonrpc.NewServer(options, append(testMethods(), greet)...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func greetCall(id, name string) string {
	if id != "" {
		id = `,"id":` + id
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"greet","params":[%s]%s}`, name, id)
}

func TestGroups(t *testing.T) {
	sum := `{"jsonrpc":"2.0","method":"sum","params":[1],"id":"s"}`
	wrongType := func(id string) string {
		return failure(id, -32602, `parameter "name" must be a string`, `{"param":"name","reason":"wrong_type"}`)
	}
	internal := func(id string) string {
		return failure(id, -32603, "the call failed unexpectedly", `{"incident":"incident-1"}`)
	}
	for _, test := range []struct {
		name      string
		calls     []string
		handed    [][]string
		answers   []string
		incidents int
	}{
		{"alone", []string{greetCall("1", `"a"`)}, [][]string{{"a"}}, []string{result("1", `"hello a"`)}, 0},
		{"together", []string{greetCall("1", `"a"`), greetCall("2", `"b"`)}, [][]string{{"a", "b"}},
			[]string{result("1", `"hello a"`), result("2", `"hello b"`)}, 0},
		{"parted", []string{greetCall("1", `"a"`), sum, greetCall("2", `"b"`), greetCall("3", `"c"`)}, [][]string{{"a"}, {
			"b", "c",
		}},
			[]string{result("1", `"hello a"`), result(`"s"`, "1"), result("2", `"hello b"`), result("3", `"hello c"`)}, 0},
		{"parted by an invalid call", []string{greetCall("1", `"a"`), `7`, greetCall("2", `"b"`)}, [][]string{{"a"}, {"b"}},
			[]string{result("1", `"hello a"`), failure(
				"null", -32600, "a call must be an object", `{"reason":"not_an_object"}`,
			), result("2", `"hello b"`)}, 0},
		{"notifications", []string{greetCall("", `"a"`), greetCall("2", `"b"`), greetCall("", `"nobody"`)}, [][]string{{
			"a", "b", "nobody",
		}},
			[]string{result("2", `"hello b"`)}, 0},
		{"unusable parameters", []string{greetCall("1", `"a"`), greetCall("2", `5`), greetCall("3", `"c"`)}, [][]string{{
			"a", "c",
		}},
			[]string{result("1", `"hello a"`), wrongType("2"), result("3", `"hello c"`)}, 0},
		{
			"nothing usable", []string{greetCall("1", `5`), greetCall("2", `5`)}, nil, []string{wrongType("1"), wrongType("2")},
			0,
		},
		{"an error", []string{greetCall("1", `"nobody"`), greetCall("2", `"b"`)}, [][]string{{"nobody", "b"}},
			[]string{`{"jsonrpc":"2.0","id":1,"error":{"code":-32011,"message":"nobody is there"}}`, result(
				"2", `"hello b"`,
			)}, 0},
		{"a panic", []string{greetCall("1", `"a"`), greetCall("2", `"panic"`), sum, greetCall("3", `"c"`)}, [][]string{{"c"}},
			[]string{internal("1"), internal("2"), result(`"s"`, "1"), result("3", `"hello c"`)}, 1},
		{"outcomes missing", []string{greetCall("1", `"a"`), greetCall("2", `"short"`)}, [][]string{{"a", "short"}},
			[]string{internal("1"), internal("2")}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			var handed [][]string
			recorder := new(recorder)
			s := groupServer(t, jsonrpc.Options{Incident: recorder.incident}, &handed)
			got := string(s.Serve(context.Background(), []byte("["+strings.Join(test.calls, ",")+"]")))
			if want := "[" + strings.Join(test.answers, ",") + "]"; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if !slices.EqualFunc(handed, test.handed, slices.Equal) {
				t.Errorf("handed over %v, want %v", handed, test.handed)
			}
			if len(recorder.errs) != test.incidents {
				t.Errorf("logged %v", recorder.errs)
			}
			if len(test.calls) == 1 {
				if got := string(s.Serve(context.Background(), []byte(test.calls[0]))); got != test.answers[0] {
					t.Errorf("without a batch: %s, want %s", got, test.answers[0])
				}
			}
		})
	}
}

// A group that has begun is completed. Answers beyond the limit are errors, and no group begins after them.
func TestGroupMeetsTheResponseLimit(t *testing.T) {
	var handed [][]string
	first := result("1", `"hello a"`)
	limit := len(first) + 10
	s := groupServer(t, jsonrpc.Options{MaxResponseBytes: limit}, &handed)
	calls := []string{
		greetCall("1", `"a"`), greetCall("2", `"b"`), `{"jsonrpc":"2.0","method":"none"}`, greetCall("3", `"c"`),
		greetCall("", `"d"`),
	}
	tooLarge := func(id string) string {
		return failure(id, -32040, "the response is too large", fmt.Sprintf(`{"limit":%d,"reason":"response_size"}`, limit))
	}
	got := string(s.Serve(context.Background(), []byte("["+strings.Join(calls, ",")+"]")))
	if want := "[" + first + "," + tooLarge("2") + "," + tooLarge("3") + "]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if want := [][]string{{"a", "b"}, {"d"}}; !slices.EqualFunc(handed, want, slices.Equal) {
		t.Errorf("handed over %v, want %v", handed, want)
	}
}

func TestAppend(t *testing.T) {
	s := newServer(t, jsonrpc.Options{MaxResponseBytes: 100})
	for _, test := range []struct{ name, body, want string }{
		{"call", `{"jsonrpc":"2.0","method":"none","id":1}`, result("1", "null")},
		{"batch", `[{"jsonrpc":"2.0","method":"none","id":1},{"jsonrpc":"2.0","method":"none","id":2}]`,
			"[" + result("1", "null") + "," + result("2", "null") + "]"},
		{"notification", `{"jsonrpc":"2.0","method":"none"}`, ""},
		{"notifications", `[{"jsonrpc":"2.0","method":"none"}]`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := strings.Repeat("[", 200) // counts towards no limit
			if got := string(s.Append(context.Background(), []byte(test.body), []byte(before))); got != before+test.want {
				t.Errorf("got %s, want %s", got, before+test.want)
			}
		})
	}
}

func TestObserve(t *testing.T) {
	var seen []string
	var total time.Duration
	var handed [][]string
	s := groupServer(t, jsonrpc.Options{MaxBatch: 9, Incident: new(recorder).incident, Observe: func(
		method string, code int, took time.Duration,
	) {
		seen = append(seen, fmt.Sprintf("%s %d", method, code))
		if took < 0 {
			t.Errorf("%s took %v", method, took)
		}
		total += took
	}}, &handed)
	none := `{"jsonrpc":"2.0","method":"none"}`
	for _, test := range []struct {
		body string
		want []string
	}{
		{`{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}`, []string{"sum 0"}},
		{none, []string{"none 0"}},
		{`{"jsonrpc":"2.0","method":"sum","params":[],"id":1}`, []string{"sum -32602"}},
		{`{"jsonrpc":"2.0","method":"sum","params":[]}`, []string{"sum -32602"}},
		{`{"jsonrpc":"2.0","method":"fail","params":["plain"],"id":1}`, []string{"fail -32603"}},
		{`{"jsonrpc":"2.0","method":"fail","params":["result"],"id":1}`, []string{"fail -32603"}},
		{`{"jsonrpc":"2.0","method":"nope","id":1}`, []string{" -32601"}},
		{`{"method":"none"}`, []string{" -32600"}},
		{`{`, []string{" -32700"}},
		{`[]`, []string{" -32600"}},
		{`[` + strings.Repeat(none+",", 9) + none + `]`, []string{" -32040"}},
		{`[` + greetCall("1", `"a"`) + `,` + greetCall("", `"nobody"`) + `,` + greetCall("2", `3`) + `,` + none + `]`,
			[]string{"greet 0", "greet -32011", "greet -32602", "none 0"}},
	} {
		seen = nil
		start := time.Now()
		total = 0
		s.Serve(context.Background(), []byte(test.body))
		if all := time.Since(start); total > all {
			t.Errorf("%s: calls took %v of %v", test.body, total, all)
		}
		if !slices.Equal(seen, test.want) {
			t.Errorf("%s: observed %q, want %q", test.body, seen, test.want)
		}
	}
}

// color encodes itself in the same form as its text.
type color struct{ name string }

func (c color) AppendJSON(dst []byte) []byte {
	if c.name == "panic" {
		panic("encode")
	}
	return append(jsonrpc.AppendString(append(dst, "[1,"...), c.name), ']')
}

// shade is a string with characters that need an escape.
type shade string

func (s shade) AppendText(dst []byte) ([]byte, error) {
	if s == "none" {
		return nil, errors.New("no shade")
	}
	return append(dst, s...), nil
}
func (s shade) MarshalText() ([]byte, error) { return s.AppendText(nil) }

func TestResultsThatEncodeThemselves(t *testing.T) {
	s, err := jsonrpc.NewServer(jsonrpc.Options{Incident: new(recorder).incident},
		jsonrpc.NewMethod("color", func(_ context.Context, p nameParams) (color, error) { return color{p.Name}, nil }),
		jsonrpc.NewMethod("pointer", func(_ context.Context, p nameParams) (*color, error) {
			if p.Name == "" {
				return nil, nil
			}
			return &color{p.Name}, nil
		}),
		jsonrpc.NewMethod("shade", func(_ context.Context, p nameParams) (shade, error) { return shade(p.Name), nil }),
		jsonrpc.NewMethod("string", func(_ context.Context, p nameParams) (string, error) { return p.Name, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	internal := func(incident string) string {
		return failure("1", -32603, "the call failed unexpectedly", fmt.Sprintf(`{"incident":%q}`, incident))
	}
	for _, test := range []struct{ method, name, want string }{
		{"color", "red", result("1", `[1,"red"]`)},
		{"color", "panic", internal("incident-1")},
		{"pointer", "", result("1", "null")},
		{"pointer", "red", result("1", `[1,"red"]`)},
		{"shade", "dark", result("1", `"dark"`)},
		{"shade", `a\"<\u0007é\u2028`, result("1", `"a\"<\u0007é\u2028"`)},
		{"shade", "none", internal("incident-2")},
		{"string", "", result("1", `""`)},
		{"string", `a\\<\u0000é`, result("1", `"a\\<\u0000é"`)},
	} {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":["%s"],"id":1}`, test.method, test.name)
		if got := string(s.Serve(context.Background(), []byte(body))); got != test.want {
			t.Errorf("%s %s: got %s, want %s", test.method, test.name, got, test.want)
		}
	}
}

// A group behind a call of the same batch holds no slot, as it may wait for long.
func TestGroupHoldsNoSlot(t *testing.T) {
	slots := newSlots(1, nil)
	s, err := jsonrpc.NewServer(jsonrpc.Options{Running: slots},
		jsonrpc.NewMethod("one", func(context.Context, struct{}) (int, error) { return slots.Taken(), nil }),
		jsonrpc.NewGroupMethod("many", func(_ context.Context, params []struct{}) []jsonrpc.Outcome[int] {
			return []jsonrpc.Outcome[int]{{Result: slots.Taken()}}
		}))
	if err != nil {
		t.Fatal(err)
	}
	got := string(s.Serve(t.Context(), []byte(`[{"jsonrpc":"2.0","id":1,"method":"one"},{"jsonrpc":"2.0","id":2,"method":"many"}]`)))
	const want = `[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"result":0}]`
	if got != want {
		t.Errorf("got %s, want %s: the slots that are taken", got, want)
	}
}
