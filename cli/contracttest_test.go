package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
)

func TestContractTest(t *testing.T) {
	d := newDesk(t, nil)
	file := filepath.Join(t.TempDir(), "gold.wasm")
	if err := os.WriteFile(file, contracts.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	init := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
	tested := d.run(t, "contract", "test", file, "--init", init, "--callback", "received:u64", "--json")
	var result testedContract
	if err := json.Unmarshal(tested.document(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	if transfer := result.Functions["gold.transfer"]; tested.exit != 0 || result.Calls < 20_000 ||
		transfer == nil || transfer.Succeeded == 0 || !strings.Contains(tested.err, "the contract declares no invariants") {
		t.Errorf("%+v", tested)
	}
	for want, args := range map[string][]string{
		"bad argument":   {"--init", `{"name":1}`},
		"init is i":      {},
		"there is no ty": {"--init", init, "--callback", "quote:float"},
		"no such file":   {filepath.Join(t.TempDir(), "none.wasm")},
	} {
		args = append([]string{"contract", "test"}, args...)
		if !strings.HasSuffix(args[len(args)-1], ".wasm") {
			args = append(args, file)
		}
		if o := d.run(t, args...); o.exit != 1 || !strings.Contains(o.err, want) {
			t.Errorf("%q: %d %s", args, o.exit, o.err)
		}
	}
}

// TestSetup: the contracts and calls of testdata/setup.json are there for the search, its coverage and the gas, and
// arguments have their names and the adversary's.
func TestSetup(t *testing.T) {
	d := newDesk(t, nil)
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o700); err != nil {
		t.Fatal(err)
	}
	init := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
	setup := `{"deploy":"silver","wasm":"../gold.wasm","from":"alice","args":` + init + `,"searched":true}
{"call":"transfer","to":"silver","from":"alice","args":{"to":"stranger","amount":7}}
{"call":"approve","to":"gold","from":"alice","args":{"spender":"silver","amount":5},"after":true}
`
	calls := `{"from":"alice","call":"transfer","args":{"to":"silver","amount":1}}`
	for file, content := range map[string]string{
		"gold.wasm": string(contracts.Token()), "testdata/setup.json": setup, "testdata/calls.json": calls,
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gold := filepath.Join(dir, "gold.wasm")
	tested := d.run(t, "contract", "test", gold, "--init", init, "--coverage", filepath.Join(dir, "c.info"), "--json")
	var found testedContract
	if err := json.Unmarshal(tested.document(t).Result, &found); err != nil || tested.exit != 0 {
		t.Fatalf("%+v, %v", tested, err)
	}
	if found.Functions["silver.transfer"] == nil || found.Functions["gold.transfer"] == nil {
		t.Errorf("got %+v, want calls of both contracts", found.Functions)
	}
	if o := d.run(t, "contract", "gas", gold, "--init", init, "--update"); o.exit != 0 {
		t.Errorf("gas: %+v", o)
	}
	for line, want := range map[string]string{
		`{"deploy":"x","from":"alice"}`:               `needs "wasm"`,
		`{"call":"f","from":"alice"}`:                 `needs "to"`,
		`{"call":"f","to":"none","from":"alice"}`:     "no contract",
		`{"from":"alice"}`:                            `needs "deploy" or "call"`,
		`{"call":"f","to":"x","from":"a","nope":"x"}`: "unknown field",
	} {
		if err := os.WriteFile(filepath.Join(dir, "testdata", "setup.json"), []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if o := d.run(t, "contract", "test", gold, "--init", init); o.exit == 0 || !strings.Contains(o.err, want) {
			t.Errorf("%s: got %+v, want %q", line, o, want)
		}
	}
}

// TestCoverageOfAModule has no sources: functions and blocks are counted, and there are no lines.
func TestCoverageOfAModule(t *testing.T) {
	d := newDesk(t, nil)
	dir := t.TempDir()
	file, to := filepath.Join(dir, "gold.wasm"), filepath.Join(dir, "coverage.info")
	if err := os.WriteFile(file, contracts.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	tested := d.run(t, "contract", "test", file, "--init",
		`{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`, "--coverage", to, "--json")
	var result testedContract
	if err := json.Unmarshal(tested.document(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	c := result.Coverage
	if c == nil || c.Functions.Ran == 0 || c.Blocks.Ran <= c.Functions.Ran || c.Blocks.Ran >= c.Blocks.Of ||
		c.Lines.Of != 0 {
		t.Errorf("%+v", c)
	}
	if _, err := os.Stat(to); err != nil {
		t.Error(err)
	}
}

// TestCoverageOfCalls makes no call but those of the project's file. The codes differ in a custom section, since what
// ran is counted by code.
func TestCoverageOfCalls(t *testing.T) {
	d := newDesk(t, nil)
	cover := func(section byte, calls string) (coverage, outcome) {
		t.Helper()
		dir := t.TempDir()
		code := append(contracts.Token(), 0, 2, 1, section)
		file := filepath.Join(dir, "gold.wasm")
		if err := os.Mkdir(filepath.Join(dir, "testdata"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, code, 0o600); err != nil {
			t.Fatal(err)
		}
		if calls != "" {
			if err := os.WriteFile(filepath.Join(dir, "testdata", "calls.json"), []byte(calls), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		init := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
		o := d.run(t, "contract", "test", file, "--init", init, "--fuzz", "1ns",
			"--coverage", filepath.Join(dir, "coverage.info"), "--json")
		var result testedContract
		if o.exit == 0 {
			if err := json.Unmarshal(o.document(t).Result, &result); err != nil || result.Coverage == nil {
				t.Fatalf("%+v, %v", o, err)
			}
			return *result.Coverage, o
		}
		return coverage{}, o
	}
	without, _ := cover('a', "")
	with, _ := cover('b', `{"from":"alice","call":"transfer","args":{"to":"bob","amount":5}}`)
	if with.Blocks.Ran <= without.Blocks.Ran || with.Functions.Ran <= without.Functions.Ran {
		t.Errorf("without calls %+v, with %+v", without, with)
	}
	if _, o := cover('c', `{"from":"bob","call":"transfer","args":{"to":"alice","amount":5}}`); o.exit != 1 ||
		!strings.Contains(o.err+o.out, "had a different outcome") {
		t.Errorf("a call that fails: %+v", o)
	}
}

// TestCoverageOfLines counts a line that two blocks have once, and as one that ran if one of them did.
func TestCoverageOfLines(t *testing.T) {
	at := func(file string, line int) contractbuild.Position {
		return contractbuild.Position{File: file, Line: line}
	}
	functions := []coveredFunction{
		{"add", at("src/lib.rs", 3), []coveredBlock{
			{[]contractbuild.Position{at("src/lib.rs", 3), at("src/lib.rs", 4)}, true},
			{[]contractbuild.Position{at("src/lib.rs", 4), at("src/more.rs", 9)}, false},
		}, true},
		{"never", at("src/more.rs", 11), []coveredBlock{{[]contractbuild.Position{at("src/more.rs", 11)}, false}}, false},
	}
	sum, lines := summed(functions)
	if sum.Functions != (ran{1, 2}) || sum.Blocks != (ran{1, 3}) || sum.Lines != (ran{2, 4}) ||
		!slices.Equal(sum.Missed, []string{"src/more.rs: 9, 11"}) {
		t.Errorf("%+v", sum)
	}
	want := `TN:
SF:src/lib.rs
FN:3,add
FNDA:1,add
BRDA:3,0,0,1
BRDA:4,0,1,0
DA:3,1
DA:4,1
end_of_record
TN:
SF:src/more.rs
FN:11,never
FNDA:0,never
BRDA:11,1,0,0
DA:9,0
DA:11,0
end_of_record
`
	if got := string(lcov(functions, lines)); got != want {
		t.Errorf("%s", got)
	}
	if got := spans([]int{1, 3, 4, 5, 9, 10}); got != "1, 3–5, 9–10" {
		t.Errorf("%s", got)
	}
}

func TestDeclaresInvariants(t *testing.T) {
	source := contractsource.Source{
		Manifest: contractsource.Manifest{Language: contractsource.Rust, Package: "bank"},
		Files: map[string][]byte{
			"bank/src/lib.rs":  []byte("contract! { invariants { fn solvent() {} } }"),
			"cairn/src/lib.rs": []byte("nothing"),
		},
	}
	if !declaresInvariants(source) {
		t.Error("the package has invariants")
	}
	source.Files["bank/src/lib.rs"], source.Files["cairn/src/lib.rs"] = nil, source.Files["bank/src/lib.rs"]
	if declaresInvariants(source) {
		t.Error("only what it depends on has some")
	}
	source = contractsource.Source{
		Manifest: contractsource.Manifest{Language: contractsource.AssemblyScript},
		Files:    map[string][]byte{"assembly/index.ts": []byte("@invariant\nexport function solvent(): void {}")},
	}
	if !declaresInvariants(source) {
		t.Error("the script has invariants")
	}
}

func TestContractGas(t *testing.T) {
	d := newDesk(t, nil)
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	module := write("gold.wasm", string(contracts.Token()))
	const init = `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
	gas := func(flags ...string) outcome {
		return d.run(t, append([]string{"contract", "gas", module, "--init", init}, flags...)...)
	}
	if o := gas(); o.exit != 1 || !strings.Contains(o.err, "each line must be a call") {
		t.Errorf("without calls: %+v", o)
	}
	const calls = `{"from":"alice","call":"transfer","args":{"to":"bob","amount":5}}
{"name":"too much","from":"bob","call":"transfer","args":{"to":"alice","amount":6},"fails":true,"seconds":60}
`
	file := write("testdata/calls.json", calls)
	if o := gas("--check"); o.exit != 1 || !strings.Contains(o.err, "too much: new") {
		t.Errorf("without a snapshot: %+v", o)
	}
	if o := gas("--update"); o.exit != 0 || !strings.Contains(o.out, "transfer") {
		t.Errorf("update: %+v", o)
	}
	if o := gas("--check"); o.exit != 0 {
		t.Errorf("with its own snapshot: %+v", o)
	}
	write("testdata/calls.json", strings.Replace(calls, `"amount":5`, `"amount":0`, 1))
	if o := gas("--check"); o.exit != 1 || !strings.Contains(o.err, "transfer: ") {
		t.Errorf("of other calls: %+v", o)
	}
	for want, text := range map[string]string{
		"had a different outcome": strings.Replace(calls, `,"fails":true`, "", 1),
		"there is no account":     strings.Replace(calls, `"from":"bob"`, `"from":"eve"`, 1),
		"unknown field":           strings.Replace(calls, `"fails"`, `"fail"`, 1),
		`needs "from"`:            `{"call":"transfer"}`,
		`"from" is there`:         strings.Replace(calls, `{"from"`, `{"from":"bob","from"`, 1),
		"two calls":               calls + calls,
	} {
		write(filepath.Base(filepath.Dir(file))+"/calls.json", text)
		if o := gas(); o.exit != 1 || !strings.Contains(o.err, want) {
			t.Errorf("%s: %+v", want, o)
		}
	}
}

func TestFlagsAreGivenOnce(t *testing.T) {
	d := newDesk(t, nil)
	for _, line := range []string{
		"contract list --limit 3 --limit 4", "contract list --limit 3 --limit 3", "account alice --json --json",
		"send alice 1 --from dev0 --from dev1", "contract list --timeout 1s --timeout 1s",
	} {
		if o := d.run(t, strings.Fields(line)...); o.exit != 2 || !strings.Contains(o.err+o.out, "is given twice") {
			t.Errorf("%s: %+v", line, o)
		}
	}
	o := d.run(t, "contract", "test", "none.wasm", "--callback", "a", "--callback", "b")
	if strings.Contains(o.err, "twice") {
		t.Errorf("what gathers values: %+v", o)
	}
}

func TestStoppedText(t *testing.T) {
	source := []byte("fn half() {\n    let less = count / by;\n}")
	for line, want := range map[int]string{0: "", 1: "fn half() {", 2: "let less = count / by;", 3: "}", 4: ""} {
		if got := lineOf(source, line); got != want {
			t.Errorf("line %d: %q", line, got)
		}
	}
	got := stoppedText([]stoppedAt{{"src/lib.rs", 2, false, lineOf(source, 2)}, {"src/lib.rs", 9, true, "half()"}})
	if want := "\n  src/lib.rs:2  let less = count / by;\n  near src/lib.rs:9  half()"; got != want {
		t.Errorf("%q", got)
	}
}
