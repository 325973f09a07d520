package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func newClient(t testing.TB, handler http.Handler, options ...jsonrpc.ClientOption) *jsonrpc.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := jsonrpc.NewClient(server.URL, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestNewClient(t *testing.T) {
	for _, address := range []string{"", "localhost:8080", "ftp://localhost", "http://", "http://a b", "/rpc"} {
		if _, err := jsonrpc.NewClient(address); err == nil {
			t.Errorf("%q was taken", address)
		}
	}
	if _, err := jsonrpc.NewClient("ftp://user:secret@host"); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v shows the password, want an error and no %q", err, "secret")
	}
}

func TestCall(t *testing.T) {
	c := newClient(t, newServer(t, jsonrpc.Options{}))
	ctx := context.Background()

	var sum uint64
	if err := c.Call(ctx, "sum", []any{uint64(1<<63 + 1), 2}, &sum); err != nil || sum != 1<<63+3 {
		t.Errorf("sum: got %d, want %d, error %v", sum, uint64(1<<63+3), err)
	}
	if err := c.Call(ctx, "none", nil, nil); err != nil {
		t.Errorf("no parameters, result discarded: error %v", err)
	}
	pointer := new(uint64)
	if err := c.Call(ctx, "none", nil, &pointer); err != nil || pointer != nil {
		t.Errorf("null: got %v, error %v", pointer, err)
	}
	var anything any
	if err := c.Call(ctx, "echo", []any{json.RawMessage(`{"n":9007199254740993}`)}, &anything); err != nil ||
		!reflect.DeepEqual(anything, map[string]any{"n": json.Number("9007199254740993")}) {
		t.Errorf("exact number: got %v, error %v", anything, err)
	}
	var long string
	if err := c.Call(ctx, "size", []any{100000}, &long); err != nil || long != strings.Repeat("x", 100000) {
		t.Errorf("compressed: %d bytes, error %v", len(long), err)
	}
	err := c.Call(ctx, "fail", []any{"rpc"}, nil)
	if !errors.Is(err, jsonrpc.NewError(-32011, "", "reason", "absent")) || errors.Is(err, jsonrpc.ErrUnreachable) {
		t.Errorf("error: %v", err)
	}
	err = c.Call(ctx, "sum", []any{1, 2, 3, 4}, &sum)
	var e *jsonrpc.Error
	if !errors.As(err, &e) || e.Code != jsonrpc.CodeInvalidParams || e.Data["max"] != json.Number("3") {
		t.Errorf("error's number: %#v", err)
	}
	if err := c.Call(ctx, "echo", []any{make(chan int)}, nil); err == nil ||
		!strings.Contains(err.Error(), "parameter 0") {
		t.Errorf("a channel was sent: error %v", err)
	}
	if err := c.Call(ctx, "size", []any{3}, &sum); !errors.Is(err, jsonrpc.ErrBadAnswer) {
		t.Errorf("a string was decoded into a number: error %v, want %v", err, jsonrpc.ErrBadAnswer)
	}
}

func TestInvoke(t *testing.T) {
	var sent string
	s := newServer(t, jsonrpc.Options{})
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var call struct{ Params json.RawMessage }
		if err := json.Unmarshal(body, &call); err != nil {
			t.Error(err)
		}
		sent = string(call.Params)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		s.ServeHTTP(w, r)
	}))
	two := uint64(2)
	for _, test := range []struct {
		params sumParams
		sent   string
		want   uint64
	}{
		{sumParams{A: 1}, `[1]`, 1},
		{sumParams{}, `[0]`, 0},
		{sumParams{A: 1, B: &two}, `[1,2]`, 3},
		{sumParams{A: 1, C: 4}, `[1,null,4]`, 5},
	} {
		got, err := jsonrpc.Invoke[sumParams, uint64](context.Background(), c, "sum", test.params)
		if err != nil || got != test.want || sent != test.sent {
			t.Errorf("%v: sent %s, want %s, got %d, want %d, %v", test.params, sent, test.sent, got, test.want, err)
		}
	}
	if _, err := jsonrpc.Invoke[struct{}, *uint64](context.Background(), c, "none", struct{}{}); err != nil ||
		sent != `[]` {
		t.Errorf("no parameters: sent %s, want [], error %v", sent, err)
	}
	if _, err := jsonrpc.Invoke[int, int](context.Background(), c, "none", 1); err == nil {
		t.Error("parameters that are no struct were sent")
	}
}

