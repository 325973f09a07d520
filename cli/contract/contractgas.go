package contract

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// contractGas holds the flags and inputs of cairn contract gas.
type contractGas struct {
	givenModule
	build         contractbuild.Options // options of its build
	init, calls   string
	check, update bool
	tolerance     float64
	setup         setup
}

// gasCall is a line of the calls file.
type gasCall struct {
	Name    string          `json:"name"` // default: the name of the function
	From    string          `json:"from"`
	Call    string          `json:"call"`
	Args    json.RawMessage `json:"args"`
	Coins   uint64          `json:"coins"`   // in smallest units
	Fails   bool            `json:"fails"`   // the call must fail
	Seconds uint64          `json:"seconds"` // delay before the call
}

// measuredGas is the result of cairn contract gas.
type measuredGas struct {
	Calls []measuredCall `json:"calls"`
	File  string         `json:"file"`
	Diff  string         `json:"diff"` // empty if nothing differs
}

type measuredCall struct {
	Name string    `json:"name"`
	Gas  types.Gas `json:"gas"`
}

const exampleCall = `{"from":"alice","call":"add","args":{"amount":5}}`

func newContractGas(a *session.App) *cobra.Command {
	var o contractGas
	command := a.Define(&cobra.Command{
		Use:   "gas [DIR|FILE.wasm]",
		Short: "Measure the gas of a contract's calls, and compare it with recorded values",
		Long: `Measure the gas of a contract's calls: compile the contract in a directory, or take a
module, make the calls in its testdata/calls.json, and compare their gas with
testdata/gas.json, split into instructions, host functions and memory. The calls are
made one after another on a chain in memory, where alice deploys the contract. Each line
of testdata/calls.json is a call:

  ` + exampleCall + `

"name" distinguishes two calls of one function, "coins" are sent with the call, "fails"
means that it must fail, "seconds" pass before it. Accounts are alice, bob and carol,
contracts of testdata/setup.json by name, or hex. Exit code 1 if --check finds a
difference; --update writes the file.`,
		Example: "  cairn contract gas --update\n  cairn contract gas --check --tolerance 1\n" +
			"  cairn contract gas --init '{\"owner\":\"bob\"}'",
		Args: cobra.MaximumNArgs(1),
	}, nil, func(ctx context.Context, s *session.Session, command *cobra.Command, args []string) (err error) {
		source := "."
		if len(args) > 0 {
			source = args[0]
		}
		o.build.Log = command.ErrOrStderr()
		if o.givenModule, err = readModule(ctx, source, &o.build); err != nil {
			return err
		}
		if o.setup, err = readSetup(ctx, o.dir, o.build); err != nil {
			return err
		}
		measured, err := o.measure()
		if ended, ok := errors.AsType[*endedOtherwise](err); ok {
			return o.explain(ctx, s, ended)
		}
		if err != nil {
			return err
		}
		if o.check && measured.Diff != "" {
			differs := fmt.Errorf("gas differs from %s (--update writes it):\n%s", measured.File, measured.Diff)
			return output.WithData(differs, map[string]any{"calls": measured.Calls, "file": measured.File})
		}
		return s.Result(measured, measured.people)
	})
	set := command.Flags()
	set.BoolVar(&o.check, "check", false, "fail if gas differs from the file")
	set.BoolVar(&o.update, "update", false, "write the file")
	set.Float64Var(&o.tolerance, "tolerance", 0, "tolerated difference of a call, in percent")
	set.StringVar(&o.calls, "calls", "", "file of calls (default testdata/calls.json below the contract)")
	set.StringVar(&o.init, "init", "", "arguments of init as JSON")
	command.MarkFlagsMutuallyExclusive("check", "update")
	return command
}

// readCalls reads a calls file and rejects unknown members.
func readCalls(file string) (calls []gasCall, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("%w; each line must be a call, such as %s", err, exampleCall)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	for {
		var call gasCall
		err := decoder.Decode(&call)
		if errors.Is(err, io.EOF) && len(calls) > 0 {
			if err := abi.NoMemberTwice(data); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			return calls, nil
		}
		if err == nil && (call.From == "" || call.Call == "") {
			err = errors.New(`it needs "from" and "call"`)
		}
		if err != nil {
			return nil, fmt.Errorf("call %d of %s: %w", len(calls)+1, file, err)
		}
		call.Name = cmp.Or(call.Name, call.Call)
		calls = append(calls, call)
	}
}

