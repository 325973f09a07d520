package bindings

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/abi"
)

// module returns the ABI of a compiled example.
func module(t *testing.T, name string) abi.ABI {
	t.Helper()
	code, err := os.ReadFile("../../contracts/wasm/" + name + ".wasm")
	if err != nil {
		t.Fatal(err)
	}
	declared, err := abi.FromCode(code)
	if err != nil {
		t.Fatal(err)
	}
	return declared
}

// The bindings with which tests call contracts must equal the presently generated ones: otherwise run go generate.
func TestCommittedBindings(t *testing.T) {
	for _, committed := range []struct{ module, lang, name, file string }{
		{"types", "go", "typed", "kit/bindings/generated/typed/typed.go"},
		{"nep20", "go", "nep20", "kit/bindings/generated/nep20/nep20.go"},
		{"types", "rust", "typed", "contracts/rust/tests/caller/src/typed.rs"},
		{"types", "ts", "typed", "sdk/typescript/test/bindings/typed.ts"},
	} {
		want, err := os.ReadFile("../../" + committed.file)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Generate(committed.lang, module(t, committed.module), committed.name)
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is another (%v)", committed.file, err)
		}
	}
}

// hostile is an ABI whose names clash with those in the generated code, and with each other.
const hostile = `{"abi":2,"binary":true,
	"types":[{"name":"Contract","kind":"record","fields":[{"name":"error","type":"u8"},{"name":"Error","type":"(u8,i8)"}]},
		{"name":"AtEvent","kind":"enum","variants":[{"name":"A_b","fields":[{"name":"v","type":"Contract[]?"}]},{"name":"AB"}]},
		{"name":"U","kind":"enum","variants":[{"name":"Only"}]}],
	"functions":[{"name":"id","mode":"read","args":[{"name":"k","type":"u64"},{"name":"ctx","type":"i128[]"}],"returns":"U"},
		{"name":"Id","mode":"write","payable":true,"args":[{"name":"value","type":"bytes7?"},{"name":"_","type":"(u64,(i8,Contract))[]"}],"returns":"AtEvent?"},
		{"name":"ID","mode":"write","args":[{"name":"bind","type":"i64"},{"name":"error","type":"bytes"}]},
		{"name":"_","mode":"read","args":[{"name":"codec","type":"hash"},{"name":"uint8","type":"u8"},{"name":"append","type":"u8"}]},
		{"name":"init","mode":"init","args":[{"name":"name","type":"string"},{"name":"code","type":"i16?"}]}],
	"events":[{"name":"At","args":[{"name":"x","type":"U"}]}],
	"errors":[{"name":"At","code":4294967295},{"name":"Explain","code":1,"fields":[{"name":"at","type":"AtEvent"}]}]}`

// Go bindings with any names and types compile, including names that look like Go's.
func TestGoCompiles(t *testing.T) {
	declared, err := abi.Parse([]byte(hostile))
	if err != nil {
		t.Fatal(err)
	}
	abis := map[string]abi.ABI{"hostile": declared}
	for _, name := range []string{"counter", "multisig", "nft", "pool", "as-nft", "as-types"} {
		abis[strings.ReplaceAll(name, "-", "")] = module(t, name)
	}
	dir := t.TempDir()
	var overlay struct{ Replace map[string]string } // files that exist in package bindings only for the compiler
	overlay.Replace = map[string]string{}
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	packages := []string{"build", "-overlay=" + filepath.Join(dir, "overlay.json")}
	for name, declared := range abis {
		source, err := Go(declared, name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), source, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(here, name, name+".go")] = filepath.Join(dir, name)
		packages = append(packages, "./"+name)
	}
	encoded, err := json.Marshal(overlay)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), encoded, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", packages...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// The texts of errors and variants show optional values, not their addresses.
