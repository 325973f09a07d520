package output

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

func TestFailures(t *testing.T) {
	answer := jsonrpc.NewError(-32004, "It cannot pay.", "reason", "cannot_pay")
	status := func(code int) error {
		return fmt.Errorf("%w: %w", jsonrpc.ErrUnreachable, &jsonrpc.StatusError{Status: code, Message: "no"})
	}
	tests := []struct {
		name    string
		err     error
		exit    int
		code    int
		message string
		data    map[string]any
	}{
		{"any", errors.New("it is torn"), 1, 1, "it is torn", map[string]any{}},
		{"several lines", errors.New("it is\n  torn"), 1, 1, "it is torn", map[string]any{}},
		{"usage", Usage(errors.New("no")), 2, 2, "no", map[string]any{}},
		{"usage, wrapped", fmt.Errorf("so: %w", Usage(errors.New("no"))), 2, 2, "so: no", map[string]any{}},
		{
			"with data", fmt.Errorf("so: %w", WithData(errors.New("no"), map[string]any{"found": "rust"})), 1, 1, "so: no",
			map[string]any{"found": "rust"},
		},
		{
			"usage with data", WithData(Usage(errors.New("no")), map[string]any{"found": "rust"}), 2, 2, "no",
			map[string]any{"found": "rust"},
		},
		{"answer", answer, 1, -32004, "It cannot pay.", map[string]any{"reason": "cannot_pay"}},
		{
			"answer, wrapped", fmt.Errorf("so: %w: %w", answer, io.EOF), 1, -32004, "It cannot pay.",
			map[string]any{"reason": "cannot_pay"},
		},
		{"answer without data", jsonrpc.NewError(-32601, "No method."), 1, -32601, "No method.", map[string]any{}},
		{
			"no answer", fmt.Errorf("%w: refused", jsonrpc.ErrUnreachable), 3, 3, "cannot reach the server: refused",
			map[string]any{},
		},
		{"bad gateway", status(502), 3, 3, "", map[string]any{}},
		{"unauthorized", status(401), 1, 1, "", map[string]any{}},
		{"bad answer", fmt.Errorf("%w: html", jsonrpc.ErrBadAnswer), 1, 1, "", map[string]any{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out, prose bytes.Buffer
			if exit := New(&out, &prose, true).Fail(test.err); exit != test.exit {
				t.Errorf("exit code %d, want %d", exit, test.exit)
			}
			var got refusal
			decoder := json.NewDecoder(&out)
			decoder.DisallowUnknownFields()
			if err := decoder.Decode(&got); err != nil {
				t.Fatal(err)
			}
			if got.OK || got.Error.Code != test.code || !reflect.DeepEqual(got.Error.Data, test.data) {
				t.Errorf("document %+v", got)
			}
			if test.message != "" && got.Error.Message != test.message {
				t.Errorf("message %q, want %q", got.Error.Message, test.message)
			}
			if out.Len() != 0 || decoder.More() || prose.Len() != 0 {
				t.Errorf("more than one document, or prose %q", &prose)
			}

			if exit := New(&out, &prose, false).Fail(test.err); exit != test.exit || out.Len() != 0 {
				t.Errorf("for people: exit code %d, %q on the standard output", exit, &out)
			}
			if strings.Count(prose.String(), "\n") != 1 || !strings.Contains(prose.String(), got.Error.Message) {
				t.Errorf("for people: got %q", &prose)
			}
		})
	}
	if ExitCode(nil) != 0 || Usage(nil) != nil {
		t.Error("no error is a failure")
	}
}

