package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/contracts"
)

func TestContractTest(t *testing.T) {
	d := newDesk(t, nil)
	file := filepath.Join(t.TempDir(), "gold.wasm")
	if err := os.WriteFile(file, contracts.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	init := `{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`
	tested := d.run(t, "contract", "test", file, "--init", init, "--callback", "received:u64", "--json")
	var result printedTest
	if err := json.Unmarshal(tested.document(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	if transfer := result.Functions["gold.transfer"]; tested.exit != 0 || result.Calls < 20_000 ||
		transfer == nil || transfer.Succeeded == 0 || !strings.Contains(tested.err, "the contract declares no invariants") {
		t.Errorf("got %+v", tested)
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

// TestSetup: search, coverage and gas use the contracts and calls of testdata/setup.json, and arguments may be named
// there and by the adversary.
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
	var found printedTest
	if err := json.Unmarshal(tested.document(t).Result, &found); err != nil || tested.exit != 0 {
		t.Fatalf("got %+v, error %v, want exit code 0", tested, err)
	}
	if found.Functions["silver.transfer"] == nil || found.Functions["gold.transfer"] == nil {
		t.Errorf("got %+v, want calls of both contracts", found.Functions)
	}
	if o := d.run(t, "contract", "gas", gold, "--init", init, "--update"); o.exit != 0 {
		t.Errorf("gas: got %+v, want exit code 0", o)
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

// TestCoverageOfAModule has a module without sources: functions and blocks are counted, but no lines.
func TestCoverageOfAModule(t *testing.T) {
	d := newDesk(t, nil)
	dir := t.TempDir()
	file, to := filepath.Join(dir, "gold.wasm"), filepath.Join(dir, "coverage.info")
	if err := os.WriteFile(file, contracts.Token(), 0o600); err != nil {
		t.Fatal(err)
	}
	tested := d.run(t, "contract", "test", file, "--init",
		`{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000}`, "--coverage", to, "--json")
	var result printedTest
	if err := json.Unmarshal(tested.document(t).Result, &result); err != nil {
		t.Fatal(err)
	}
	c := result.Coverage
	if c == nil || c.Functions.Ran == 0 || c.Blocks.Ran <= c.Functions.Ran || c.Blocks.Ran >= c.Blocks.Of ||
		c.Lines.Of != 0 {
		t.Errorf("got %+v", c)
	}
	if _, err := os.Stat(to); err != nil {
		t.Error(err)
	}
}

// TestCoverageOfCalls makes only the calls of the project's file. The codes differ in a custom section, because
// coverage is counted by code.
func TestCoverageOfCalls(t *testing.T) {
	d := newDesk(t, nil)
	cover := func(section byte, calls string) (printedCoverage, outcome) {
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
		var result printedTest
		if o.exit == 0 {
			if err := json.Unmarshal(o.document(t).Result, &result); err != nil || result.Coverage == nil {
				t.Fatalf("got %+v, error %v", o, err)
			}
			return *result.Coverage, o
		}
		return printedCoverage{}, o
	}
	without, _ := cover('a', "")
	with, _ := cover('b', `{"from":"alice","call":"transfer","args":{"to":"bob","amount":5}}`)
	if with.Blocks.Ran <= without.Blocks.Ran || with.Functions.Ran <= without.Functions.Ran {
		t.Errorf("without calls %+v, with %+v", without, with)
	}
	if _, o := cover('c', `{"from":"bob","call":"transfer","args":{"to":"alice","amount":5}}`); o.exit != 1 ||
		!strings.Contains(o.err+o.out, "had a different outcome") {
		t.Errorf("a call that fails: got %+v", o)
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
		t.Errorf("without calls: got %+v, want exit code 1 and %q", o, "each line must be a call")
	}
	const calls = `{"from":"alice","call":"transfer","args":{"to":"bob","amount":5}}
{"name":"too much","from":"bob","call":"transfer","args":{"to":"alice","amount":6},"fails":true,"seconds":60}
`
	file := write("testdata/calls.json", calls)
	if o := gas("--check"); o.exit != 1 || !strings.Contains(o.err, "too much: new") {
		t.Errorf("without a snapshot: got %+v, want exit code 1 and %q", o, "too much: new")
	}
	if o := gas("--update"); o.exit != 0 || !strings.Contains(o.out, "transfer") {
		t.Errorf("update: got %+v, want exit code 0 and %q", o, "transfer")
	}
	if o := gas("--check"); o.exit != 0 {
		t.Errorf("with its own snapshot: got %+v, want exit code 0", o)
	}
	write("testdata/calls.json", strings.Replace(calls, `"amount":5`, `"amount":0`, 1))
	if o := gas("--check"); o.exit != 1 || !strings.Contains(o.err, "transfer: ") {
		t.Errorf("of other calls: got %+v, want exit code 1 and %q", o, "transfer: ")
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
			t.Errorf("%s: got %+v, want exit code 1 and %q", want, o, want)
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
			t.Errorf("%s: got %+v, want exit code 2 and %q", line, o, "is given twice")
		}
	}
	o := d.run(t, "contract", "test", "none.wasm", "--callback", "a", "--callback", "b")
	if strings.Contains(o.err, "twice") {
		t.Errorf("what gathers values: got %+v, want no %q", o, "twice")
	}
}
