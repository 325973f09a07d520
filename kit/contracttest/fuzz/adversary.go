package fuzz

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// runFunction is the adversary's function for calls by actors.
const runFunction = "run"

const (
	bodies       = 16 // functions in the adversary's module
	mostActCalls = 2  // calls generated for one of its functions
)

// adversary is a contract whose functions follow the script of a move.
type adversary struct {
	name      string
	abi       abi.ABI
	functions []abi.Function // in the module's order
}

// Adversary deploys a hostile contract. It implements the functions of interfaces, such as those that the targets call,
// at most 15 besides init. These return any value, revert, and call other contracts. Actors make it call contracts,
// with coins: it has [contracttest.Funds].
func (w *World) Adversary(name string, interfaces ...abi.ABI) types.Account {
	w.T.Helper()
	if w.adversary != nil {
		w.T.Fatal("there is an adversary")
	}
	a := &adversary{name: name, functions: []abi.Function{{Name: runFunction, Mode: abi.Write, Payable: true}}}
	for _, i := range interfaces {
		a.abi.Types = append(a.abi.Types, i.Types...)
		for _, f := range i.Functions {
			if f.Mode != abi.Init && !slices.ContainsFunc(a.functions, func(g abi.Function) bool { return g.Name == f.Name }) {
				a.functions = append(a.functions, f)
			}
		}
	}
	code, err := rename(contracts.Adversary(), a.functions)
	if err != nil {
		w.T.Fatal(err)
	}
	k := w.Chain.Deploy(w.Chain.Account("who deploys the adversary"), code, nil)
	w.Chain.Fund(k.Account(), contracttest.Funds)
	w.naming(name, k.Account())
	w.adversary = a
	return k.Account()
}

const exportSection = 7 // WebAssembly Core 1.0, 5.5.10

// rename gives the numbered exports of a module the names of functions, in order, and drops the remaining exports.
func rename(module []byte, functions []abi.Function) ([]byte, error) {
	if len(functions) > bodies {
		return nil, fmt.Errorf("an adversary has at most %d functions", bodies-1)
	}
	const header = 8
	out := bytes.Clone(module[:header])
	for rest := module[header:]; len(rest) > 0; {
		id := rest[0]
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			return nil, errors.New("the adversary's module is damaged")
		}
		content := rest[1+n:][:size]
		rest = rest[1+n+int(size):]
		if id == exportSection {
			content = renameExports(content, functions)
		}
		out = append(binary.AppendUvarint(append(out, id), uint64(len(content))), content...)
	}
	return out, nil
}

// renameExports renames the entries of an export section. The module is our own, so its encoding is valid.
func renameExports(section []byte, functions []abi.Function) []byte {
	count, n := binary.Uvarint(section)
	rest, kept, exports := section[n:], 0, []byte(nil)
	for range count {
		size, n := binary.Uvarint(rest)
		export := string(rest[n:][:size])
		rest = rest[n+int(size):]
		_, n = binary.Uvarint(rest[1:])
		kindAndIndex := rest[:1+n]
		rest = rest[1+n:]
		var number int
		if _, err := fmt.Sscanf(export, "f%02d", &number); err == nil {
			if number >= len(functions) {
				continue
			}
			export = functions[number].Name
		}
		kept++
		exports = append(binary.AppendUvarint(exports, uint64(len(export))), export...)
		exports = append(exports, kindAndIndex...)
	}
	return append(binary.AppendUvarint(nil, uint64(kept)), exports...)
}

// instruct sets the adversary's script for the next call.
func (a *adversary) instruct(p *play, script map[string]Act) error {
	id := types.ContractID(p.named.accounts[a.name])
	for i, f := range a.functions {
		var told []byte
		if act, ok := script[f.Name]; ok {
			var err error
			if told, err = a.encode(p.World, f, act); err != nil {
				return fmt.Errorf("%s.%s: %w", a.name, f.Name, err)
			}
		}
		p.stage.SetStorage(id, []byte{byte(i)}, told)
	}
	return nil
}

// encode encodes an act for the adversary's module: see contracts/rust/tests/adversary.
func (a *adversary) encode(w *World, f abi.Function, act Act) ([]byte, error) {
	out := []byte{act.Times, 0}
	if act.Reverts {
		out[1] = 1
	}
	var text, packed []byte
	if f.Returns != (abi.Type{}) && act.Returns != nil {
		var err error
		if text, err = w.appendJSON(nil, act.Returns); err != nil {
			return nil, err
		}
		object := slices.Concat([]byte(`{"result":`), text, []byte{'}'})
		if packed, err = a.abi.Binary([]abi.Parameter{{Name: "result", Type: f.Returns}}, object); err != nil {
			return nil, err
		}
	}
	out, err := appendSized(out, text)
	if err == nil {
		out, err = appendSized(out, packed)
	}
	for _, call := range act.Calls {
		if err != nil {
			return nil, err
		}
		var id types.ContractID
		var args []byte
		if id, args, err = w.call(call); err != nil {
			return nil, err
		}
		out = binary.LittleEndian.AppendUint64(append(out, id[:]...), call.Coins)
		out = append(append(out, byte(len(call.Call))), call.Call...)
		out, err = appendSized(out, args)
	}
	return out, err
}

func appendSized(out, b []byte) ([]byte, error) {
	if len(b) > math.MaxUint16 {
		return nil, fmt.Errorf("%w: %d bytes are too many for an adversary", abi.ErrArgument, len(b))
	}
	return append(binary.LittleEndian.AppendUint16(out, uint16(len(b))), b...), nil
}
