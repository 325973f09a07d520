package fuzz

import (
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// View gives an invariant access to the world after a call.
type View struct {
	world *World
	stage *contracttest.Rehearsal
}

// broken is the panic value that ends an invariant which cannot be evaluated.
type broken struct{ error }

// check evaluates an invariant and returns its error. It undoes all changes of the invariant.
func (v *View) check(i invariant) (err error) {
	mark := v.stage.Mark()
	defer v.stage.Undo(mark)
	defer func() {
		if b := recover(); b != nil {
			end, ok := b.(broken)
			if !ok {
				panic(b)
			}
			err = end.error
		}
	}()
	return i.check(v)
}

// Try calls a function as an account. Later calls of the same invariant see its effects, which are undone at the end.
// args is encoded as JSON, or omitted if nil.
func (v *View) Try(
	from types.Account, k *contracttest.Contract, function string, args any, coins ...types.Amount,
) contracttest.Result {
	var value types.Amount
	for _, c := range coins {
		value += c
	}
	return v.stage.Call(from, k.ID, function, v.encode(args), value)
}

// View calls a function in view context.
func (v *View) View(k *contracttest.Contract, function string, args any) contracttest.Result {
	return v.stage.View(k.ID, function, v.encode(args))
}

func (v *View) encode(args any) []byte {
	if args == nil {
		return nil
	}
	text, err := json.Marshal(args)
	if err != nil {
		panic(broken{err})
	}
	return text
}

// Read calls a function in view context and decodes its output into a pointer. The invariant fails if either fails.
func (v *View) Read(k *contracttest.Contract, function string, args, into any) {
	r := v.View(k, function, args)
	err := r.Err()
	if err == nil {
		err = json.Unmarshal(r.Output, into)
	}
	if err != nil {
		panic(broken{fmt.Errorf("%s.%s: %w", k.Name, function, err)})
	}
}

// Uint returns the integer output of a function in view context. The invariant fails if the output is not an integer.
func (v *View) Uint(k *contracttest.Contract, function string, args any) uint64 {
	var n abi.Uint64
	v.Read(k, function, args, &n)
	return uint64(n)
}

// Balance returns an account's coins, in smallest units.
func (v *View) Balance(account types.Account) types.Amount { return v.stage.Balance(account) }

// Time returns the timestamp of the block, in Unix seconds.
func (v *View) Time() uint64 { return v.stage.Time() }

// Height returns the height of the block.
func (v *View) Height() types.Height { return v.stage.Height() }

// Storage returns the value of a key in a contract's storage, or nil.
func (v *View) Storage(k *contracttest.Contract, key []byte) []byte {
	return v.stage.Storage(k.ID, key)
}
