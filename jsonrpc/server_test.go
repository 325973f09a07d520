package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

type echoParams struct {
	Value json.RawMessage `json:"value"`
}

type sumParams struct {
	A uint64  `json:"a"`
	B *uint64 `json:"b" jsonrpc:"optional"`
	C uint8   `json:"c" jsonrpc:"optional"`
}

type filter struct {
	From   *uint64           `json:"from,omitempty"`
	Names  []string          `json:"names,omitempty"`
	Nested *filter           `json:"nested,omitempty"`
	Labels map[string]uint64 `json:"labels,omitempty"`
	Pair   *pair             `json:"pair,omitempty"`
	hidden int
}

// A pair has required members.
type pair struct {
	Left  uint64     `json:"left"`
	Right *uint64    `json:"right"`
	Even  evenNumber `json:"even,omitempty"`
}

type pairsParams struct {
	Pairs []pair `json:"pairs"`
}

type filterParams struct {
	Filter filter `json:"filter"`
	On     *bool  `json:"on"`
}

// An evenNumber decodes itself.
type evenNumber uint64

func (e *evenNumber) UnmarshalJSON(text []byte) error {
	if err := json.Unmarshal(text, (*uint64)(e)); err != nil {
		return errors.New("secret: cannot unmarshal")
	}
	if *e%2 != 0 {
		return fmt.Errorf("odd: %w", jsonrpc.NewError(-32602, "the number is odd", "reason", "odd"))
	}
	return nil
}

// A word decodes itself from a string.
type word [4]byte

func (w *word) UnmarshalText(text []byte) error {
	if copy(w[:], text) != len(w) {
		return errors.New("secret: short word")
	}
	return nil
}

type ownParams struct {
	Even evenNumber `json:"even"`
	Word word       `json:"word"`
}

type failParams struct {
	Way string `json:"way"`
}

type bytesParams struct {
	Untagged []byte
	Ignored  chan int `json:"-"`
}

type sizeParams struct {
	Bytes int `json:"bytes"`
}

// badMarshaler panics when it is encoded.
type badMarshaler struct{}

func (badMarshaler) MarshalJSON() ([]byte, error) { panic("encode") }

var errDisk = errors.New("/var/lib/secret: disk full")

func fail(_ context.Context, p failParams) (any, error) {
	switch p.Way {
	case "plain":
		return nil, errDisk
	case "rpc":
		return nil, fmt.Errorf("wrapped: %w", jsonrpc.NewError(-32011, "there is no such contract", "reason", "absent"))
	case "panic":
		var none *filter
		return none.hidden, nil
	case "panicError":
		panic(jsonrpc.NewError(-32011, "not for the client"))
	case "deadline":
		return nil, fmt.Errorf("read: %w", context.DeadlineExceeded)
	case "nil":
		var none *jsonrpc.Error
		return nil, none
	case "result":
		return math.NaN(), nil
	case "resultPanic":
		return badMarshaler{}, nil
	case "data":
		return nil, jsonrpc.NewError(-32011, "bad data", "value", make(chan int))
	case "bigData":
		return nil, jsonrpc.NewError(-32010, "reverted", "revertData", strings.Repeat("a", 2000))
	case "code":
		return nil, jsonrpc.InvalidParam("way", "no such way", "max", 3)
	}
	return nil, nil
}

// A recorder keeps the arguments of Incident.
type recorder struct {
	mu      sync.Mutex
	methods []string
	errs    []error
}

func (r *recorder) incident(_ context.Context, method string, err error) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.methods = append(r.methods, method)
	r.errs = append(r.errs, err)
	return fmt.Sprintf("incident-%d", len(r.errs))
}

