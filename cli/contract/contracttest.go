package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/cli/tracing"
	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/kit/contracttest/fuzz"
	"github.com/cairn-chain/cairn/types"
)

// testedContract is the result of cairn contract test.
type testedContract struct {
	Invariants []string                       `json:"invariants"`
	Calls      int                            `json:"calls"`
	Functions  map[string]*fuzz.FunctionCalls `json:"functions"`
	Coverage   *coverage                      `json:"coverage,omitempty"`
}

// contractTest holds the flags and inputs of cairn contract test.
type contractTest struct {
	givenModule
	build      contractbuild.Options // options of its build
	invariants []byte                // module with the invariants; nil if the source declares none
	init       string                // JSON arguments of init
	callbacks  []string
	config     fuzz.Config
	log        func(string, ...any)
	coverage   string // coverage file; empty for no coverage
	setup      setup
}

// testActors are the names of the accounts that call the contract.
var testActors = []string{"alice", "bob", "carol"}

func newContractTest(a *session.App) *cobra.Command {
	var o contractTest
	var noTests bool
	command := a.Define(&cobra.Command{
		Use:   "test [DIR|FILE.wasm]",
		Short: "Run a contract's tests, and fuzz it for calls that break its invariants",
		Long: `Run the tests of the project in a directory, with the toolchain that compiles contracts,
regardless of the first cargo in PATH. Then compile the contract, or take a module, and
fuzz it: search for sequences of calls that break an invariant declared in the source
(docs/contracts.md, "Fuzzing"), and for calls that trap, panic or run out of gas,
including nested calls. alice deploys the contract; the callers are alice, bob, carol
and stranger, a malicious contract that answers to the functions named with --callback.
Other contracts that it needs are in testdata/setup.json, one per line:

  ` + exampleSetup + `

A line with "call" and "to" is a call. "after" runs a line after the deployment;
"searched" makes the fuzzer call that contract too.

A failing sequence is shrunk to few calls and saved in testdata/fuzz below the
directory; every later run replays it first. The same seed makes the same calls. Exit
code 1 if there is a failure.`,
		Example: "  cairn contract test\n  cairn contract test --fuzz 60s --seed 7\n" +
			"  cairn contract test --init '{\"owner\":\"bob\"}' --callback received --callback quote:u64",
		Args: cobra.MaximumNArgs(1),
	}, nil, func(ctx context.Context, s *session.Session, command *cobra.Command, args []string) error {
		source := "."
		if len(args) > 0 {
			source = args[0]
		}
		if !noTests && !strings.HasSuffix(source, ".wasm") {
			if err := contractbuild.RunTests(ctx, source, command.ErrOrStderr()); err != nil {
				return fmt.Errorf("the project's tests failed: %w", err)
			}
		}
		if err := o.take(ctx, source, contractbuild.Options{Log: command.ErrOrStderr()}); err != nil {
			return err
		}
		o.log = s.Note
		if o.invariants == nil {
			s.Note("the contract declares no invariants (docs/contracts.md, \"Fuzzing\"): fuzzing finds only calls " +
				"that trap, panic or run out of gas")
		}
		var err error
		if o.setup, err = readSetup(ctx, o.dir, o.build); err != nil {
			return err
		}
		tested, failures, err := o.search()
		if err != nil {
			return err
		}
		if err := o.cover(ctx, &tested); err != nil {
			return err
		}
		if len(failures) == 0 {
			return s.Result(tested, tested.people)
		}
		return o.report(ctx, s, tested, failures)
	})
	set := command.Flags()
	set.BoolVar(&noTests, "no-tests", false, "skip the project's own tests")
	set.DurationVar(&o.config.Time, "fuzz", 0, "how long to fuzz (default 20,000 calls)")
	set.Uint64Var(&o.config.Seed, "seed", 1, "seed of the random calls")
	set.IntVar(&o.config.Depth, "depth", fuzz.DefaultDepth, "maximum number of calls in a sequence")
	set.StringVar(&o.init, "init", "", "arguments of init as JSON; accounts by name: the callers, stranger, or "+
		"contracts of the setup")
	set.StringVar(&o.coverage, "coverage", "",
		"write coverage of functions, branches and lines to `FILE` in lcov format, and print a summary")
	set.StringArrayVar(&o.callbacks, "callback", nil,
		"function that the contract calls on other contracts, as NAME, or as NAME:TYPE with its result type")
	return command
}

