package cli

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/types"
)

// foreignArchive is a source of a toolchain that there is nowhere.
func foreignArchive(t *testing.T) string {
	t.Helper()
	archive, err := contractsource.Source{
		Manifest: contractsource.Manifest{
			Format: 1, Language: contractsource.AssemblyScript, Name: "gold", Toolchain: map[string]string{"asc": "none"},
		},
		Files: map[string][]byte{"assembly/index.ts": []byte("//")},
	}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	return string(archive)
}

// TestTraceWithoutLines has sources that cannot say a line: the trace is shown all the same, and why there are none.
func TestTraceWithoutLines(t *testing.T) {
	node := startNode(t)
	d := newDesk(t, node)
	archive := d.write(t, "gold.source.tar", foreignArchive(t))
	trace := func(more ...string) outcome { return d.run(t, append([]string{"tx", "trace", hash("02")}, more...)...) }
	if o := trace("--source", archive); o.exit != 0 || node.places != 1 || !strings.Contains(o.err, "No call failed") {
		t.Errorf("%d questions for places, %+v", node.places, o)
	}
	node.trace = func(trace *api.Trace) { trace.Root.Calls[0].StoppedAt = []api.TracePlace{{Function: 1, Offset: 9}} }
	o := trace("--source", archive)
	if o.exit != 0 || !strings.Contains(o.err, "Cannot show source lines of "+archive+": not checked: ") ||
		!strings.Contains(o.out, "failed: reverted") {
		t.Errorf("%+v", o)
	}
	read := result[readTrace](t, trace("--source", archive, "--json"))
	if len(read.Sources) != 1 || read.Sources[0].Source != archive || len(read.Sources[0].Contracts) != 0 ||
		!strings.HasPrefix(read.Sources[0].Problem, "not checked: ") || read.Root.Calls[0].Lines != nil {
		t.Errorf("%+v", read)
	}
	asked := node.places
	for want, args := range map[string][]string{
		"bad source": {"tx", "trace", hash("02"), "--source", d.write(t, "x.tar", "no archive")},
		"--source " + filepath.Join(d.home, "none") + ": stat": {
			"tx", "trace", hash("02"), "--source", filepath.Join(d.home, "none"),
		},
	} {
		if o := d.run(t, args...); o.exit == 0 || !strings.Contains(o.err, want) || node.places != asked {
			t.Errorf("%q: %+v", args, o)
		}
	}
}

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
	// What a node says of a code is not to be believed: this one has no function at all.
	none := &builtSource{lines: new(contractbuild.SourceMap)}
	if err := root.addLines(map[types.CodeHash]*builtSource{own: none}); !errors.Is(err, errPlaces) {
		t.Errorf("a function that is not there: %v", err)
	}
	if err := root.addLines(nil); err != nil || root.Lines != nil {
		t.Errorf("without a source: %v, %v", root.Lines, err)
	}
	reverted := "reverted"
	root.Error = &reverted
	root.Lines = []stoppedAt{{File: "src/lib.rs", Line: 7, Text: "a\t/ b"}, {File: "src/lib.rs", Line: 3, Near: true}}
	root.Calls = nil
	var text strings.Builder
	traceWriter{&text, nil}.call("", root)
	want := "\n  failed: reverted\n    at src/lib.rs:7  a\\t/ b\n    called from near src/lib.rs:3  "
	if !strings.HasSuffix(text.String(), want) {
		t.Errorf("%q", text.String())
	}
}
