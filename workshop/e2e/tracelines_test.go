package e2e

import (
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

// Not every machine has the contract compilers: contracts/test.sh lists the projects.
var counters = flag.String("counters", "",
	"directories of the example counter, with commas, that TestLinesOfATrace compiles")

// refusal is the reason with which both counters revert when they overflow.
const refusal = "the count overflows"

// tracedLines are the parts of a trace that the test reads.
type tracedLines struct {
	Root struct {
		Error *string
		Lines []struct {
			File, Text string
			Line       int
		}
		StoppedAt []struct{ Function, Offset int }
	}
	Sources []struct {
		Contracts []string
		Problem   string
	}
}

// TestLinesOfATrace has a real node trace a transaction that a contract refused. The command line prints the line of
// its source, from the project and from its archive, in each language. A source that differs in one byte is refused.
func TestLinesOfATrace(t *testing.T) {
	if *counters == "" {
		return
	}
	node := startDev(t, "--block-time", "0", "--ephemeral")
	for dir := range strings.SplitSeq(*counters, ",") {
		t.Run(filepath.Base(filepath.Dir(filepath.Dir(dir))), func(t *testing.T) {
			t.Chdir(dir) // an archive is compiled with the packages found from the working directory
			u, out := newUser(t).of(node), t.TempDir()
			source, err := contractbuild.Collect(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			var built struct{ Module, Source string }
			u.succeeds(&built, "contract", "build", dir, "--out", out)
			function, deploy := "add", []string{"deploy", built.Module, "--from", "dev0", "--alias", "counter"}
			if source.Manifest.Language == contractsource.AssemblyScript {
				function, deploy = "increase", append(deploy, "--args", `{"start":0}`)
			}
			u.succeeds(nil, deploy...)
			u.succeeds(nil, "call", "counter", function, "--amount", "1", "--from", "dev0")
			call := []string{
				"call", "counter", function, "--amount", "18446744073709551615", "--from", "dev0", "--gas-limit", "1000000",
			}
			told := u.fails(exitFailed, append(call, "--trace")...).Data
			refused, ok := told["hash"].(string)
			if !ok || told["trace"] == nil {
				t.Fatalf("no hash or no trace: got %v", told)
			}
			want := lineWith(t, source, refusal)
			if r := u.run(append(call, "--source", dir)...); !strings.Contains(r.stderr, "\n    at "+want+"  ") {
				t.Errorf("no %q: got %s, want %q", want, r, "\n    at "+want+"  ")
			}
			trace := func(source string) (read tracedLines) {
				t.Helper()
				u.succeeds(&read, "tx", "trace", refused, "--source", source)
				if read.Root.Error == nil || len(read.Root.StoppedAt) == 0 || len(read.Sources) != 1 {
					t.Fatalf("got %+v", read)
				}
				return read
			}
			read := trace(built.Source)
			if lines := read.Root.Lines; len(lines) != 1 || !strings.Contains(lines[0].Text, refusal) ||
				len(read.Sources[0].Contracts) != 1 {
				t.Errorf("got %+v", read)
			}
			read = trace(changed(t, source, out))
			if read.Root.Lines != nil || len(read.Sources[0].Contracts) != 0 ||
				!strings.Contains(read.Sources[0].Problem, "it compiles to different code than 0x") ||
				!strings.Contains(read.Sources[0].Problem, "section data") {
				t.Errorf("of a changed source: got %+v", read)
			}
		})
	}
}

// lineWith returns the only line of a source that contains a text, as FILE:LINE.
func lineWith(t *testing.T, source contractsource.Source, text string) string {
	t.Helper()
	var found []string
	for file, content := range source.Files {
		own := contractbuild.IsOwn(source, contractbuild.Position{File: file})
		for i, line := range strings.Split(string(content), "\n") {
			if own && strings.Contains(line, `"`+text+`")`) && !strings.Contains(line, "assert") {
				found = append(found, file+":"+strconv.Itoa(i+1))
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("%q is in %q", text, found)
	}
	return found[0]
}

// changed writes the archive of a source with one byte changed.
func changed(t *testing.T, source contractsource.Source, dir string) string {
	t.Helper()
	for file, content := range source.Files {
		if contractbuild.IsOwn(source, contractbuild.Position{File: file}) {
			other := strings.Replace(string(content), refusal+`")`, strings.ToUpper(refusal[:1])+refusal[1:]+`")`, 1)
			source.Files[file] = []byte(other)
		}
	}
	archive, err := source.Archive()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "changed.tar")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
