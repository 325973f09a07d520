package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// FuzzServe checks for any body that nothing panics, and that the answer is empty or JSON. A call has at most one
// answer, with a version, an ID and exactly one of result and error.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"sum","params":[1,2,3],"id":1}`,
		`{"jsonrpc":"2.0","method":"sum","params":{"a":1,"b":null},"id":"x"}`,
		`{"jsonrpc":"2.0","method":"filter","params":[{"from":1,"names":["a"],"nested":{"labels":{"x":1}}},true],"id":1.0}`,
		`{"jsonrpc":"2.0","method":"own","params":[2,"abcd"],"id":null}`,
		`{"jsonrpc":"2.0","method":"fail","params":["panic"],"id":1}`,
		`{"jsonrpc":"2.0","method":"echo","params":[{"a":[1,"\u00e9\"",-1e5,null]}],"id":1}`,
		`[{"jsonrpc":"2.0","method":"none"},{"jsonrpc":"2.0","method":"none","id":2},3,[]]`,
		`[]`, ` `, `"\\"`, `{"":`, "{\"\xff\":1}",
	} {
		f.Add([]byte(seed))
	}
	incident := func(context.Context, string, error) string { return "i" }
	// The method size would answer with as many bytes as the fuzzer requests.
	methods := testMethods()
	methods = append(methods[:6:6], methods[7:]...)
	s, err := jsonrpc.NewServer(jsonrpc.Options{Incident: incident, MaxBatch: 50}, methods...)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		text := s.Serve(context.Background(), body)
		if !bytes.Equal(body, before) {
			t.Fatal("the body was changed")
		}
		if text == nil {
			return
		}
		var calls []json.RawMessage
		isBatch := json.Unmarshal(body, &calls) == nil && calls != nil
		answers := []json.RawMessage{text}
		if text[0] == '[' {
			if err := json.Unmarshal(text, &answers); err != nil {
				t.Fatalf("%v: %q", err, text)
			}
			if !isBatch || len(answers) == 0 || len(answers) > len(calls) {
				t.Fatalf("%d answers to %q", len(answers), body)
			}
		}
		for _, raw := range answers {
			var answer struct {
				Version string          `json:"jsonrpc"`
				ID      json.RawMessage `json:"id"`
				Result  json.RawMessage `json:"result"`
				Error   *jsonrpc.Error  `json:"error"`
			}
			if err := json.Unmarshal(raw, &answer); err != nil {
				t.Fatalf("%v: got %q", err, raw)
			}
			if answer.Version != "2.0" || answer.ID == nil || (answer.Result == nil) == (answer.Error == nil) {
				t.Fatalf("no answer: got %q", raw)
			}
			if bytes.Contains(raw, []byte("cannot unmarshal")) && !bytes.Contains(body, []byte("cannot unmarshal")) {
				t.Fatalf("Go's words reach the client: got %q", raw)
			}
		}
	})
}

// The server answers every request with the same text.
type canned struct{ text []byte }

func (c *canned) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(c.text)
}

// FuzzClientResponse: for any response there is no panic, and only an answer to the call is accepted as one.
func FuzzClientResponse(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":7}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":{"a":1}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m","data":"x"}}`,
		`[{"jsonrpc":"2.0","id":2,"result":7},{"jsonrpc":"2.0","id":1,"result":null}]`,
		`[]`, ``, `[1]`, `{"jsonrpc":"2.0","id":1,"result":{"a":[{}]}`,
	} {
		f.Add([]byte(seed))
	}
	handler := new(canned)
	server := httptest.NewServer(handler)
	f.Cleanup(server.Close)
	transport := &http.Transport{}
	f.Cleanup(transport.CloseIdleConnections)
	f.Fuzz(func(t *testing.T, text []byte) {
		handler.text = text
		// A new client's IDs begin with 1.
		c, err := jsonrpc.NewClient(server.URL, jsonrpc.WithTransport(transport), jsonrpc.WithMaxAnswerBytes(1<<16))
		if err != nil {
			t.Fatal(err)
		}
		var result json.RawMessage
		err = c.Call(context.Background(), "m", nil, &result)
		var e *jsonrpc.Error
		switch {
		case err == nil && !json.Valid(result):
			t.Fatalf("result %q of %q", result, text)
		case err != nil && !errors.As(err, &e) && !errors.Is(err, jsonrpc.ErrBadAnswer):
			t.Fatalf("error %v of %q", err, text)
		}
		calls := make([]jsonrpc.BatchCall, 2)
		if err := c.Batch(context.Background(), calls); err != nil && (calls[0].Err == nil || calls[1].Err == nil) {
			t.Fatalf("the batch failed, its calls did not: error %v", err)
		}
	})
}