// foundFailure is a failure with the source lines at which its last call failed.
type foundFailure struct {
	Says          string              `json:"says"`
	Moves         []fuzz.Move         `json:"moves"`
	File          string              `json:"file"`
	StoppedAt     []tracing.StoppedAt `json:"stoppedAt"`
	*fuzz.Failure `json:"-"`
	stopped       bool // whether the last call, or one within it, failed
}

// report reports the failures, and returns the command's error.
func (c *contractTest) report(
	ctx context.Context, s *session.Session, tested testedContract, failures []*fuzz.Failure,
) error {
	found := make([]foundFailure, len(failures))
	broken := fmt.Errorf("the invariant %q does not hold: %w", failures[0].Invariant, failures[0].Err)
	if len(failures) > 1 {
		broken = fmt.Errorf("found %d failures, the first: %w", len(failures), broken)
	}
	for i, failure := range failures {
		found[i] = foundFailure{Says: failure.Err.Error(), Moves: failure.Moves, File: failure.File, Failure: failure}
	}
	for i, failure := range failures {
		var last contracttest.Result
		err := outside(c.log, func(t testing.TB) { last = failure.Again(t, func(w *fuzz.World) { c.setUp(w) }) })
		if found[i].stopped = len(last.Stops) > 0; err == nil {
			found[i].StoppedAt, err = c.stopped(ctx, c.build, last.Stops)
		}
		if err != nil {
			return errors.Join(broken, err)
		}
	}
	if s.JSON() {
		first := found[0]
		return output.WithData(broken, map[string]any{
			"moves": first.Moves, "file": first.File, "stoppedAt": first.StoppedAt, "failures": found,
		})
	}
	err := s.Result(tested, func(t *output.Text) {
		for _, f := range found {
			if len(found) > 1 {
				t.Line("%s", f.Says)
			}
			printFailure(t, f.Failure)
			switch {
			case len(f.StoppedAt) > 0:
				t.Line("The last call failed at%s", stoppedText(f.StoppedAt))
			case c.source != nil && f.stopped:
				t.Line("The last call failed in the SDK or in compiler-generated code: no line of the contract is " +
					"known.")
			}
			t.Line("")
		}
	})
	return cmp.Or(err, broken)
}

// take reads the module under test, building it if necessary.
func (c *contractTest) take(ctx context.Context, from string, o contractbuild.Options) (err error) {
	if c.givenModule, err = readModule(ctx, from, &o); err != nil {
		return err
	}
	c.build = o
	c.config.Corpus = filepath.Join(c.dir, "testdata", "fuzz", c.name)
	if c.source == nil || !declaresInvariants(*c.source) {
		return nil
	}
	o.Invariants = true
	built, err := contractbuild.Build(ctx, *c.source, o)
	if err != nil {
		return err
	}
	c.invariants = built.Module
	return nil
}

// givenModule is a module given to a command, or built by it.
type givenModule struct {
	name, dir string // dir is the directory for files kept about it
	module    []byte
	source    *contractsource.Source // nil for a module given as a file
}

// readModule reads FILE.wasm, or builds the contract in a directory.
func readModule(ctx context.Context, from string, o *contractbuild.Options) (taken givenModule, err error) {
	if strings.HasSuffix(from, ".wasm") {
		taken.name, taken.dir = strings.TrimSuffix(filepath.Base(from), ".wasm"), filepath.Dir(from)
		taken.module, err = os.ReadFile(from)
		return taken, err
	}
	source, err := contractbuild.Collect(ctx, from)
	if err != nil {
		return taken, err
	}
	if err := contractbuild.CheckStorage(source); err != nil {
		return taken, err
	}
	if o.From, err = filepath.Abs(from); err != nil {
		return taken, err
	}
	built, err := contractbuild.Build(ctx, source, *o)
	return givenModule{source.Manifest.Name, from, built.Module, &source}, err
}

// declaresInvariants reports whether the package may declare invariants. It avoids another, lengthy build if not.
func declaresInvariants(s contractsource.Source) bool {
	for file, content := range s.Files {
		own := strings.HasPrefix(strings.TrimPrefix(file, s.Manifest.Package), "/src/") || strings.HasPrefix(file, "src/")
		rust := s.Manifest.Language == contractsource.Rust && own && bytes.Contains(content, []byte("invariants {"))
		script := s.Manifest.Language == contractsource.AssemblyScript && bytes.Contains(content, []byte("@invariant"))
		if rust || script {
			return true
		}
	}
	return false
}