func TestShowsOptionals(t *testing.T) {
	declared, err := abi.Parse([]byte(`{"abi":2,"functions":[],"events":[],"types":[
		{"name":"Offer","kind":"record","fields":[{"name":"by","type":"u8?"}]},
		{"name":"State","kind":"enum","variants":[{"name":"Open"},{"name":"Sold","fields":[{"name":"to","type":"string?"}]}]}],
		"errors":[{"name":"Late","code":1,"fields":[{"name":"a","type":"u64?"},{"name":"b","type":"Offer?"},
			{"name":"c","type":"(u8?,State)[]"},{"name":"d","type":"u64?"},{"name":"e","type":"bytes"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	source, err := Go(declared, "k")
	if err != nil {
		t.Fatal(err)
	}
	const program = `package main

import (
	"fmt"

	"github.com/cairn-chain/cairn/kit/bindings/shown/k"
)

func main() {
	list := []k.TupleU8OrState{{Item1: new(uint8(3)), Item2: k.StateSold{To: new("x")}}, {Item2: k.StateOpen{}}}
	fmt.Print(k.LateError{A: new(uint64(7)), B: &k.Offer{By: new(uint8(5))}, C: list, E: []byte{1, 255}})
}`
	dir := t.TempDir()
	replace := make(map[string]string)
	for name, content := range map[string]string{"k/k.go": string(source), "main.go": program} {
		file := filepath.Join(dir, filepath.Base(name))
		here, err := filepath.Abs(filepath.Join("shown", name))
		if err == nil {
			err = os.WriteFile(file, []byte(content), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		replace[here] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "overlay.json"), overlay, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "run", "-overlay="+filepath.Join(dir, "overlay.json"), "./shown").CombinedOutput()
	const want = "Late a 7 b {By:5} c [{Item1:3 Item2:Sold{To:x}} {Item1:none Item2:Open}] d none e 0x01ff"
	if err != nil || string(out) != want {
		t.Errorf("%s, %v\nwant %s", out, err, want)
	}
}

// Text that is not an identifier never reaches a program, from any place in the ABI.
func TestRefusesNames(t *testing.T) {
	const bad = `x\n}\nfunc init() { evil() }`
	for _, text := range []string{
		`{"functions":[{"name":"BAD","mode":"read","args":[]}],"events":[]}`,
		`{"functions":[{"name":"f","mode":"read","args":[{"name":"BAD","type":"u8"}]}],"events":[]}`,
		`{"functions":[],"events":[{"name":"BAD","args":[]}]}`,
		`{"functions":[],"events":[{"name":"E","args":[{"name":"BAD","type":"u8"}]}]}`,
		`{"abi":2,"functions":[],"events":[],"errors":[{"name":"BAD","code":1}]}`,
		`{"abi":2,"functions":[],"events":[],"errors":[{"name":"E","code":1,"fields":[{"name":"BAD","type":"u8"}]}]}`,
		`{"abi":2,"types":[{"name":"R","kind":"record","fields":[{"name":"BAD","type":"u8"}]}],"functions":[],"events":[]}`,
		`{"abi":2,"types":[{"name":"R","kind":"enum","variants":[{"name":"BAD"}]}],"functions":[],"events":[]}`,
	} {
		declared, err := abi.Parse([]byte(strings.ReplaceAll(text, "BAD", bad)))
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range Languages() {
			if source, err := Generate(lang, declared, "k"); err == nil {
				t.Errorf("%s of %s: got %s, want an error", lang, text, source)
			}
		}
	}
	if _, err := Generate("go", abi.ABI{}, "a b"); err == nil {
		t.Error("a package with a space in its name")
	}
	if _, err := Generate("basic", abi.ABI{}, "a"); err == nil {
		t.Error("a language that there is not")
	}
	word, err := abi.Parse([]byte(`{"functions":[{"name":"match","mode":"read","args":[]}],"events":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Rust(word, "K"); err == nil {
		t.Error("a word of Rust as a function")
	}
}
