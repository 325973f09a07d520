package jsonrpc_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/jsonrpc"
)

// pauses counts how often work lets others have their turn, and fails from some time on.
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

// atOnce are turns that all work has at once.
type atOnce struct{}

func (atOnce) Enter(context.Context) error { return nil }
func (atOnce) Leave(context.Context)       {}

// item is an item of a list that encoding/json encodes, worth what it is asked to be.
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

func (b *book) Split() (shell any, member string, list any) {
	if b == nil || len(b.Title) == 0 {
		return b, "", nil
	}
	empty := *b
	empty.Pages = []item{}
	return &empty, "pages", b.Pages
}

// TestPieces encodes lists, and results that hold one, as encoding/json does. Others have their turn between the items.
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
		var text strings.Builder
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(result); err != nil {
			t.Fatal(err)
		}
		return `{"jsonrpc":"2.0","id":1,"result":` + strings.TrimSuffix(text.String(), "\n") + `}`
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

// scant is a quota with room for so many bytes.
type scant int

func (s scant) Room(bytes int) int { return int(s) }
func (scant) Charge(int)           {}

// TestAListEndsWhereThereIsNoRoom stops encoding there: it does not make all of the answer first.
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

// counted is 32 KiB of JSON, and counts how often it is made.
type counted struct{ made *int }

func (m *counted) AppendJSON(dst []byte) []byte {
	*m.made++
	return jsonrpc.AppendString(dst, strings.Repeat("a", 32<<10))
}

func (m *counted) MarshalJSON() ([]byte, error) { return nil, errors.New("it appends itself") }