func TestClientBatch(t *testing.T) {
	c := newClient(t, newServer(t, jsonrpc.Options{MaxBatch: 3}))
	ctx := context.Background()
	var sum uint64
	var text string
	calls := []jsonrpc.BatchCall{
		{Method: "sum", Params: []any{1, 2}, Result: &sum},
		{Method: "nope"},
		{Method: "size", Params: []any{3}, Result: &text},
	}
	if err := c.Batch(ctx, calls); err != nil {
		t.Fatal(err)
	}
	if sum != 3 || text != "xxx" || calls[0].Err != nil || calls[2].Err != nil {
		t.Errorf("got %d %q, %v, %v", sum, text, calls[0].Err, calls[2].Err)
	}
	if !errors.Is(calls[1].Err, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound}) {
		t.Errorf("unknown method: error %v", calls[1].Err)
	}
	if err := c.Batch(ctx, nil); err != nil {
		t.Errorf("nothing to do: error %v", err)
	}
	calls = append(calls, jsonrpc.BatchCall{Method: "none"})
	tooMany := jsonrpc.NewError(jsonrpc.CodeLimit, "", "reason", "batch_size")
	if err := c.Batch(ctx, calls); !errors.Is(err, tooMany) || !errors.Is(calls[3].Err, tooMany) {
		t.Errorf("too many: got %v, error %v", err, calls[3].Err)
	}
}

// replying answers every request with the same text.
func replying(contentType, text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, text)
	})
}

