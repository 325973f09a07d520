package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contractbuild"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// setupLine is a line of testdata/setup.json: a contract deployed beside the one under test, or a call of such a
// contract.
type setupLine struct {
	Deploy   string          `json:"deploy"` // name of the contract
	Wasm     string          `json:"wasm"`   // its module, or its project directory; relative to the file's directory
	Call     string          `json:"call"`
	To       string          `json:"to"`
	From     string          `json:"from"`
	Args     json.RawMessage `json:"args"`
	Coins    uint64          `json:"coins"`    // in smallest units
	After    bool            `json:"after"`    // play it after deploying the contract under test
	Searched bool            `json:"searched"` // also search its functions
	module   []byte
}

const exampleSetup = `{"deploy":"gold","wasm":"nep20.wasm","from":"alice",` +
	`"args":{"name":"Gold","symbol":"GLD","decimals":2,"initialSupply":1000000}}`

// setup is the environment of a contract under test: the setup lines, and the names of accounts for arguments.
type setup struct {
	lines []setupLine
	names map[string]types.Account
	known map[string]*contracttest.Contract
}

// stranger is the name of the adversary contract.
const stranger = "stranger"

// readSetup reads the setup of the contract in a directory, with the modules that it names. A missing file is an empty
// setup.
func readSetup(ctx context.Context, dir string, o contractbuild.Options) (s setup, err error) {
	file := filepath.Join(dir, "testdata", "setup.json")
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	for {
		var line setupLine
		err := decoder.Decode(&line)
		if errors.Is(err, io.EOF) {
			return s, abi.NoMemberTwice(data)
		}
		if err == nil {
			err = line.check()
		}
		if err == nil && line.Deploy != "" {
			var given givenModule
			of := o
			given, err = readModule(ctx, filepath.Join(filepath.Dir(file), line.Wasm), &of)
			line.module = given.module
		}
		if err != nil {
			return s, fmt.Errorf("line %d of %s: %w; write it like %s", len(s.lines)+1, file, err, exampleSetup)
		}
		s.lines = append(s.lines, line)
	}
}

func (l setupLine) check() error {
	switch {
	case (l.Deploy == "") == (l.Call == ""):
		return errors.New(`it needs "deploy" or "call"`)
	case l.Deploy != "" && l.Wasm == "":
		return errors.New(`a deploy needs "wasm"`)
	case l.Call != "" && l.To == "":
		return errors.New(`a call needs "to"`)
	case l.From == "":
		return errors.New(`it needs "from"`)
	}
	return nil
}

// deployer deploys a contract under a name, and ends the test on failure.
type deployer func(
	from contracttest.Account, name string, code []byte, args any, options ...contracttest.Options,
) *contracttest.Contract

// begin resets the state of the setup for another chain.
func (s *setup) begin(names map[string]types.Account) {
	s.names, s.known = names, map[string]*contracttest.Contract{}
}

// add names a contract.
func (s *setup) add(name string, k *contracttest.Contract) {
	s.names[name], s.known[name] = k.Account(), k
}

// play plays the lines for before or after the deploy of the contract under test. It calls searched for each contract
// whose functions the search also calls.
func (s *setup) play(
	t testing.TB, chain *contracttest.Chain, after bool, deploy deployer, searched func(*contracttest.Contract),
) {
	t.Helper()
	for i, line := range s.lines {
		if line.After != after {
			continue
		}
		if err := s.playLine(chain, line, deploy, searched); err != nil {
			t.Fatal(fmt.Errorf("line %d of testdata/setup.json: %w", i+1, err))
		}
	}
}

func (s *setup) playLine(
	chain *contracttest.Chain, line setupLine, deploy deployer, searched func(*contracttest.Contract),
) error {
	from := chain.Account(line.From)
	if account, named := s.names[line.From]; !named || account != from.Account {
		return fmt.Errorf("there is no account %q to call from", line.From)
	}
	value := contracttest.Options{Value: types.Amount(line.Coins), Name: line.Deploy}
	if line.Deploy != "" {
		declared, err := abi.FromCode(line.module)
		if err != nil {
			return err
		}
		args, err := argumentsOf(declared, abi.InitFunction, string(line.Args), s.names)
		if err != nil {
			return err
		}
		k := deploy(from, line.Deploy, line.module, args, value)
		s.add(line.Deploy, k)
		if line.Searched {
			searched(k)
		}
		return nil
	}
	k, known := s.known[line.To]
	if !known {
		return fmt.Errorf("there is no contract %q to call", line.To)
	}
	args, err := sentArguments(k.ABI, line.Call, line.Args, s.names)
	if err != nil {
		return err
	}
	return k.Call(from, line.Call, args, value).Err()
}

// sentArguments encodes a call's arguments.
func sentArguments(declared abi.ABI, function string, text []byte, names map[string]types.Account) (any, error) {
	args, err := argumentsOf(declared, function, string(text), names)
	given, ok := args.(json.RawMessage)
	if !ok || err != nil {
		return args, err
	}
	f, _ := declared.Function(function)
	sent, err := declared.Arguments(f.Args, given)
	return json.RawMessage(sent), err
}
