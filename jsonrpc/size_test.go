package jsonrpc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// encoded returns the encoding of a value in an answer.
func encoded(t *testing.T, value any) string {
	t.Helper()
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// TestSizeIsThatOfTheEncoding checks texts with each kind of escape.
func TestSizeIsThatOfTheEncoding(t *testing.T) {
	for _, value := range []any{
		nil, 7, "", "plain", "<&>", "\x00\x1f\x7f", "\"\\\n\t", "\u2028é😀", "\xff\xc0", []string{"a", "\x01"},
		map[string]string{"\x02": "b"}, struct {
			A string `json:"a"`
		}{"\x03"},
	} {
		got, err := jsonrpc.Size(value)
		if want := len(encoded(t, value)); err != nil || got != want {
			t.Errorf("%q: got %d bytes, %v; want %d", value, got, err, want)
		}
	}
	if got, err := jsonrpc.Size(func() {}); err == nil {
		t.Errorf("a function: got %d bytes, want an error", got)
	}
}