// The text of an error contains all the data that programs get: nobody needs to repeat the command with --json.
func TestFailureTellsItsData(t *testing.T) {
	for _, test := range []struct {
		answer *jsonrpc.Error
		want   string
	}{
		{jsonrpc.NewError(
			-32012, "the code is refused", "reason", "module_refused", "detail", "at byte 8:\n it has floats", "gasUsed", "0x10",
		),
			"the code is refused: at byte 8: it has floats (code -32012, gasUsed 16)"},
		{jsonrpc.NewError(-32010, "out of gas", "reason", "out_of_gas", "revertData", "0x"), "out of gas (code -32010)"},
		{jsonrpc.NewError(
			-32602, "no such block", "max", "0x2a", "param", "height", "topics", []any{"a"}, "more", true, "seconds", 2e8,
		),
			"no such block (code -32602, max 42, more true, param height, seconds 200000000)"},
		{jsonrpc.NewError(-32030, "not here", "primary", "http://a", "hash", "0x"+strings.Repeat("ab", 32)),
			"not here (code -32030, hash 0x" + strings.Repeat("ab", 32) + ", primary http://a)"},
		{jsonrpc.NewError(
			-32020, "not ready: the block is queued, 2 blocks come before it", "reason", "proof_not_ready", "status",
			"queued", "position", 2.0,
		),
			"not ready: the block is queued, 2 blocks come before it (code -32020)"},
		{jsonrpc.NewError(-32601, "no method"), "no method (code -32601)"},
	} {
		var prose bytes.Buffer
		New(io.Discard, &prose, false).Fail(test.answer)
		if prose.String() != "Error: "+test.want+"\n" {
			t.Errorf("%q, want %q", &prose, test.want)
		}
	}
}

func TestResult(t *testing.T) {
	result := map[string]string{"a": "<b>"}
	people := func(text *Text) { text.Line("a is %s", "<b>") }
	for asJSON, want := range map[bool]string{true: `{"ok":true,"result":{"a":"<b>"}}` + "\n", false: "a is <b>\n"} {
		var out, prose bytes.Buffer
		p := New(&out, &prose, asJSON)
		if err := p.Result(result, people); err != nil || out.String() != want || prose.Len() != 0 {
			t.Errorf("got %q, %q, error %v", &out, &prose, err)
		}
		p.Note("%d of %d", 1, 2)
		if prose.String() != "1 of 2\n" || out.String() != want {
			t.Errorf("a note: got %q, %q", &out, &prose)
		}
	}
}

func TestResultThatCannotBeWritten(t *testing.T) {
	var out bytes.Buffer
	if err := New(&out, io.Discard, true).Result(func() {}, nil); err == nil || out.Len() != 0 {
		t.Errorf("got %v, %q", err, &out)
	}
	closed, w := io.Pipe()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := New(w, io.Discard, true).Result(1, nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want %v", err, io.ErrClosedPipe)
	}
}