// search runs the fuzzer. It returns an error if the contract, its arguments or the corpus is invalid.
func (c *contractTest) search() (tested testedContract, failures []*fuzz.Failure, err error) {
	c.config.FailOnTrap = true
	err = outside(c.log, func(t testing.TB) {
		report, found := fuzz.SearchAll(t, c.config, func(w *fuzz.World) { tested.Invariants = c.setUp(w) })
		tested.Calls, tested.Functions, failures = report.Calls, report.Functions, found
	})
	return tested, failures, err
}

// setUp sets up the world and returns the names of the invariants.
func (c *contractTest) setUp(w *fuzz.World) []string {
	accounts := map[string]types.Account{}
	for _, name := range testActors {
		accounts[name] = w.Actor(name).Account
	}
	declared, err := abi.FromCode(c.module)
	if err != nil {
		w.T.Fatal(err)
	}
	if init, ok := declared.Function(abi.InitFunction); ok && len(init.Args) > 0 && c.init == "" {
		w.T.Fatalf("the contract's init is %s: give its arguments with --init, accounts as %s; block 0 has the time "+
			"%d", init,
			strings.Join(testActors, ", "), contracttest.GenesisTime)
	}
	if c.coverage != "" {
		w.Chain.Cover()
	}
	accounts[stranger] = w.Adversary(stranger, c.adversary(w.T))
	c.setup.begin(accounts)
	target := func(k *contracttest.Contract) { w.Target(k) }
	c.setup.play(w.T, w.Chain, false, w.Deploy, target)
	given, err := argumentsOf(declared, abi.InitFunction, c.init, accounts)
	if err != nil {
		w.T.Fatal(err)
	}
	k := w.Deploy(w.Chain.Account(testActors[0]), c.name, c.module, given)
	w.Target(k)
	c.setup.add(c.name, k)
	c.setup.play(w.T, w.Chain, true, w.Deploy, target)
	if c.invariants == nil {
		return []string{}
	}
	return w.InvariantsOf(k, c.invariants)
}

// argumentsOf converts JSON with account names to a function's arguments; nil means no arguments.
func argumentsOf(declared abi.ABI, function, text string, accounts map[string]types.Account) (any, error) {
	f, ok := declared.Function(function)
	if !ok || text == "" {
		return nil, nil
	}
	encoded, err := declared.EncodeJSON(f.Args, []byte(text), func(text string) (types.Account, error) {
		if account, ok := accounts[text]; ok {
			return account, nil
		}
		return abi.Hex(text)
	})
	return json.RawMessage(encoded), err
}

// adversary returns the interface of the callbacks.
func (c *contractTest) adversary(t testing.TB) (a abi.ABI) {
	for _, callback := range c.callbacks {
		f := abi.Function{Mode: abi.Write}
		name, returns, typed := strings.Cut(callback, ":")
		if f.Name = name; typed {
			var err error
			if f.Returns, err = abi.ParseType(returns); err != nil {
				t.Fatal(err)
			}
		}
		a.Functions = append(a.Functions, f)
	}
	return a
}

func printFailure(t *output.Text, failure *fuzz.Failure) {
	for _, line := range failure.Lines() {
		t.Line("%s", line)
	}
	t.Line("\nCalls until the failure: %d", failure.Calls)
	if failure.File != "" {
		t.Line("Saved in %s", failure.File)
	}
}

func (c testedContract) people(t *output.Text) {
	t.Line("%s", fuzz.Report{Calls: c.Calls, Functions: c.Functions})
	if c.Coverage != nil {
		c.Coverage.people(t)
	}
	if len(c.Invariants) == 0 {
		t.Line("\nNo call trapped, panicked or ran out of gas.")
		return
	}
	t.Line("\nNo call trapped, panicked or ran out of gas, and these invariants held: %s", strings.Join(c.Invariants, ", "))
}

// outsideTest is a testing.TB for use outside tests. Ending the test panics with a [testEnd].
type outsideTest struct {
	testing.TB // nil: only the methods below are called
	log        func(string, ...any)
}

type testEnd struct{ error }

// outside calls run with a testing.TB, and returns the error with which run ended the test.
func outside(log func(string, ...any), run func(testing.TB)) (err error) {
	defer func() {
		if e := recover(); e != nil {
			end, ok := e.(testEnd)
			if !ok {
				panic(e)
			}
			err = end.error
		}
	}()
	run(&outsideTest{log: log})
	return nil
}

func (*outsideTest) Helper() {}

func (*outsideTest) Fatal(args ...any) { panic(testEnd{errors.New(fmt.Sprint(args...))}) }

func (*outsideTest) Fatalf(format string, args ...any) { panic(testEnd{fmt.Errorf(format, args...)}) }

func (t *outsideTest) Logf(format string, args ...any) { t.log(format, args...) }
