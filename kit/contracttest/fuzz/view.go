package fuzz

import (
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/contracttest"
	"github.com/cairn-chain/cairn/types"
)

// View is what an invariant sees: the world after a call.
type View struct {
	world *World
	stage *contracttest.Rehearsal
}

// broken ends an invariant that cannot be checked.
type broken struct{ error }

// check is why an invariant does not hold, nil if it does. What it tries is undone.
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

// Try calls a function as an account. The calls of an invariant come one after the other, and are undone at its end.
// args are what they encode to as JSON, nothing where they are nil.
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

// Read decodes what a function returns in view context into a pointer. Where that fails, so does the invariant.
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

// Uint is the integer that a function returns in view context. Where it returns none, the invariant fails.
func (v *View) Uint(k *contracttest.Contract, function string, args any) uint64 {
	var n abi.Uint64
	v.Read(k, function, args, &n)
	return uint64(n)
}

// Balance is an account's coins, in smallest units.
func (v *View) Balance(account types.Account) types.Amount { return v.stage.Balance(account) }

// Time is the timestamp of the block, in Unix seconds.
func (v *View) Time() uint64 { return v.stage.Time() }

// Height is the height of the block.
func (v *View) Height() types.Height { return v.stage.Height() }

// Storage is the value under a key of a contract's storage, nil where there is none.
func (v *View) Storage(k *contracttest.Contract, key []byte) []byte {
	return v.stage.Storage(k.ID, key)
}