func testMethods() []jsonrpc.Method {
	return []jsonrpc.Method{
		jsonrpc.NewMethod("echo", func(_ context.Context, p echoParams) (json.RawMessage, error) { return p.Value, nil }),
		jsonrpc.NewMethod("sum", func(_ context.Context, p sumParams) (uint64, error) {
			sum := p.A + uint64(p.C)
			if p.B != nil {
				sum += *p.B
			}
			return sum, nil
		}),
		jsonrpc.NewMethod("filter", func(_ context.Context, p filterParams) (bool, error) {
			return p.On != nil && *p.On, nil
		}),
		jsonrpc.NewMethod("own", func(_ context.Context, p ownParams) (string, error) { return string(p.Word[:]), nil }),
		jsonrpc.NewMethod("none", func(context.Context, struct{}) (*uint64, error) { return nil, nil }),
		jsonrpc.NewMethod("html", func(context.Context, struct{}) (string, error) { return "<&>", nil }),
		jsonrpc.NewMethod("size", func(_ context.Context, p sizeParams) (string, error) {
			return strings.Repeat("x", p.Bytes), nil
		}),
		jsonrpc.NewMethod("bytes", func(_ context.Context, p bytesParams) (int, error) { return len(p.Untagged), nil }),
		jsonrpc.NewMethod("pairs", func(_ context.Context, p pairsParams) (int, error) { return len(p.Pairs), nil }),
		jsonrpc.NewMethod("fail", fail),
	}
}

