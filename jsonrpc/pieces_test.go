package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// pauses counts the pauses in which work lets others have their turn, and fails from some time on.
type pauses struct {
	atOnce
	count int
	ends  int // at which pause the client has gone; 0: never
}

func (p *pauses) Yield(context.Context) error {
	p.count++
	if p.count == p.ends {
		return context.Canceled
	}
	return nil
}

// atOnce allows all work its turns at once.
type atOnce struct{}

func (atOnce) Enter(context.Context) error { return nil }
func (atOnce) Leave(context.Context)       {}

// item is an item of a list that encoding/json encodes, with the requested size.
type item struct {
	Text string `json:"text"`
	Rest []int  `json:"rest,omitempty"`
}

// book is a result with a long list in the middle.
type book struct {
	Title string `json:"title"`
	Pages []item `json:"pages"`
	Last  bool   `json:"last"`
}

// WriteJSON writes a page at a time.
func (b *book) WriteJSON(write func([]byte) error) error {
	if b == nil {
		return write([]byte("null"))
	}
	title, last := string(jsonrpc.AppendString(nil, b.Title)), fmt.Sprint(b.Last)
	if b.Pages == nil {
		return write([]byte(`{"title":` + title + `,"pages":null,"last":` + last + `}`))
	}
	if err := write([]byte(`{"title":` + title + `,"pages":[`)); err != nil {
		return err
	}
	for i, page := range b.Pages {
		if page.Text == torn {
			return errTorn
		}
		text := jsonOf(page)
		if i > 0 {
			text = "," + text
		}
		if err := write([]byte(text)); err != nil {
			return err
		}
	}
	return write([]byte(`],"last":` + last + `}`))
}

// torn is the text of a page that cannot be read.
const torn = "torn"

var errTorn = errors.New("a page is torn")

