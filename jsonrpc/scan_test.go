package jsonrpc

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzScanner compares the scanner with encoding/json: which documents each accepts, and where it finds the fault in
// the others. It also compares the parsed messages and arguments.
func FuzzScanner(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","method":"m","params":[1,"a\u00e9",{"x":[null,true,false]}],"id":-1.5e+3}`,
		`[{"params":{"a":1,"b":"\\\""}}, [] , 3]`, `"12345678\n9"`, "\"\x7f\u2028é𝄞\"", `"\ud800"`, `"\u12G4"`, `"a`, `"\`,
		`"\u1`,
		`-`, `-0`, `01`, `1.`, `1e`, `1E-07`, `.5`, `+1`, `tru`, `nul1`, `truefalse`, `[1,]`, `{"a":1,}`, `{"a" 1}`, `{1:2}`,
		`[,1]`,
		`{}{}`, ` `, ``, "\x00", "\"\x01\"", "[\xff]", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", `[1 2]`, `{"a":1 "b":2}`,
		strings.Repeat("[", 65), nestedArrays(64), nestedArrays(65), `"` + strings.Repeat("a", 15) + "\x1f\"",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var d document
		got := d.read(text, 10, 3, maxDepth)
		switch d.fault {
		case noFault:
			if !json.Valid(text) || !utf8.Valid(text) {
				t.Fatalf("%q is taken", text)
			}
			checkMessages(t, &d, text)
		case badUTF8:
			if utf8.Valid(text) {
				t.Fatalf("%q is valid UTF-8", text)
			}
		case tooDeep:
			if open := strings.Count(string(text), "[") + strings.Count(string(text), "{"); open <= maxDepth {
				t.Fatalf("%q is not nested too deeply", text)
			}
		case badSyntax:
			var raw json.RawMessage
			var syntax *json.SyntaxError
			if !errors.As(json.Unmarshal(text, &raw), &syntax) {
				t.Fatalf("%q is refused", text)
			}
			if want := int(syntax.Offset); got.Data["offset"] != want {
				t.Fatalf("%q: offset %v, want %d", text, got.Data["offset"], want)
			}
		}
	})
}

func nestedArrays(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }

// checkMessages compares the parsed document with encoding/json's result.
func checkMessages(t *testing.T, d *document, text []byte) {
	t.Helper()
	want := []json.RawMessage{text}
	if d.batch {
		want = nil
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%q: error %v", text, err)
		}
	}
	if d.count != len(want) || len(d.envelopes) != min(len(want), 10) {
		t.Fatalf("%q: %d messages, want %d", text, d.count, len(want))
	}
	for i := range d.envelopes {
		e := &d.envelopes[i]
		var members map[string]json.RawMessage
		if err := json.Unmarshal(want[i], &members); (err == nil && members != nil) != e.object {
			t.Fatalf("%q: object %v, error %v", want[i], e.object, err)
		}
		for name, value := range members {
			if field := e.member([]byte(name)); field != nil && string(*field) != string(value) {
				t.Fatalf("%q: %s is %q, want %q", want[i], name, *field, value)
			}
		}
		var elements []json.RawMessage
		if e.params == nil || e.params[0] != '[' {
			continue
		}
		if err := json.Unmarshal(e.params, &elements); err != nil {
			t.Fatalf("%q: error %v", e.params, err)
		}
		arguments := d.given(e).arguments
		if len(arguments) != min(len(elements), 3) {
			t.Fatalf("%q: %d arguments", e.params, len(arguments))
		}
		for j, a := range arguments {
			if a.name != nil || string(a.value) != string(elements[j]) {
				t.Fatalf("%q: argument %d is %q", e.params, j, a.value)
			}
		}
	}
}

// Every byte at every place in a string, which is read eight bytes at a time.
func TestStringBytes(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for b := range 256 {
				text := []byte(`"` + strings.Repeat("a", length) + `"`)
				text[1+at] = byte(b)
				var d document
				err := d.read(text, 1, 0, maxDepth)
				if want := json.Valid(text) && utf8.Valid(text); (err == nil) != want {
					t.Fatalf("%q: got %v, want valid: %v", text, err, want)
				}
			}
		}
	}
}

// Scanning an ordinary call allocates nothing.
func TestReadAllocatesNothing(t *testing.T) {
	text := []byte(
		`[{"jsonrpc":"2.0","id":1,"method":"m","params":["a",{"b":[1]}]},{"jsonrpc":"2.0","id":2,"method":"m","params":{"a":1}}]`,
	)
	var d document
	if n := testing.AllocsPerRun(100, func() {
		if d.read(text, 10, 3, maxDepth) != nil {
			t.Fatal("refused")
		}
		d.forget()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
