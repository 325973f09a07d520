package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// The committed source must be what the document gives: a method that changes here changes there.
func TestCommittedSourceIsGenerated(t *testing.T) {
	want, err := generate(api.NewDocument(api.Declarations()))
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(output)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the OpenRPC document gives: run make generate", output)
	}
}

func TestEveryMethodIsWritten(t *testing.T) {
	text, err := generate(api.NewDocument(api.Declarations()))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range api.Declarations() {
		if !strings.Contains(string(text), "  "+name(d.Name)+": { params: [") {
			t.Errorf("%s is missing", d.Name)
		}
	}
	for _, want := range []string{
		"svc_getBalance: \"q\"", "svc_getBlocks: \"[BlockItem\"", "cannot_pay: -32004;", "  hostGas: Record<string, bigint>;",
		"svc_getBlockByNumber: { params: [block: BlockRef, full?: boolean | null]; result: Block | null };",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is missing", want)
		}
	}
}
