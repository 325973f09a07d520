package operator

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/cli/invoke"
)

// runProgram runs the program within this process, and returns its exit code and output.
func runProgram(t *testing.T, args ...string) (exit int, out, prose string) {
	t.Helper()
	var result, notes bytes.Buffer
	exit = invoke.Execute(t.Context(), NewRoot(func() error { return nil }), args, invoke.Streams{
		In: new(bytes.Buffer), Out: &result, Err: &notes,
	})
	return exit, result.String(), notes.String()
}

// Without a home directory the program writes only to the directories given, and commands that need none still work.
func TestWithoutHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "relative") // invalid: it must be absolute
	t.Chdir(t.TempDir())
	const nowhere = "http://127.0.0.1:1"
	for _, test := range []struct {
		args string
		exit int
		says string
	}{
		{"dev", 2, "HOME is not set: give --data-dir, or --ephemeral for a chain in memory"},
		{"node", 2, "HOME is not set: give --data-dir"},
		{"signer run", 2, "HOME is not set: give --data-dir"},
		{"db check", 2, "HOME is not set: give --data-dir"},
		{"doctor", 2, "HOME is not set: give --data-dir"},
		{"version", 0, ""},
		{"status --rpc-url " + nowhere, 3, "cannot reach a node at " + nowhere},
		{"block latest --rpc-url " + nowhere, 3, "cannot reach a node at " + nowhere},
		{"account " + strings.Repeat("ab", 32) + " --rpc-url " + nowhere, 3, "cannot reach a node at " + nowhere},
		{"account alice --rpc-url " + nowhere, 2, "HOME is not set, so there is no keystore directory: give --home"},
		{"keys list", 2, "HOME is not set, so there is no keystore directory: give --home"},
		{"keys show alice", 2, "HOME is not set, so there is no keystore directory: give --home"},
		{"send alice 1 --from alice --rpc-url " + nowhere, 2, "HOME is not set, so there is no keystore directory: " +
			"give --home"},
	} {
		if exit, _, prose := runProgram(t, strings.Fields(test.args)...); exit != test.exit ||
			!strings.Contains(prose, test.says) {
			t.Errorf("%s: got exit code %d, %q, want %d, %q", test.args, exit, prose, test.exit, test.says)
		}
	}
}

// An environment variable that is not a setting stops only commands that run a node or change its directory.
func TestVariableOfSomebodyElse(t *testing.T) {
	t.Setenv("CAIRN_NODE", "x")
	t.Setenv("HOME", t.TempDir())
	const says = "CAIRN_NODE: there is no such setting; is CAIRN_MODE meant?"
	for args, want := range map[string]int{
		"version": 0, "help": 0, "help send": 0, "completion bash": 0, "keys list": 0,
		"status --rpc-url http://127.0.0.1:1": 3,
		"node":                                2, "dev": 2, "signer run": 2, "prove": 2, "db check": 2, "init " + t.TempDir(): 2,
	} {
		exit, _, prose := runProgram(t, strings.Fields(args)...)
		word := "Warning: "
		if want == 2 {
			word = "Error: bad setting: "
		}
		if exit != want || strings.Count(prose, word+says) != 1 {
			t.Errorf("%s: got exit code %d, %q, want %d, %q once", args, exit, prose, want, word+says)
		}
	}
}