func newServer(t testing.TB, options jsonrpc.Options) *jsonrpc.Server {
	t.Helper()
	s, err := jsonrpc.NewServer(options, testMethods()...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func failure(id string, code int, message, data string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q,"data":%s}}`, id, code, message, data)
}

func result(id, value string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, value)
}

func TestEnvelope(t *testing.T) {
	s := newServer(t, jsonrpc.Options{})
	badJSON := func(offset int) string {
		return failure(
			"null",
			-32700,
			"the request is not one valid JSON document",
			fmt.Sprintf(`{"offset":%d,"reason":"bad_json"}`, offset),
		)
	}
	badVersion := func(id string) string {
		return failure(id, -32600, `jsonrpc must be "2.0"`, `{"reason":"bad_version"}`)
	}
	badID := failure("null", -32600, "id must be a string, a number or null", `{"reason":"bad_id"}`)
	badMethod := func(id string) string {
		return failure(id, -32600, "method must be a string", `{"reason":"bad_method"}`)
	}
	badParams := failure("1", -32600, "params must be an array or an object", `{"reason":"bad_params"}`)
	notObject := failure("null", -32600, "a call must be an object", `{"reason":"not_an_object"}`)
	twice := failure("null", -32600, "a member of the call is duplicated", `{"reason":"duplicate_member"}`)
	empty := failure("null", -32600, "the batch is empty", `{"reason":"empty_batch"}`)
	for _, test := range []struct{ name, body, want string }{
		{"call", `{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":1}`, result("1", "3")},
		{
			"space", " \n{ \"jsonrpc\" : \"2.0\" , \"method\" : \"sum\" ,\r\n \"params\" : [ 1 , 2 ] , \"id\" : 1 } \t",
			result("1", "3"),
		},
		{
			"escaped names", `{"\u006asonrpc":"2\u002e0","m\u0065thod":"s\u0075m","p\u0061rams":[1,2],"\u0069d":1}`,
			result("1", "3"),
		},
		{"unknown member", `{"jsonrpc":"2.0","method":"sum","params":[1],"id":1,"trace":{"a":[1]}}`, result("1", "1")},
		{"string id", `{"jsonrpc":"2.0","method":"none","id":"a\u00e9\"}]\\"}`, result(`"a\u00e9\"}]\\"`, "null")},
		{"fraction id", `{"jsonrpc":"2.0","method":"none","id":1.0}`, result("1.0", "null")},
		{
			"big id", `{"jsonrpc":"2.0","method":"none","id":123456789012345678901234567890}`,
			result("123456789012345678901234567890", "null"),
		},
		{"negative id", `{"jsonrpc":"2.0","method":"none","id":-1E+2}`, result("-1E+2", "null")},
		{"null id", `{"jsonrpc":"2.0","method":"none","id":null}`, result("null", "null")},
		{"object id", `{"jsonrpc":"2.0","method":"none","id":{}}`, badID},
		{"array id", `{"jsonrpc":"2.0","method":"none","id":[1]}`, badID},
		{"boolean id", `{"jsonrpc":"2.0","method":"none","id":true}`, badID},
		{"boolean id false", `{"jsonrpc":"2.0","method":"none","id":false}`, badID},
		{"no version", `{"method":"none","id":1}`, badVersion("1")},
		{"no version, no id", `{"method":"none"}`, badVersion("null")},
		{"version 1.0", `{"jsonrpc":"1.0","method":"none","id":1}`, badVersion("1")},
		{"number version", `{"jsonrpc":2.0,"method":"none","id":1}`, badVersion("1")},
		{"no method", `{"jsonrpc":"2.0","id":1}`, badMethod("1")},
		{"number method", `{"jsonrpc":"2.0","method":1,"params":"bar"}`, badMethod("null")},
		{
			"unknown method", `{"jsonrpc":"2.0","method":"nope","id":1}`,
			failure("1", -32601, "the method does not exist", `{"method":"nope"}`),
		},
		{
			"method's case", `{"jsonrpc":"2.0","method":"None","id":1}`,
			failure("1", -32601, "the method does not exist", `{"method":"None"}`),
		},
		{"member's case", `{"jsonrpc":"2.0","Method":"none","id":1}`, badMethod("1")},
		{"string params", `{"jsonrpc":"2.0","method":"none","params":"bar","id":1}`, badParams},
		{"number params", `{"jsonrpc":"2.0","method":"none","params":1,"id":1}`, badParams},
		{"null params", `{"jsonrpc":"2.0","method":"none","params":null,"id":1}`, badParams},
		{"id twice", `{"jsonrpc":"2.0","method":"none","id":1,"id":2}`, twice},
		{"method twice", `{"jsonrpc":"2.0","method":"none","id":1,"method":"sum"}`, twice},
		{"number", `1`, notObject},
		{"string", `"{}"`, notObject},
		{"null", `null`, notObject},
		{"empty body", ``, badJSON(0)},
		{"cut off", `{"jsonrpc":"2.0","method":"none","id":1`, badJSON(39)},
		{"trailing comma", `{"jsonrpc":"2.0","method":"none","id":1,}`, badJSON(41)},
		{"trailing data", `{"jsonrpc":"2.0","method":"none","id":1}{}`, badJSON(41)},
		{"trailing bracket", `[]]`, badJSON(3)},
		{"lone quote", `"`, badJSON(1)},
		{"single quotes", `{'jsonrpc':'2.0'}`, badJSON(2)},
		{"leading zero id", `{"jsonrpc":"2.0","method":"none","id":01}`, badJSON(40)},
		{"byte order mark", "\xef\xbb\xbf{}", badJSON(1)},
		{
			"bad UTF-8", "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\",\"id\":1}",
			failure("null", -32700, "the request is not valid UTF-8", `{"reason":"bad_utf8"}`),
		},
		{"deepest", `{"jsonrpc":"2.0","method":"echo","params":[` + nested(62) + `],"id":1}`, result("1", nested(62))},
		{"too deep", `{"jsonrpc":"2.0","method":"echo","params":[` + nested(63) + `],"id":1}`,
			failure("null", -32700, "the request is nested too deeply", `{"limit":64,"reason":"too_deep"}`)},
		{
			"brackets in strings", `{"jsonrpc":"2.0","method":"echo","params":["` + strings.Repeat(`\"[`, 100) + `"],"id":1}`,
			result("1", `"`+strings.Repeat(`\"[`, 100)+`"`),
		},
		{
			"100,000 brackets", strings.Repeat("[", 100000),
			failure("null", -32700, "the request is nested too deeply", `{"limit":64,"reason":"too_deep"}`),
		},
		{"notification", `{"jsonrpc":"2.0","method":"none"}`, ""},
		{"failing notification", `{"jsonrpc":"2.0","method":"nope","params":[]}`, ""},
		{"notification with bad params", `{"jsonrpc":"2.0","method":"sum","params":["a"]}`, ""},
		{"empty batch", `[]`, empty},
		{"empty batch with space", " [ ] ", empty},
		{"batch of junk", `[1,[],{}]`, "[" + notObject + "," + notObject + "," + badVersion("null") + "]"},
		{"batch of notifications", `[{"jsonrpc":"2.0","method":"none"},{"jsonrpc":"2.0","method":"nope"}]`, ""},
		{"batch in order",
			`[{"jsonrpc":"2.0","method":"sum","params":[5],"id":"b"}, {"jsonrpc":"2.0","method":"none"}, 7,{"jsonrpc":"2.0","method":"nope","id":3},{"jsonrpc":"2.0","method":"sum","params":{"a":1},"id":null}]`,
			"[" + result(`"b"`, "5") + "," + notObject + "," + failure(
				"3", -32601, "the method does not exist", `{"method":"nope"}`,
			) + "," + result("null", "1") + "]"},
		{"HTML is not escaped", `{"jsonrpc":"2.0","method":"html","id":"<>"}`, result(`"<>"`, `"<&>"`)},
		{
			"exact numbers", `{"jsonrpc":"2.0","method":"sum","params":[18446744073709551615],"id":1}`,
			result("1", "18446744073709551615"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.Serve(context.Background(), []byte(test.body))
			if string(got) != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if (got == nil) != (test.want == "") {
				t.Errorf("nothing to answer is %#v, want nil", got)
			}
		})
	}
}

