package archtest

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestWordsHaveOneMeaning(t *testing.T) {
	problems, err := CheckWords(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Error(p)
	}
}

func TestOtherMeaningsAreFound(t *testing.T) {
	for file, sources := range map[string]struct{ bad, good []string }{
		"internal/protocol/exec/x.go": {
			[]string{"type Run struct{}", "type BlockRun int", "var headRoom = 1", "func makeRoom() {}"},
			[]string{"func Run() {}", "type T struct{ run int }", "var f = func(room int) {}", "var mushroom, head int"},
		},
		"jsonrpc/x.go": {nil, []string{"type Quota interface{ Room(bytes int) int }"}},
		"internal/server/front/x.go": {
			[]string{"type head struct{}", "type T struct{ parsedHead int }"}, []string{"func header() {}"},
		},
		"internal/protocol/tree/x.go": {
			[]string{"func JoinProofs() {}; type Proof int", "type I interface{ StateProof() }"},
			[]string{"type MerkleProof struct{}", "type T struct{ proof int }"},
		},
		"internal/protocol/tree/x_test.go": {nil, []string{"func TestProof() {}"}},
	} {
		check := func(source string) []string {
			problems, err := CheckWords(fstest.MapFS{file: {Data: []byte("package x\n\n" + source)}})
			if err != nil {
				t.Fatal(err)
			}
			return problems
		}
		for _, source := range sources.bad {
			found := check(source)
			if !slices.ContainsFunc(found, func(p string) bool { return strings.HasPrefix(p, file+":3:") }) {
				t.Errorf("%s: %s: found %q", file, source, found)
			}
		}
		for _, source := range sources.good {
			if found := check(source); len(found) > 0 {
				t.Errorf("%s: %s: found %q", file, source, found)
			}
		}
	}
}