func jsonOf(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// TestPieces encodes lists, and results that contain one, as encoding/json does. Others take their turns between the
// items.
func TestPieces(t *testing.T) {
	long := make([]item, 1000)
	for i := range long {
		long[i] = item{Text: strings.Repeat("<ü\"", 100), Rest: []int{i}}
	}
	var list []item
	var volume *book
	turns := new(pauses)
	s, err := jsonrpc.NewServer(jsonrpc.Options{Running: turns, Quota: func(context.Context) jsonrpc.Quota { return nil }},
		jsonrpc.NewMethod("list", func(context.Context, struct{}) ([]item, error) { return list, nil }),
		jsonrpc.NewMethod("book", func(context.Context, struct{}) (*book, error) { return volume, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	serve := func(method string) string {
		return string(s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)))
	}
	want := func(result any) string {
		return `{"jsonrpc":"2.0","id":1,"result":` + jsonOf(result) + `}`
	}
	for _, list = range [][]item{nil, {}, long[:1], long[:2], long} {
		turns.count = 0
		got := serve("list")
		if got != want(list) {
			t.Errorf("a list of %d: got %.200s, want %.200s", len(list), got, want(list))
		}
		if pieces := len(got) / (128 << 10); turns.count < pieces {
			t.Errorf("an answer of %d bytes: got %d pauses, want %d or more", len(got), turns.count, pieces)
		}
		for _, volume = range []*book{nil, {Pages: list}, {`a "pages":[] b`, list, true}} {
			if got := serve("book"); got != want(volume) {
				t.Errorf("a book of %d: got %.200s, want %.200s", len(list), got, want(volume))
			}
		}
	}
	turns.count, turns.ends = 0, 2
	if got := serve("list"); !strings.Contains(got, `"reason":"time"`) || turns.count != turns.ends {
		t.Errorf("its client goes at pause %d: got %.200s after %d pauses", turns.ends, got, turns.count)
	}
}

// scant is a quota with memory for the given number of bytes.
type scant int

func (s scant) Room(bytes int) int { return int(s) }
func (scant) Charge(int)           {}

// TestAListEndsWhereThereIsNoRoom: encoding stops there, and not only after the whole answer.
func TestAListEndsWhereThereIsNoRoom(t *testing.T) {
	made := 0
	list := make([]counted, 100)
	for i := range list {
		list[i].made = &made
	}
	s, err := jsonrpc.NewServer(jsonrpc.Options{Quota: func(context.Context) jsonrpc.Quota { return scant(100 << 10) }},
		jsonrpc.NewMethod("list", func(context.Context, struct{}) ([]counted, error) { return list, nil }))
	if err != nil {
		t.Fatal(err)
	}
	got := string(s.Serve(t.Context(), []byte(`{"jsonrpc":"2.0","id":1,"method":"list"}`)))
	if !strings.Contains(got, `"reason":"busy"`) || made > 10 {
		t.Errorf("got %.200s after %d items, want a refusal after 10 or fewer", got, made)
	}
}

// counted is 32 KiB of JSON, and counts how often it is encoded.
type counted struct{ made *int }

func (m *counted) AppendJSON(dst []byte) []byte {
	*m.made++
	return jsonrpc.AppendString(dst, strings.Repeat("a", 32<<10))
}

func (m *counted) MarshalJSON() ([]byte, error) { return nil, errors.New("it appends itself") }

// parts receives an answer in parts, one of which it refuses.
type parts struct {
	text   strings.Builder
	count  int
	most   int // bytes of a part
	refuse int // number of the part to refuse; 0: none
}

func (p *parts) take(part []byte) error {
	if p.count++; p.count == p.refuse {
		return errors.New("the client has gone")
	}
	p.text.Write(part)
	p.most = max(p.most, len(part))
	return nil
}

// held are turns that count how often work has one.
type held struct {
	pauses
	entered, left int
}

func (h *held) Enter(context.Context) error { h.entered++; return nil }
func (h *held) Leave(context.Context)       { h.left++ }

// TestAStreamedAnswer: a streamed answer is sent in parts of a bounded size, has the same content as otherwise, and may
// be longer than other answers. Work has no turn while a part is sent.
func TestAStreamedAnswer(t *testing.T) {
	pages := make([]item, 2000)
	for i := range pages {
		pages[i] = item{Text: strings.Repeat("x", 1000)}
	}
	volume := &book{"long", pages, true}
	running, heavy := new(held), new(held)
	var observed []int
	options := jsonrpc.Options{
		MaxResponseBytes: 1 << 20, Running: running, Heavy: heavy,
		Quota:    func(context.Context) jsonrpc.Quota { return scant(1 << 20) },
		Incident: func(context.Context, string, error) string { return "1" },
		Observe:  func(_ string, code int, _ time.Duration) { observed = append(observed, code) },
	}
	s, err := jsonrpc.NewServer(options,
		jsonrpc.NewMethod("book", func(context.Context, struct{}) (*book, error) { return volume, nil }),
		jsonrpc.NewMethod("shelf", func(context.Context, struct{}) ([]book, error) { return []book{*volume, *volume}, nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	call := func(method string) []byte { return []byte(`{"jsonrpc":"2.0","id":1,"method":"` + method + `"}`) }
	for method, result := range map[string]any{"book": volume, "shelf": []book{*volume, *volume}} {
		p := new(parts)
		rest, err := s.AppendTo(t.Context(), call(method), []byte("before"), p.take)
		if err != nil || !strings.HasPrefix(string(rest), "before") {
			t.Fatalf("%s: got %.100s, %v, want %q at the beginning", method, rest, err, "before")
		}
		want := `{"jsonrpc":"2.0","id":1,"result":` + jsonOf(result) + `}`
		if got := p.text.String() + string(rest[len("before"):]); got != want {
			t.Errorf("%s: got %d bytes, want %d", method, len(got), len(want))
		}
		if p.count < 4 || p.most > 300<<10 {
			t.Errorf("%s: got %d parts of up to %d bytes", method, p.count, p.most)
		}
		if running.entered != running.left || heavy.entered != heavy.left || heavy.entered < p.count {
			t.Errorf("%s: got turns %+v and %+v for %d parts", method, running, heavy, p.count)
		}
	}
	// An answer that is held as a whole is bounded: in a batch, and without a sink.
	p := new(parts)
	batch := append(append([]byte("["), call("book")...), ']')
	if got, err := s.AppendTo(t.Context(), batch, nil, p.take); err != nil || p.count > 0 ||
		!strings.Contains(string(got), "response_size") {
		t.Errorf("a batch: got %.200s after %d parts, %v", got, p.count, err)
	}
	if got := s.Append(t.Context(), call("book"), nil); !strings.Contains(string(got), "response_size") {
		t.Errorf("without a sink: got %.200s, want %q", got, "response_size")
	}
	// A short answer is held too, and not passed on in parts.
	volume = &book{"short", pages[:3], false}
	if got, err := s.AppendTo(t.Context(), call("book"), nil, p.take); err != nil || p.count > 0 ||
		!strings.Contains(string(got), jsonOf(volume)) {
		t.Errorf("a short one: got %.200s after %d parts, %v", got, p.count, err)
	}
	observed = nil
	for name, fails := range map[string]struct {
		refuse int
		page   int
		broken bool
		code   int
	}{
		"the first part is refused": {1, 0, true, -32040},
		"a later part is refused":   {3, 0, true, -32040},
		"a late page is torn":       {0, 1500, true, -32603},
		"an early page is torn":     {0, 1, false, -32603},
	} {
		volume = &book{"torn", slices.Clone(pages), true}
		if fails.page > 0 {
			volume.Pages[fails.page].Text = torn
		}
		p := &parts{refuse: fails.refuse}
		got, err := s.AppendTo(t.Context(), call("book"), nil, p.take)
		if (err != nil) != fails.broken || fails.broken != (len(got) == 0) || observed[len(observed)-1] != fails.code {
			t.Errorf("%s: got %.200s, %v, observed %v", name, got, err, observed)
		}
	}
}

// TestAStreamedAnswerOverHTTP comes with chunked coding, and has no end if it breaks off.
func TestAStreamedAnswerOverHTTP(t *testing.T) {
	volume := &book{"long", make([]item, 2000), true}
	for i := range volume.Pages {
		volume.Pages[i].Text = strings.Repeat("x", 1000)
	}
	s, err := jsonrpc.NewServer(jsonrpc.Options{MaxResponseBytes: 1 << 20},
		jsonrpc.NewMethod("book", func(context.Context, struct{}) (*book, error) { return volume, nil }))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(s)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Start()
	defer server.Close()
	fetch := func() (string, error) {
		r, err := http.Post(server.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"book"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if len(r.TransferEncoding) != 1 || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("got the coding %v of %s", r.TransferEncoding, r.Header.Get("Content-Type"))
		}
		return string(text), err
	}
	want := `{"jsonrpc":"2.0","id":1,"result":` + jsonOf(volume) + `}`
	if got, err := fetch(); err != nil || got != want {
		t.Errorf("got %d bytes, %v, want %d", len(got), err, len(want))
	}
	volume.Pages[1500].Text = torn
	if got, err := fetch(); err == nil {
		t.Errorf("an answer that breaks off: got %d bytes and an end, want an error", len(got))
	}
}
