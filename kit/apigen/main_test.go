package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

func opened(t *testing.T) document {
	t.Helper()
	d, err := read(api.NewDocument(api.Declarations()))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// The committed files must equal those generated from the document: a method that changes here changes there.
func TestCommittedFilesAreGenerated(t *testing.T) {
	d := opened(t)
	for file, write := range outputs {
		got, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, write(d)) {
			t.Errorf("%s is not what the OpenRPC document gives: run make generate", file)
		}
	}
}

func TestEveryMethodIsWritten(t *testing.T) {
	d := opened(t)
	text, reference := newWriter(d).write(), page(d)
	for _, d := range api.Declarations() {
		if !strings.Contains(string(text), "  "+name(d.Name)+": { params: [") {
			t.Errorf("%s is missing", d.Name)
		}
		if !strings.Contains(string(reference), "\n## "+d.Name+"\n") {
			t.Errorf("the page lacks %s", d.Name)
		}
	}
	for _, want := range []string{
		"svc_getBalance: \"q\"", "svc_getBlocks: \"[BlockItem\"", "cannot_pay: -32004;", "  hostGas: Record<string, bigint>;",
		"svc_getBlockByNumber: { params: [block: BlockRef, full?: boolean | null, headers_only?: boolean | null]; " +
			"result: Block | null };",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing", want)
		}
	}
}

func TestWorth(t *testing.T) {
	for _, tc := range []struct{ name, kind, description, want string }{
		{"block_height", "integer", "the block's height", ""},
		{"balance", "[Quantity](#quantity)", "its balance in smallest units", ""},
		{"mode", "`primary`, `replica`", "primary or replica", ""},
		{"value", "[Data](#data) or null", "the value under the key; null if there is none", "the value under the key"},
		{"full", "boolean or null", "whether all is there; false by default", "whether all is there"},
		{"amount", "[Quantity](#quantity)", "at least 1", "at least 1"},
	} {
		if got := worth(tc.name, tc.kind, tc.description); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
