package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/internal/contractsource"
)

// foreignArchive is a source with a toolchain that exists nowhere.
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

// TestTraceWithoutLines has sources without usable lines: the trace is shown without them, with the reason.
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
		t.Errorf("got %+v", o)
	}
	read := result[tracing.Trace](t, trace("--source", archive, "--json"))
	if len(read.Sources) != 1 || read.Sources[0].Source != archive || len(read.Sources[0].Contracts) != 0 ||
		!strings.HasPrefix(read.Sources[0].Problem, "not checked: ") || read.Root.Calls[0].Lines != nil {
		t.Errorf("got %+v", read)
	}
	asked := node.places
	for want, args := range map[string][]string{
		"bad source": {"tx", "trace", hash("02"), "--source", d.write(t, "x.tar", "no archive")},
		"--source " + filepath.Join(d.home, "none") + ": stat": {
			"tx", "trace", hash("02"), "--source", filepath.Join(d.home, "none"),
		},
	} {
		if o := d.run(t, args...); o.exit == 0 || !strings.Contains(o.err, want) || node.places != asked {
			t.Errorf("%q: got %+v", args, o)
		}
	}
}