func TestTables(t *testing.T) {
	var out bytes.Buffer
	text := &Text{to: &out}
	text.Fields(Field{"Name", "alice"}, Field{"Balance", 1.5})
	text.Table([]string{"Block", "Value"}, [][]any{{1, "a"}, {200, "bc"}})
	want := `Name     alice
Balance  1.5
BLOCK  VALUE
    1  a
  200  bc
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestNoSpinnerWithoutATerminal(t *testing.T) {
	var prose bytes.Buffer
	stop := New(io.Discard, &prose, false).Spin(false, "Waiting")
	stop()
	if prose.Len() != 0 {
		t.Errorf("wrote %q", &prose)
	}
}

// screen is the output of a terminal, to which the spinner's goroutine writes.
type screen struct {
	mu   sync.Mutex
	text string
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += string(b)
	return len(b), nil
}

func TestSpinnerLeavesNothingBehind(t *testing.T) {
	var s screen
	stop := New(io.Discard, &s, false).Spin(true, "Waiting")
	stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if frames := strings.Split(s.text, "[0s]"); !strings.Contains(frames[0], "Waiting") {
		t.Errorf("the first frame is %q", frames[0])
	}
	if !strings.HasSuffix(s.text, " \r") {
		t.Errorf("wrote %q", s.text)
	}
}

// A bar shows known totals, and is absent until the total is known.
func TestBarIsOfWhatIsKnown(t *testing.T) {
	var s screen
	progress, stop := New(io.Discard, &s, false).Bar(true, "syncing")
	progress(0, 0)
	progress(3, 12)
	stop()
	if !strings.Contains(s.text, "/12)") || strings.Contains(s.text, "(0/1)") {
		t.Errorf("wrote %q", s.text)
	}
}

// Control sequences are escaped in results and notes for people; JSON has them unchanged.
func TestControlsAreShown(t *testing.T) {
	for text, want := range map[string]string{
		"plain text, ümläuts, 日本":      "plain text, ümläuts, 日本",
		"two\nlines and a\ttab":        "two\nlines and a\ttab",
		"red \x1b[31m, bell \a, \x7f":  `red \x1b[31m, bell \a, \x7f`,
		"C1 \u009b and back\r":         `C1 \u009b and back\r`,
		"turned \u202e, \u2066 around": `turned \u202e, \u2066 around`,
		"no UTF-8 \xff\x1b":            "no UTF-8 \ufffd" + `\x1b`,
		"a replacement \ufffd":         "a replacement \ufffd",
	} {
		var out, prose bytes.Buffer
		p := New(&out, &prose, false)
		if err := p.Result(text, func(t *Text) { t.Line("%s", text) }); err != nil || out.String() != want+"\n" {
			t.Errorf("%q is the result %q, want %q, error %v", text, out.String(), want+"\n", err)
		}
		if p.Note("%s", text); prose.String() != want+"\n" {
			t.Errorf("%q is the note %q, want %q", text, prose.String(), want+"\n")
		}
	}
	// A carriage return in a table's cell would hide the text before it.
	evil := stringer("gold\r\x1b[31mGold")
	for _, name := range []any{string(evil), evil} {
		var out bytes.Buffer
		if err := New(&out, io.Discard, false).Result(nil, func(t *Text) {
			t.Fields(Field{"Name", name})
			t.Table([]string{"Name"}, [][]any{{name}})
		}); err != nil || strings.Count(out.String(), `gold\r\x1b[31mGold`) != 2 {
			t.Errorf("%T: got %q, error %v", name, out.String(), err)
		}
	}
	var out bytes.Buffer
	if err := New(&out, io.Discard, true).Result("\x1b", nil); err != nil ||
		out.String() != `{"ok":true,"result":"\u001b"}`+"\n" {
		t.Errorf("as JSON: got %q, want %q, error %v", out.String(), `{"ok":true,"result":"\u001b"}`+"\n", err)
	}
}

type stringer string

func (s stringer) String() string { return string(s) }

func TestColoursAreForPeople(t *testing.T) {
	people := func(text *Text) {
		text.Fields(Field{"Status", "success"}, Field{"Name", "success"}, Field{"Evil", "\x1b[2J"})
		text.Table([]string{"Block", "Status", "Type"}, [][]any{{7, "failed", "call"}, {"pending", "pending", "call"}})
	}
	print := func(colours bool) (out, err string) {
		var results, notes strings.Builder
		p := New(&results, &notes, false).Colour(colours, colours)
		if err := p.Result(nil, people); err != nil {
			t.Fatal(err)
		}
		p.Note("Warning: it is an Error: no")
		p.Fail(errors.New("it is wrong"))
		return results.String(), notes.String()
	}
	plainOut, plainErr := print(false)
	if strings.Contains(plainOut+plainErr, "\x1b") {
		t.Errorf("colours where nobody sees them: %q %q", plainOut, plainErr)
	}
	out, notes := print(true)
	for _, want := range []string{"Status  " + green + "success" + plain + "\n", red + "failed" + plain + "   call",
		yellow + "pending" + plain + "  call", `Evil    \x1b[2J`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if strings.Count(out, green) != 1 {
		t.Errorf("more than the status is green: %q", out)
	}
	want := yellow + "Warning:" + plain + " it is an Error: no\n" + red + "Error:" + plain + " it is wrong\n"
	if notes != want {
		t.Errorf("notes %q, want %q", notes, want)
	}
	var document strings.Builder
	if err := New(&document, io.Discard, true).Colour(true, true).Result("Status  success", nil); err != nil ||
		strings.Contains(document.String(), "\x1b") || strings.Contains(document.String(), "u001b") {
		t.Errorf("a document has colours: got %q, error %v", document.String(), err)
	}
}