func (g *contractGas) measure() (measured measuredGas, err error) {
	g.calls = cmp.Or(g.calls, filepath.Join(g.dir, "testdata", "calls.json"))
	calls, err := readCalls(g.calls)
	if err != nil {
		return measured, err
	}
	measured.File = filepath.Join(filepath.Dir(g.calls), "gas.json")
	file, err := contracttest.ReadGasFile(measured.File)
	if err != nil {
		return measured, err
	}
	ended := outside(func(string, ...any) {}, func(t testing.TB) { measured.Calls, err = g.make(t, calls, file) })
	if err = errors.Join(ended, err); err != nil {
		return measured, err
	}
	if g.update {
		return measured, file.Write()
	}
	measured.Diff = file.Diff(g.tolerance)
	return measured, nil
}

// make makes the calls and records their gas in file.
func (g *contractGas) make(
	t testing.TB, calls []gasCall, file *contracttest.GasFile,
) (measured []measuredCall, err error) {
	chain := contracttest.New(t)
	chain.Cover() // to locate failures
	accounts, actors := map[string]types.Account{}, map[string]contracttest.Account{}
	for _, name := range testActors {
		actors[name] = chain.Account(name)
		accounts[name] = actors[name].Account
	}
	g.setup.begin(accounts)
	g.setup.add(stranger, chain.Deploy(actors[testActors[0]], contracts.Adversary(), nil))
	deploy := func(
		from contracttest.Account, _ string, code []byte, args any, o ...contracttest.Options,
	) *contracttest.Contract {
		return chain.Deploy(from, code, args, o...)
	}
	notSearched := func(*contracttest.Contract) {}
	g.setup.play(t, chain, false, deploy, notSearched)
	declared, err := abi.FromCode(g.module)
	if err != nil {
		return nil, err
	}
	given, err := argumentsOf(declared, abi.InitFunction, g.init, accounts)
	if err != nil {
		return nil, err
	}
	k, deployed := chain.TryDeploy(actors[testActors[0]], g.module, given, contracttest.Options{Name: g.name})
	if err := deployed.Err(); err != nil {
		return nil, fmt.Errorf("init: %w", err)
	}
	g.setup.add(g.name, k)
	g.setup.play(t, chain, true, deploy, notSearched)
	for _, call := range calls {
		from, ok := actors[call.From]
		if !ok {
			return nil, fmt.Errorf("%s: there is no account %q to call from", call.Name, call.From)
		}
		args, err := sentArguments(declared, call.Call, call.Args, accounts)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", call.Name, err)
		}
		chain.Advance(time.Duration(call.Seconds) * time.Second)
		r := k.Call(from, call.Call, args, contracttest.Options{Value: types.Amount(call.Coins)})
		if r.OK == call.Fails {
			return nil, &endedOtherwise{call.Name, r}
		}
		if err := file.Take(call.Name, r); err != nil {
			return nil, err
		}
		measured = append(measured, measuredCall{call.Name, r.GasUsed})
	}
	return measured, nil
}

// endedOtherwise is the error for a call whose success or failure differs from the calls file.
type endedOtherwise struct {
	name   string
	result contracttest.Result
}

func (e *endedOtherwise) Error() string {
	return errors.Join(fmt.Errorf("%s had a different outcome than the file says", e.name), e.result.Err()).Error()
}

// explain returns the command's error, with the source lines at which the call stopped.
func (g *contractGas) explain(ctx context.Context, s *session.Session, ended *endedOtherwise) error {
	at, err := g.stopped(ctx, g.build, ended.result.Stops)
	if err != nil || len(at) == 0 {
		return errors.Join(ended, err)
	}
	if s.JSON() {
		return output.WithData(ended, map[string]any{"stoppedAt": at})
	}
	err = s.Result(at, func(t *output.Text) { t.Line("%s failed at%s", ended.name, stoppedText(at)) })
	return cmp.Or(err, error(ended))
}

func (m measuredGas) people(t *output.Text) {
	rows := make([][]any, len(m.Calls))
	for i, c := range m.Calls {
		rows[i] = []any{c.Name, c.Gas}
	}
	t.Table([]string{"Call", "Gas"}, rows)
	if m.Diff != "" {
		t.Line("\nDifferences from %s:\n%s", m.File, m.Diff)
	}
}
