package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
)

// shipped are the contracts that examples call, by their names in the pages.
var shipped = map[string]string{"counter": "counter", "gold": "nep20", "escrow": "escrow"}

// exampleLines are the commands that help texts and pages show, by where they are shown.
func exampleLines(t *testing.T) map[string][]string {
	t.Helper()
	lines := map[string][]string{}
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for line := range strings.Lines(command.Example) {
			lines[command.CommandPath()] = append(lines[command.CommandPath()], strings.TrimSpace(line))
		}
		for _, child := range command.Commands() {
			visit(child)
		}
	}
	visit(NewRoot(Build{}))
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "../README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		shell := false
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "```") {
				shell = !shell && strings.HasPrefix(line, "```sh")
			} else if shell {
				lines[page] = append(lines[page], strings.TrimPrefix(line, "$ "))
			}
		}
	}
	return lines
}

// TestExamplesAreCommands: the commands in help texts and pages have existing names and flags, and call functions of
// the shipped contracts, with their parameters.
func TestExamplesAreCommands(t *testing.T) {
	seen := 0
	for where, lines := range exampleLines(t) {
		for _, line := range lines {
			line, _, _ = strings.Cut(line, " #")
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "cairn" || strings.ContainsAny(line, `'"$|>;&\`) {
				continue // left to the shell
			}
			root := NewRoot(Build{})
			command, rest, err := root.Find(words[1:])
			if err != nil || command == root || command.Name() == "promote" {
				continue // added by the program, or flags of its own
			}
			seen++
			if command.Name() == "call" {
				checkCall(t, where, line, command, rest)
			} else if err := command.ParseFlags(rest); err != nil {
				t.Errorf("%s: got %v for %q, want a command that works", where, err, line)
			}
		}
	}
	if seen < 50 {
		t.Errorf("got %d examples, want more: they were not found", seen)
	}
}

func checkCall(t *testing.T, where, line string, command *cobra.Command, words []string) {
	t.Helper()
	if len(words) < 2 || shipped[words[0]] == "" {
		return
	}
	code, err := os.ReadFile("../contracts/wasm/" + shipped[words[0]] + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	declared, err := abi.FromCode(code)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := declared.Function(words[1])
	if !ok {
		t.Errorf("%s: %q calls a function that %s has not", where, line, words[0])
		return
	}
	for _, word := range words[2:] {
		name, isFlag := strings.CutPrefix(word, "--")
		name, _, _ = strings.Cut(name, "=")
		known := slices.ContainsFunc(f.Args, func(p abi.Parameter) bool { return p.Name == name })
		if isFlag && !known && command.Flags().Lookup(name) == nil {
			t.Errorf("%s: %q has a flag --%s, which %s has not", where, line, name, f)
		}
	}
}

// TestEncodeAndDecode: arguments are encoded by an ABI in a file, for a call and for the proxy, and decoded again.
func TestEncodeAndDecode(t *testing.T) {
	const gold, savings = "../contracts/wasm/nep20.wasm", "../contracts/wasm/savings.wasm"
	d := newDesk(t, nil)
	encoded := result[printedArguments](t, d.run(t, "encode", gold, "transfer", "--to", "dev1", "--amount", "5", "--json"))
	if encoded.Binary == nil || !strings.Contains(string(encoded.Args), `"amount":5`) {
		t.Fatalf("got %+v, want both forms", encoded)
	}
	decoded := result[printedArguments](t, d.run(t, "decode", gold, "transfer", encoded.Binary.String(), "--json"))
	if got, want := string(decoded.Value), string(encoded.Args); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	forwarded := result[printedArguments](t, d.run(t, "encode", savings, "withdraw", "--amount", "5", "--proxy", "--json"))
	if got, want := forwarded.Binary.String(), "0x0500000000000000"; got != want {
		t.Errorf("got %s for the proxy, want %s", got, want)
	}
	if o := d.run(t, "encode", gold, "give"); o.exit != 2 || !strings.Contains(o.err, "transferFrom") {
		t.Errorf("got %+v, want the functions that there are", o)
	}
}
