package operator

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/internal/server/members"
)

// On a processor that computes wrong hashes, no command runs whose result is stored or trusted.
func TestKernelsAreTestedFirst(t *testing.T) {
	wrong := errors.New("wrong hashes")
	dir := filepath.Join(t.TempDir(), "chain")
	run := func(fault error, args ...string) (exit, tested int, out string) {
		root := NewRoot(func() error {
			tested++
			return fault
		})
		var text bytes.Buffer
		exit = invoke.Execute(t.Context(), root, args, invoke.Streams{In: new(bytes.Buffer), Out: &text, Err: &text})
		return exit, tested, text.String()
	}
	for _, args := range [][]string{
		{"init", dir}, {"prove"},
		{"db", "check", "--data-dir", dir}, {"db", "prune", "--keep", "1", "--data-dir", dir},
		{"db", "export", "--out", dir, "--data-dir", dir}, {"db", "prove", "--data-dir", dir},
		{"db", "import", "--input", dir, "--data-dir", dir},
		{"snapshot", "create", "--data-dir", dir}, {"snapshot", "list", "--data-dir", dir},
		{"snapshot", "export", dir, "--out", dir}, {"snapshot", "verify", dir},
		{"snapshot", "import", dir, "--genesis-hash", "0x" + strings.Repeat("00", 32), "--data-dir", dir},
	} {
		if exit, tested, out := run(wrong, args...); exit != 1 || tested != 1 || !strings.Contains(out, wrong.Error()) {
			t.Errorf("%q: exit code %d after %d tests: %s", args, exit, tested, out)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q wrote something: error %v, want %v", args, err, os.ErrNotExist)
		}
	}
	if exit, tested, out := run(nil, "init", dir); exit != 0 || tested != 1 {
		t.Errorf("a good processor: exit code %d after %d tests: %s", exit, tested, out)
	}
	if exit, tested, out := run(nil, "snapshot", "list", "--data-dir", dir); exit != 0 || tested != 1 {
		t.Errorf("a good processor: exit code %d after %d tests: %s", exit, tested, out)
	}
}

// Every command in the list of help is in one of its groups.
func TestHelpIsInGroups(t *testing.T) {
	root := NewRoot(func() error { return nil })
	var text bytes.Buffer
	if exit := invoke.Execute(t.Context(), root, []string{"help"}, invoke.Streams{Out: &text, Err: &text}); exit != 0 {
		t.Fatalf("exit code %d, want 0: %s", exit, text.String())
	}
	if strings.Contains(text.String(), "Additional Commands") || strings.Contains(text.String(), "Available Commands") {
		t.Errorf("a command is in no group:\n%s", text.String())
	}
}

// Help fits into 80 columns, whatever the width of its sources.
func TestHelpFitsATerminal(t *testing.T) {
	var visit func(command *cobra.Command)
	visit = func(command *cobra.Command) {
		args := append(strings.Fields(command.CommandPath())[1:], "--help")
		var text bytes.Buffer
		root := NewRoot(func() error { return nil })
		if exit := invoke.Execute(t.Context(), root, args, invoke.Streams{Out: &text, Err: &text}); exit != 0 {
			t.Errorf("%v: exit code %d, want 0: %s", args, exit, text.String())
		}
		for line := range strings.Lines(text.String()) {
			long := func(word string) bool { return len(word) > 60 } // such as a key, which cannot be wrapped
			width, words := utf8.RuneCountInString(strings.TrimRight(line, "\n")), strings.Fields(line)
			if width > 80 && len(words) > 1 && !slices.ContainsFunc(words, long) {
				t.Errorf("%v: %d columns: %s", args, width, line)
			}
		}
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(NewRoot(func() error { return nil }))
}

// A member that has not reported lately is not shown as behind by the whole log.
func TestMemberLine(t *testing.T) {
	status := members.Status{Self: "a", Leader: "b", Last: 307}
	told := members.Member{Name: "a", Address: "x:1", Voter: true, Reported: true}
	told.Applied, told.Lag, told.Starts = 306, 1, 2
	other := told
	other.Name, other.ClockOffsetMS = "b", -3
	silent := members.Member{Name: "c", Address: "z:1", Starts: 4, Program: "0.2.0"}
	for want, member := range map[string]members.Member{
		"  a            votes  x:1                   applied 306, 1 behind, starts 2":                 told,
		"  b            leads  x:1                   applied 306, 1 behind, clock -3 ms, starts 2":    other,
		"  c            learns z:1                   applied index not reported yet, starts 4, 0.2.0": silent,
		"  d            learns                       applied index not reported yet; not reached: refused": {
			Name: "d", Fault: "refused",
		},
	} {
		if got := memberLine(status, member); got != want {
			t.Errorf("%+v: %q, want %q", member, got, want)
		}
	}
}