// A client's IDs begin with 1.
func TestBadAnswers(t *testing.T) {
	good := `{"jsonrpc":"2.0","id":1,"result":7}`
	for _, test := range []struct{ name, contentType, text, want string }{
		{"good", "application/json", good, ""},
		{"charset", "application/json; charset=utf-8", good, ""},
		{"space and other members", "application/json", " {\"x\":1, \"result\" : 7,\n\"id\":1,\"jsonrpc\":\"2.0\"} ", ""},
		{"HTML", "text/html", good, `content type is "text/html"`},
		{"no JSON", "application/json", `oops`, "not JSON"},
		{"nothing", "application/json", ``, "not JSON"},
		{"trailing data", "application/json", good + good, "not JSON"},
		{"too large", "application/json", good + strings.Repeat(" ", 1000), "larger than 1000 bytes"},
		{"array", "application/json", `[` + good + `]`, "not an object"},
		{"null", "application/json", `null`, "not an object"},
		{"no version", "application/json", `{"id":1,"result":7}`, "not JSON-RPC 2.0"},
		{"other version", "application/json", `{"jsonrpc":"1.0","id":1,"result":7}`, "not JSON-RPC 2.0"},
		{"no id", "application/json", `{"jsonrpc":"2.0","result":7}`, "no id"},
		{"other id", "application/json", `{"jsonrpc":"2.0","id":2,"result":7}`, "the id of another call"},
		{"string id", "application/json", `{"jsonrpc":"2.0","id":"1","result":7}`, "matches no request"},
		{"fraction id", "application/json", `{"jsonrpc":"2.0","id":1.0,"result":7}`, "matches no request"},
		{"null id", "application/json", `{"jsonrpc":"2.0","id":null,"result":7}`, "the id of another call"},
		{
			"other id of an error", "application/json", `{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"m"}}`,
			"the id of another call",
		},
		{"no result", "application/json", `{"jsonrpc":"2.0","id":1}`, "no result"},
		{
			"result and error", "application/json", `{"jsonrpc":"2.0","id":1,"result":7,"error":{"code":1,"message":"m"}}`,
			"a result and an error",
		},
		{"result twice", "application/json", `{"jsonrpc":"2.0","id":1,"result":7,"result":8}`, "duplicated"},
		{"error without code", "application/json", `{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`, "no code"},
		{"error without message", "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, "no code"},
		{"error that is text", "application/json", `{"jsonrpc":"2.0","id":1,"error":"m"}`, "no code"},
		{"null error", "application/json", `{"jsonrpc":"2.0","id":1,"error":null}`, "no code"},
		{"result of another type", "application/json", `{"jsonrpc":"2.0","id":1,"result":"7"}`, "does not decode"},
		{"result out of range", "application/json", `{"jsonrpc":"2.0","id":1,"result":-7}`, "does not decode"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, replying(test.contentType, test.text), jsonrpc.WithMaxAnswerBytes(1000))
			var got uint64
			err := c.Call(context.Background(), "m", nil, &got)
			if test.want == "" {
				if err != nil || got != 7 {
					t.Errorf("got %d, want 7, %v", got, err)
				}
				return
			}
			if !errors.Is(err, jsonrpc.ErrBadAnswer) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// No memory is reserved for an answer that announces more than the client's limit.
func TestAnnouncedSize(t *testing.T) {
	const announced = 64 << 20
	c := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(announced))
		_, _ = w.Write(make([]byte, 2000))
	}), jsonrpc.WithMaxAnswerBytes(1000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := c.Call(context.Background(), "m", nil, nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, jsonrpc.ErrBadAnswer) || !strings.Contains(err.Error(), "larger than 1000 bytes") {
		t.Errorf("error %v, want %v, and %q", err, jsonrpc.ErrBadAnswer, "larger than 1000 bytes")
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > announced/2 {
		t.Errorf("it took %d bytes", took)
	}
}

func TestAnsweredErrors(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       jsonrpc.Error
	}{
		{
			"plain", `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m"}}`, jsonrpc.Error{Code: -32000, Message: "m"},
		},
		{
			"null id", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":null}}`,
			jsonrpc.Error{Code: -32700, Message: "m"},
		},
		{"data", `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"m","data":{"a":[18446744073709551615]}}}`,
			jsonrpc.Error{Code: 3, Message: "m", Data: map[string]any{"a": []any{json.Number("18446744073709551615")}}}},
		{"data that is text", `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"m","data":"0x"}}`,
			jsonrpc.Error{Code: 3, Message: "m", Data: map[string]any{"value": "0x"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := newClient(t, replying("application/json", test.text)).Call(context.Background(), "m", nil, nil)
			var got *jsonrpc.Error
			if !errors.As(err, &got) || !reflect.DeepEqual(*got, test.want) {
				t.Errorf("got %#v, want %#v", err, test.want)
			}
		})
	}
}

func TestBadBatchAnswers(t *testing.T) {
	one, two := `{"jsonrpc":"2.0","id":1,"result":7}`, `{"jsonrpc":"2.0","id":2,"result":8}`
	for _, test := range []struct{ name, text, want, wantSecond string }{
		{"in order", "[" + one + "," + two + "]", "", ""},
		{"in another order", "[" + two + "," + one + "]", "", ""},
		{"one missing", "[" + one + "]", "", "no answer"},
		{"one twice", "[" + one + "," + one + "]", "the id of another call", "the id of another call"},
		{
			"unknown id", "[" + one + "," + `{"jsonrpc":"2.0","id":3,"result":8}` + "]", "the id of another call",
			"the id of another call",
		},
		{"null id", "[" + one + "," + `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}` + "]", "no id", "no id"},
		{"junk inside", "[" + one + ",2]", "not an object", "not an object"},
		{"a single result", one, "a single result", "a single result"},
		{"one error", `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"refused"}}`, "refused", "refused"},
		{"scalar", "1", "not an object", "not an object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newClient(t, replying("application/json", test.text))
			var results [2]uint64
			calls := []jsonrpc.BatchCall{{Method: "m", Result: &results[0]}, {Method: "m", Result: &results[1]}}
			err := c.Batch(context.Background(), calls)
			expectError(t, err, test.want)
			expectError(t, calls[0].Err, test.want)
			expectError(t, calls[1].Err, test.wantSecond)
			if err == nil && (results[0] != 7 || test.wantSecond == "" && results[1] != 8) {
				t.Errorf("results %v", results)
			}
		})
	}
}

func expectError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestUnreachable(t *testing.T) {
	ctx := context.Background()
	server := httptest.NewServer(http.NotFoundHandler())
	c, err := jsonrpc.NewClient(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Call(ctx, "m", nil, nil)
	var status *jsonrpc.StatusError
	if !errors.Is(err, jsonrpc.ErrUnreachable) || !errors.As(err, &status) || status.Status != 404 ||
		status.Message != "404 page not found" {
		t.Errorf("404: error %v", err)
	}
	server.Close()
	if err := c.Call(ctx, "m", nil, nil); !errors.Is(err, jsonrpc.ErrUnreachable) {
		t.Errorf("closed: error %v, want %v", err, jsonrpc.ErrUnreachable)
	}
	calls := make([]jsonrpc.BatchCall, 2)
	if err := c.Batch(ctx, calls); !errors.Is(err, jsonrpc.ErrUnreachable) ||
		!errors.Is(calls[1].Err, jsonrpc.ErrUnreachable) {
		t.Errorf("closed, batch: got %v, error %v", err, calls[1].Err)
	}

	draining := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "The server is shutting down.", http.StatusServiceUnavailable)
	})
	err = newClient(t, draining).Call(ctx, "none", nil, nil)
	if !errors.Is(err, jsonrpc.ErrUnreachable) || !errors.As(err, &status) || status.Status != 503 ||
		status.RetryAfter != 5*time.Second {
		t.Errorf("draining: error %v", err)
	}

	breaking := newClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"jsonrpc"`)
	}))
	if err := breaking.Call(ctx, "none", nil, nil); !errors.Is(err, jsonrpc.ErrUnreachable) {
		t.Errorf("broken off: error %v, want %v", err, jsonrpc.ErrUnreachable)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := breaking.Call(cancelled, "none", nil, nil); !errors.Is(err, jsonrpc.ErrUnreachable) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
}

func TestToken(t *testing.T) {
	s := newServer(t, jsonrpc.Options{})
	guarded := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key" {
			http.Error(w, "wrong key", http.StatusUnauthorized)
			return
		}
		s.ServeHTTP(w, r)
	})
	if err := newClient(t, guarded, jsonrpc.WithToken("key")).Call(context.Background(), "none", nil, nil); err != nil {
		t.Error(err)
	}
	var status *jsonrpc.StatusError
	if err := newClient(t, guarded).Call(context.Background(), "none", nil, nil); !errors.As(err, &status) ||
		status.Status != 401 {
		t.Errorf("without the key: error %v", err)
	}
	redirecting := http.RedirectHandler("http://elsewhere.invalid/", http.StatusTemporaryRedirect)
	if err := newClient(t, redirecting, jsonrpc.WithToken("key")).Call(
		context.Background(), "none", nil, nil,
	); !errors.As(err, &status) || status.Status != 307 {
		t.Errorf("redirected: error %v", err)
	}
}

// A connection is reused, whatever the encoding of the answer.
func TestConnectionsAreKept(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(newServer(t, jsonrpc.Options{}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	c, err := jsonrpc.NewClient(server.URL, jsonrpc.WithTransport(&http.Transport{}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for i := range 20 {
		if err := c.Call(context.Background(), "size", []any{i * 1000}, nil); err != nil {
			t.Fatal(err)
		}
		if err := c.Call(context.Background(), "nope", nil, nil); err == nil {
			t.Fatal("no error")
		}
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
}

func TestConcurrentCalls(t *testing.T) {
	c := newClient(t, newServer(t, jsonrpc.Options{}))
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 30 {
				want := uint64(g*1000 + i)
				got, err := jsonrpc.Invoke[sumParams, uint64](context.Background(), c, "sum", sumParams{A: want})
				if err != nil || got != want {
					t.Errorf("got %d, %v, want %d", got, err, want)
				}
				text := fmt.Sprint(want)
				var echoed string
				calls := []jsonrpc.BatchCall{{Method: "none"}, {Method: "echo", Params: []any{text}, Result: &echoed}}
				if err := c.Batch(context.Background(), calls); err != nil || echoed != text {
					t.Errorf("got %q, %v, want %q", echoed, err, text)
				}
			}
		})
	}
	wg.Wait()
}
