package fuzz

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// World holds what a setup creates: a chain, contracts and accounts with unique names, the functions to call, and the
// invariants. T is the test.
type World struct {
	T     testing.TB
	Chain *contracttest.Chain // changes made by the setup precede each sequence

	actors     []string // accounts that make calls
	named      directory
	contracts  map[string]*contracttest.Contract
	targets    []target
	choices    map[parameter][]any
	adversary  *adversary // nil if there is none
	invariants []invariant
	writes     []target // writing functions of all contracts, collected on demand
	failOnTrap bool
	spent      types.Gas // gas used by all calls
	given      [][]byte  // arguments of deploys, as JSON
	i32, i64   []uint64  // constants in the deployed codes
}

// directory maps the names of a world to accounts, one to one.
type directory struct {
	accounts map[string]types.Account
	names    map[types.Account]string
	order    []string // all names, in order of addition
}

// add adds an account and reports whether its name was free.
func (d *directory) add(name string, account types.Account) bool {
	if _, taken := d.accounts[name]; taken {
		return false
	}
	d.accounts[name], d.names[account] = account, name
	d.order = append(d.order, name)
	return true
}

// target is a function to call.
type target struct {
	contract string
	function abi.Function
}

type parameter struct{ contract, function, name string }

type invariant struct {
	name  string
	check func(*View) error
}

func newWorld(t testing.TB, setup func(*World)) *World {
	t.Helper()
	w := &World{
		T:         t,
		Chain:     contracttest.New(t),
		named:     directory{accounts: map[string]types.Account{}, names: map[types.Account]string{}},
		contracts: map[string]*contracttest.Contract{},
		choices:   map[parameter][]any{},
	}
	setup(w)
	if len(w.actors) == 0 || len(w.targets) == 0 {
		t.Fatal("a setup needs an actor and a target")
	}
	return w
}

// Actor returns an account that calls the targets. It starts with [contracttest.Funds].
func (w *World) Actor(name string) contracttest.Account {
	w.T.Helper()
	a := w.Chain.Account(name)
	w.naming(name, a.Account)
	w.actors = append(w.actors, name)
	return a
}

// naming gives an account the name by which sequences refer to it.
func (w *World) naming(name string, account types.Account) {
	w.T.Helper()
	if name == "" || !w.named.add(name, account) {
		w.T.Fatalf("the name %q is taken, or none", name)
	}
}

// Deploy deploys a contract under a name: see [contracttest.Chain.Deploy].
func (w *World) Deploy(
	from contracttest.Account, name string, code []byte, args any, options ...contracttest.Options,
) *contracttest.Contract {
	w.T.Helper()
	o := contracttest.Options{}
	if len(options) > 0 {
		o = options[0]
	}
	o.Name = name
	k := w.Chain.Deploy(from, code, args, o)
	if given, err := json.Marshal(args); err == nil { // arguments that are not JSON have no numbers to learn
		w.given = append(w.given, given)
	}
	constants, err := contracttest.ConstantsOf(code)
	if err != nil {
		w.T.Fatal(err)
	}
	w.i32, w.i64 = append(w.i32, constants.I32...), append(w.i64, constants.I64...)
	w.naming(name, k.Account())
	w.contracts[name] = k
	return k
}

// Target adds functions of a contract to the targets: those named, or all that are not read functions. A function added
// twice is called twice as often.
func (w *World) Target(k *contracttest.Contract, functions ...string) {
	w.T.Helper()
	name := w.nameOf(k)
	for _, f := range k.ABI.Functions {
		if len(functions) == 0 && f.Mode == abi.Write {
			w.targets = append(w.targets, target{name, f})
		}
	}
	for _, function := range functions {
		f, ok := k.ABI.Function(function)
		if !ok || f.Mode == abi.Init {
			w.T.Fatalf("%s has no function %s to call", name, function)
		}
		w.targets = append(w.targets, target{name, f})
	}
}

// Choose restricts a parameter of a function to these values, encoded as JSON.
func (w *World) Choose(k *contracttest.Contract, function, name string, values ...any) {
	w.T.Helper()
	f, _ := k.ABI.Function(function)
	i := slices.IndexFunc(f.Args, func(p abi.Parameter) bool { return p.Name == name })
	if i < 0 || len(values) == 0 {
		w.T.Fatalf("%s has no %s.%s, or there is nothing to choose from", k.Name, function, name)
	}
	lifter := lifter{k.ABI, w}
	for _, value := range values {
		lifted, err := lifter.lift(f.Args[i].Type, value)
		if err != nil {
			w.T.Fatal(err)
		}
		key := parameter{w.nameOf(k), function, name}
		w.choices[key] = append(w.choices[key], lifted)
	}
}

// Invariant adds a condition that must hold after the setup and after each successful call.
func (w *World) Invariant(name string, check func(*View) error) {
	w.invariants = append(w.invariants, invariant{name, check})
}

// InvariantsOf adds the invariants declared in a contract's source, and returns their names. module is the contract
// built with invariants: they are its functions that the deployed contract lacks. They run on the contract's storage,
// and a revert is a violation. It ends the test if the module's ABI cannot be read.
func (w *World) InvariantsOf(k *contracttest.Contract, module []byte) (names []string) {
	w.T.Helper()
	with, err := abi.FromCode(module)
	if err != nil {
		w.T.Fatal(err)
	}
	code := w.Chain.AddCode(module)
	for _, f := range with.Functions {
		if _, deployed := k.ABI.Function(f.Name); deployed || f.Mode != abi.Read || len(f.Args) > 0 {
			continue
		}
		names = append(names, f.Name)
		w.Invariant(f.Name, func(v *View) error {
			r := v.stage.ViewWith(code, k.ID, f.Name, nil)
			if r.Reason == "reverted" {
				return errors.New(with.Revert(r.Output).String())
			}
			return r.Err()
		})
	}
	return names
}

func (w *World) nameOf(k *contracttest.Contract) string {
	w.T.Helper()
	name, ok := w.named.names[k.Account()]
	if !ok {
		w.T.Fatalf("the contract %s was not deployed by World.Deploy", k.ID)
	}
	return name
}

// resolve returns the account of a name, or of a hex form.
func (w *World) resolve(text string) (types.Account, error) {
	if a, ok := w.named.accounts[text]; ok {
		return a, nil
	}
	return abi.Hex(text)
}
