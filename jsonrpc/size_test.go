package jsonrpc_test

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// encoded is the encoding of a value in an answer.
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

// TestSizeIsThatOfTheEncoding, of texts that are escaped in each way.
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

// TestPageIsAsLongAsItsLimitAllows, whatever the items are: one item more would be too many.
func TestPageIsAsLongAsItsLimitAllows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		limit := 1 + r.IntN(2000)
		page, list := jsonrpc.NewPage(limit), []string{}
		for {
			item := strings.Repeat(string(rune(r.IntN(0x30))), r.IntN(100))
			fits, err := page.Add(item)
			if err != nil {
				t.Fatal(err)
			}
			longer := len(encoded(t, append(list, item)))
			if want := longer <= limit || len(list) == 0; fits != want {
				t.Fatalf("a list of %d bytes within %d: got fits %t, want %t", longer, limit, fits, want)
			}
			if !fits {
				break
			}
			list = append(list, item)
		}
		if got := len(encoded(t, list)); got > limit && len(list) > 1 {
			t.Errorf("got a list of %d bytes, want at most %d", got, limit)
		}
	}
}
