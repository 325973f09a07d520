package tracing

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

// TestLinesOfATrace has one source for two calls that failed, and none for a third.
func TestLinesOfATrace(t *testing.T) {
	own, other := types.CodeHash{1}, types.CodeHash{2}
	call := func(code types.CodeHash, contract byte, places ...api.TracePlace) readCall {
		return readCall{TraceCall: api.TraceCall{CodeHash: code, Contract: types.ContractID{contract}, StoppedAt: places}}
	}
	place := api.TracePlace{Function: 0, Offset: 10}
	root := call(own, 1, place)
	root.Calls = []readCall{call(own, 2), call(own, 3, place), call(other, 4, place), call(own, 1, place)}
	failed := map[types.CodeHash][]types.ContractID{}
	root.failures(failed)
	if !slices.Equal(failed[own], []types.ContractID{{1}, {3}}) || !slices.Equal(failed[other], []types.ContractID{{4}}) {
		t.Errorf("%v", failed)
	}
	// A node's claim about a code is not trusted: here it has no function at all.
	none := &builtSource{lines: new(contractbuild.SourceMap)}
	if err := root.addLines(map[types.CodeHash]*builtSource{own: none}); !errors.Is(err, errPlaces) {
		t.Errorf("a function that is not there: error %v, want %v", err, errPlaces)
	}
	if err := root.addLines(nil); err != nil || root.Lines != nil {
		t.Errorf("without a source: got %v, error %v", root.Lines, err)
	}
	reverted := "reverted"
	root.Error = &reverted
	root.Lines = []StoppedAt{{File: "src/lib.rs", Line: 7, Text: "a\t/ b"}, {File: "src/lib.rs", Line: 3, Near: true}}
	root.Calls = nil
	var text strings.Builder
	traceWriter{&text, nil}.call("", root)
	want := "\n  failed: reverted\n    at src/lib.rs:7  a\\t/ b\n    called from near src/lib.rs:3  "
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q", text.String())
	}
}
