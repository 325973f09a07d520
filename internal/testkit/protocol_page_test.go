package testkit

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/protocol/params"
)

const protocolPage = "../../docs/protocol.md"

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestPageShowsVectors compares every long hex string in the page with the vectors, which the code computes.
func TestPageShowsVectors(t *testing.T) {
	page, known := readFile(t, protocolPage), readFile(t, vectorsFile)
	found := regexp.MustCompile(`[0-9a-f]{32,}`).FindAllString(page, -1)
	if len(found) < 50 {
		t.Errorf("the page shows %d hex strings: is it the right file?", len(found))
	}
	for _, s := range found {
		if !strings.Contains(known, s) {
			t.Errorf("%s is not in the vectors", s)
		}
	}
}

func TestPageShowsGasSchedule(t *testing.T) {
	if !strings.Contains(readFile(t, protocolPage), "```\n"+params.Prices.Text()+"```\n") {
		t.Error("the page does not show the schedule's canonical text")
	}
}

// TestPageLinks checks that each link within the page leads to a heading, and each heading of the second level is in
// the table of contents.
func TestPageLinks(t *testing.T) {
	page := readFile(t, protocolPage)
	anchors := map[string]bool{}
	punctuation := regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := punctuation.ReplaceAllString(strings.ToLower(m[1]), "")
		anchors[strings.ReplaceAll(anchor, " ", "-")] = true
	}
	linked := map[string]bool{}
	for _, m := range regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(page, -1) {
		linked[m[1]] = true
		if !anchors[m[1]] {
			t.Errorf("no heading for the link #%s", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^## (.*)$`).FindAllStringSubmatch(page, -1) {
		anchor := strings.ReplaceAll(punctuation.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		if !linked[anchor] && anchor != "contents" {
			t.Errorf("%q is not in the table of contents", m[1])
		}
	}
}

// TestPageExamples decodes each request and result in the page into the types that package api declares for the method,
// and compares their encodings.
func TestPageExamples(t *testing.T) {
	declared := map[string]api.Declaration{}
	for _, d := range api.Declarations() {
		declared[d.Name] = d
	}
	page := readFile(t, protocolPage)
	for _, name := range regexp.MustCompile(`\b(?:svc|dev)_[A-Za-z]+`).FindAllString(page, -1) {
		if _, ok := declared[name]; !ok {
			t.Errorf("the page names %s, which is not declared", name)
		}
	}
	examples := regexp.MustCompile("(?s)```json rpc\n(.*?)```").FindAllStringSubmatch(page, -1)
	if len(examples) < 8 {
		t.Errorf("%d examples of calls", len(examples))
	}
	for _, m := range examples {
		var request struct {
			JSONRPC string            `json:"jsonrpc"`
			ID      int               `json:"id"`
			Method  string            `json:"method"`
			Params  []json.RawMessage `json:"params"`
		}
		var response struct {
			JSONRPC string          `json:"jsonrpc"`
			ID      int             `json:"id"`
			Result  json.RawMessage `json:"result"`
		}
		d := json.NewDecoder(strings.NewReader(m[1]))
		d.DisallowUnknownFields()
		if err := errors.Join(d.Decode(&request), d.Decode(&response)); err != nil {
			t.Errorf("%v in %s", err, m[1])
			continue
		}
		t.Run(request.Method, func(t *testing.T) {
			declaration := declared[request.Method]
			if len(request.Params) > declaration.Params.NumField() {
				t.Fatalf("%d parameters", len(request.Params))
			}
			for i, p := range request.Params {
				decodeAs(t, p, declaration.Params.Field(i).Type)
			}
			decodeAs(t, response.Result, declaration.Result)
		})
	}
}

// decodeAs decodes an example strictly, and checks that no member is lost or missing.
func decodeAs(t *testing.T, text []byte, as reflect.Type) {
	t.Helper()
	value := reflect.New(as)
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(value.Interface()); err != nil {
		t.Fatalf("%s: error %v", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Errorf("%s: more than one value", text)
	}
	encoded, err := json.Marshal(value.Interface())
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := errors.Join(json.Unmarshal(encoded, &got), json.Unmarshal(text, &want)); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the example is %s, the type gives %s", text, encoded)
	}
}