func nested(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

func TestHandlerErrors(t *testing.T) {
	internal := failure("1", -32603, "the call failed unexpectedly", `{"incident":"incident-1"}`)
	for _, test := range []struct {
		way, want string
		logged    func(error) bool // nil: nothing is logged
	}{
		{"plain", internal, func(err error) bool { return errors.Is(err, errDisk) }},
		{"rpc", failure("1", -32011, "there is no such contract", `{"reason":"absent"}`), nil},
		{"panic", internal, func(err error) bool {
			var p *jsonrpc.PanicError
			if !errors.As(err, &p) {
				return false
			}
			_, runtimeError := p.Value.(runtime.Error)
			return runtimeError && strings.Contains(string(p.Stack), "server_test.go")
		}},
		{"panicError", internal, func(err error) bool { return strings.Contains(err.Error(), "not for the client") }},
		{"deadline", failure("1", -32040, "the call exceeded its time limit", `{"reason":"time"}`), nil},
		{"nil", internal, func(err error) bool { return err != nil }},
		{"result", internal, func(err error) bool { return strings.Contains(err.Error(), "NaN") }},
		{"resultPanic", internal, func(err error) bool { return strings.Contains(err.Error(), "panic: encode") }},
		{"data", internal, func(err error) bool { return strings.Contains(err.Error(), "chan int") }},
		{"bigData", failure("1", -32040, "the response is too large", `{"limit":1000,"reason":"response_size"}`), nil},
	} {
		t.Run(test.way, func(t *testing.T) {
			recorder := new(recorder)
			s := newServer(t, jsonrpc.Options{Incident: recorder.incident, MaxResponseBytes: 1000})
			body := fmt.Sprintf(`{"jsonrpc":"2.0","method":"fail","params":[%q],"id":1}`, test.way)
			if got := string(s.Serve(context.Background(), []byte(body))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if test.logged == nil {
				if len(recorder.errs) != 0 {
					t.Errorf("logged %v", recorder.errs)
				}
				return
			}
			if len(recorder.errs) != 1 || !test.logged(recorder.errs[0]) || recorder.methods[0] != "fail" {
				t.Errorf("logged %v", recorder.errs)
			}
		})
	}
}

func TestNotificationFailureIsLogged(t *testing.T) {
	recorder := new(recorder)
	s := newServer(t, jsonrpc.Options{Incident: recorder.incident})
	if got := s.Serve(context.Background(), []byte(`{"jsonrpc":"2.0","method":"fail","params":["plain"]}`)); got != nil {
		t.Errorf("a notification was answered: got %s", got)
	}
	if len(recorder.errs) != 1 || !errors.Is(recorder.errs[0], errDisk) {
		t.Errorf("logged %v", recorder.errs)
	}
}

func TestDefaultIncident(t *testing.T) {
	s := newServer(t, jsonrpc.Options{})
	var answer struct {
		Error struct{ Data struct{ Incident string } }
	}
	text := s.Serve(context.Background(), []byte(`{"jsonrpc":"2.0","method":"fail","params":["plain"],"id":1}`))
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Error.Data.Incident) < 20 || strings.Contains(string(text), "disk") {
		t.Errorf("got %s", text)
	}
}

func TestCancelledContext(t *testing.T) {
	calls := 0
	ctx, cancel := context.WithCancel(context.Background())
	s, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod("last", func(
		context.Context, struct{},
	) (bool, error) {
		calls++
		cancel()
		return true, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := string(s.Serve(
		ctx,
		[]byte(
			`[{"jsonrpc":"2.0","method":"last","id":1},{"jsonrpc":"2.0","method":"last"},{"jsonrpc":"2.0","method":"last","id":2}]`,
		),
	))
	want := "[" + result("1", "true") + "," + failure("2", -32040, "the call exceeded its time limit", `{"reason":"time"}`) +
		"]"
	if got != want || calls != 1 {
		t.Errorf("%d calls, got %s\nwant %s", calls, got, want)
	}
}

func TestBatchLimit(t *testing.T) {
	s := newServer(t, jsonrpc.Options{MaxBatch: 3})
	call := `{"jsonrpc":"2.0","method":"none","id":1}`
	answer := result("1", "null")
	if got := string(s.Serve(
		context.Background(), []byte("["+call+","+call+","+call+"]"),
	)); got != "["+answer+","+answer+","+answer+"]" {
		t.Errorf("3 calls: %s, want %s", got, "["+answer+","+answer+","+answer+"]")
	}
	want := failure("null", -32040, "the batch has too many calls", `{"limit":3,"reason":"batch_size"}`)
	if got := string(s.Serve(context.Background(), []byte("["+call+","+call+","+call+",1]"))); got != want {
		t.Errorf("4 calls: %s, want %s", got, want)
	}
}

func TestResponseLimit(t *testing.T) {
	const limit = 200
	s := newServer(t, jsonrpc.Options{MaxResponseBytes: limit})
	tooLarge := func(id string) string {
		return failure(id, -32040, "the response is too large", `{"limit":200,"reason":"response_size"}`)
	}
	sized := func(id string, bytes int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":"size","params":[%d],"id":%s}`, bytes, id)
	}
	frame := len(result("1", `""`))
	for _, test := range []struct{ name, body, want string }{
		{"exact", sized("1", limit-frame), result("1", `"`+strings.Repeat("x", limit-frame)+`"`)},
		{"over", sized("1", limit-frame+1), tooLarge("1")},
		{"batch, over once", "[" + sized("1", 10) + "," + sized("2", 500) + "," + sized("3", 10) + "]",
			"[" + result("1", `"xxxxxxxxxx"`) + "," + tooLarge("2") + "," + tooLarge("3") + "]"},
		{
			"batch, first over", "[" + sized("1", 500) + ",{\"jsonrpc\":\"2.0\",\"method\":\"nope\",\"id\":2}]",
			"[" + tooLarge("1") + "," + tooLarge("2") + "]",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := string(s.Serve(context.Background(), []byte(test.body))); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// Beyond the budget a call is not made at all. A notification is, as its answer takes no room.
func TestSpentBudgetMakesNoCall(t *testing.T) {
	calls := 0
	s, err := jsonrpc.NewServer(jsonrpc.Options{MaxResponseBytes: 50}, jsonrpc.NewMethod("count", func(
		context.Context, struct{},
	) (string, error) {
		calls++
		return strings.Repeat("x", 100), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(
		context.Background(),
		[]byte(
			`[{"jsonrpc":"2.0","method":"count","id":1},{"jsonrpc":"2.0","method":"count","id":2},{"jsonrpc":"2.0","method":"count"}]`,
		),
	)
	if calls != 2 {
		t.Errorf("%d calls, want the first and the notification", calls)
	}
}

// Many goroutines share one server; -race detects improper sharing.
func TestConcurrentServe(t *testing.T) {
	s := newServer(t, jsonrpc.Options{Incident: new(recorder).incident})
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			for i := range 100 {
				id := fmt.Sprint(g*1000 + i)
				body := `[{"jsonrpc":"2.0","method":"echo","params":["` + id + `"],"id":` + id +
					`},{"jsonrpc":"2.0","method":"fail","params":["panic"]}]`
				if got, want := string(s.Serve(context.Background(), []byte(body))), "["+result(id, `"`+id+`"`)+"]"; got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
		})
	}
	wg.Wait()
}

// An error repeats only a limited part of a name that the client chose.
func TestErrorsRepeatLittle(t *testing.T) {
	s := newServer(t, jsonrpc.Options{})
	long := strings.Repeat("ä", 1<<16)
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":1,"method":"sum","params":{"` + long + `":1}}`,
	} {
		got := string(s.Serve(t.Context(), []byte(body)))
		if !strings.Contains(got, strings.Repeat("ä", 50)+"…") || len(got) > 1000 || !json.Valid([]byte(got)) {
			t.Errorf("%d bytes: %.300s", len(got), got)
		}
	}
}
