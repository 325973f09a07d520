package jsonrpc_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// echoCall is about as large as a signed transfer.
var echoCall = `{"jsonrpc":"2.0","id":1,"method":"text","params":["0x` + strings.Repeat("5a", 200) + `"]}`

type textParams struct {
	Text string `json:"text"`
}

func echoServer(b *testing.B) *jsonrpc.Server {
	b.Helper()
	s, err := jsonrpc.NewServer(jsonrpc.Options{}, jsonrpc.NewMethod("text", func(
		_ context.Context, p textParams,
	) (string, error) {
		return p.Text, nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func batchOf(call string, count int) []byte {
	return []byte("[" + strings.Repeat(call+",", count-1) + call + "]")
}

func BenchmarkServe(b *testing.B) {
	s := echoServer(b)
	for _, bench := range []struct {
		name string
		body []byte
	}{
		{"single", []byte(echoCall)},
		{"batch100", batchOf(echoCall, 100)},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.body)))
			b.ReportAllocs()
			for b.Loop() {
				if s.Serve(context.Background(), bench.body) == nil {
					b.Fatal("no answer")
				}
			}
		})
	}
}

func BenchmarkServeHTTP(b *testing.B) {
	s := echoServer(b)
	body := []byte(echoCall)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		if s.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	server := httptest.NewServer(echoServer(b))
	defer server.Close()
	c, err := jsonrpc.NewClient(server.URL)
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	text := "0x" + strings.Repeat("5a", 200)
	b.ReportAllocs()
	for b.Loop() {
		var got string
		if err := c.Call(context.Background(), "text", []any{text}, &got); err != nil {
			b.Fatal(err)
		}
	}
}
