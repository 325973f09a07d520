package nep20

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// finest is the inverse of the smallest fee rate that the amounts reveal: a smaller fee may round to zero.
const finest = 10_000

// moved makes a call that must move an amount. It checks the balances of both sides before it checks the event, so that
// the message states the amount that a token kept.
func (c *checker) moved(by, from, to types.Account, function string, args object, amount uint64) error {
	before, err := c.balancesOf(from, to)
	if err != nil {
		return err
	}
	outcome, encoded, err := c.Send(by, function, args)
	if err != nil {
		return err
	}
	if !outcome.OK {
		return conformance.Breaks("%s%s failed: %s", function, encoded, outcome.Why())
	}
	after, err := c.balancesOf(from, to)
	if err != nil {
		return err
	}
	if gave := after[1] - before[1]; gave != amount {
		return conformance.Breaks("a %s of %d gave %d", function, amount, int64(gave))
	}
	if took := before[0] - after[0]; took != amount {
		return conformance.Breaks("a %s of %d took %d", function, amount, int64(took))
	}
	return c.did(function, encoded, outcome, transferred(from, to, amount))
}

func (c *checker) balancesOf(accounts ...types.Account) (found []uint64, err error) {
	found = make([]uint64, len(accounts))
	for i, account := range accounts {
		if found[i], err = c.balance(account); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (c *checker) gives(from, to types.Account, amount uint64) error {
	return c.moved(from, from, to, "transfer", object{"to": to, "amount": abi.Uint64(amount)}, amount)
}

// takes makes a transferFrom by the recipient, with an allowance of exactly the amount.
func (c *checker) takes(from, to types.Account, amount uint64) error {
	if err := c.approveOf(from, to, amount); err != nil {
		return err
	}
	args := object{"from": from, "to": to, "amount": abi.Uint64(amount)}
	if err := c.moved(to, from, to, "transferFrom", args, amount); err != nil {
		return err
	}
	return c.allows(from, to, 0)
}

// lent runs a test while A has half of the holder's balance, and then returns A's balance.
func (c *checker) lent(test func(half uint64) error) error {
	held, err := c.balance(c.Holder)
	if err != nil {
		return err
	}
	half := held / 2
	if err := c.gives(c.Holder, c.A, half); err != nil {
		return err
	}
	if err := test(half); err != nil {
		return err
	}
	left, err := c.balance(c.A)
	if err != nil || left == 0 {
		return err
	}
	return c.gives(c.A, c.Holder, left)
}

// inSizes moves one unit, a part and the rest from A to B, and then everything back at once.
func (c *checker) inSizes(move func(from, to types.Account, amount uint64) error) error {
	return c.moves(nothing, func() error {
		return c.lent(func(half uint64) error {
			part := (half - 1) / 3
			for _, amount := range []uint64{1, part, half - 1 - part} {
				if err := move(c.A, c.B, amount); err != nil {
					return err
				}
			}
			return move(c.B, c.A, half)
		})
	})
}

func (c *checker) sizes() error {
	held, err := c.balance(c.Holder)
	if err != nil {
		return err
	}
	if err := c.inSizes(c.gives); err != nil {
		return err
	}
	// Make small transfers in a row: some tokens treat only the first few correctly.
	err = c.lent(func(uint64) error {
		for range 6 {
			if err := c.gives(c.A, c.B, 3); err != nil {
				return err
			}
			if err := c.gives(c.B, c.A, 3); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && held/2 < finest {
		err = conformance.Limited("a fee under 1/%d is not seen: the holder has %d units only", held/2, held)
	}
	return err
}

func (c *checker) sizesFrom() error { return c.inSizes(c.takes) }

func (c *checker) everything() error {
	if !c.Chain.TakesBack() {
		return conformance.NotTested("it moves all that the holder has: check a development chain")
	}
	held, err := c.balance(c.Holder)
	if err != nil {
		return err
	}
	if err := c.gives(c.Holder, c.A, held); err != nil {
		return err
	}
	return c.gives(c.A, c.B, held)
}

// contracts sends tokens to a contract, which keeps them.
func (c *checker) contracts() error {
	receiver, err := c.Chain.Deploy(c.Ctx, c.Holder, contracts.Receiver())
	if err != nil {
		return err
	}
	return c.lent(func(half uint64) error {
		for _, amount := range []uint64{1, half / 2} {
			if err := c.gives(c.A, types.Account(receiver), amount); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *checker) callsNobody() error {
	to := []types.Account{c.B}
	if c.Chain.TakesBack() {
		receiver, err := c.Chain.Deploy(c.Ctx, c.Holder, contracts.Receiver())
		if err != nil {
			return err
		}
		to = append(to, types.Account(receiver))
	}
	type call struct {
		from     types.Account
		function string
		args     object
	}
	return c.lent(func(uint64) error {
		var calls []call
		for _, account := range to {
			calls = append(calls,
				call{c.A, "transfer", object{"to": account, "amount": 2}},
				call{c.A, "approve", object{"spender": account, "amount": 0}})
		}
		calls = append(calls, call{c.A, "approve", object{"spender": c.B, "amount": 2}},
			call{c.B, "transferFrom", object{"from": c.A, "to": to[len(to)-1], "amount": 2}})
		if len(to) == 1 {
			calls = append(calls, call{c.B, "transfer", object{"to": c.A, "amount": 4}})
		}
		for _, made := range calls {
			outcome, encoded, err := c.Send(made.from, made.function, made.args)
			if err != nil {
				return err
			}
			if !outcome.OK {
				return conformance.Breaks("%s%s failed: %s", made.function, encoded, outcome.Why())
			}
			called, err := c.Chain.Called(c.Ctx)
			if err != nil {
				return err
			}
			if called {
				return conformance.Breaks("%s%s calls another contract, which can then do anything", made.function, encoded)
			}
		}
		return nil
	})
}

func (c *checker) time() error {
	if !c.Chain.TakesBack() {
		return conformance.NotTested("it lets ten years pass: check a development chain")
	}
	decimals, err := conformance.View[uint32](c.Calls, "decimals", nil)
	if err != nil {
		return err
	}
	return c.lent(func(half uint64) error {
		for _, wait := range []time.Duration{24 * time.Hour, 10 * 365 * 24 * time.Hour} {
			err := c.moves(nothing, func() error {
				if err := c.Chain.Pass(c.Ctx, wait); err != nil {
					return err
				}
				if err := c.gives(c.A, c.B, half); err != nil {
					return err
				}
				return c.gives(c.B, c.A, half)
			})
			if err != nil {
				return err
			}
			if later, err := conformance.View[uint32](c.Calls, "decimals", nil); err != nil || later != decimals {
				return cmp.Or(err, conformance.Breaks("decimals are %d, and were %d", later, decimals))
			}
		}
		return nil
	})
}

// otherFunctions calls nonstandard functions, as the holder and as a stranger, and checks that A's tokens are
// unaffected and can be moved.
func (c *checker) otherFunctions() error {
	if !c.Chain.TakesBack() {
		return conformance.NotTested("it calls every function of the token: check a development chain")
	}
	if c.ABI == nil {
		return conformance.NotTested("the token has no ABI that says which there are")
	}
	var left []string
	err := c.lent(func(half uint64) error {
		if err := c.gives(c.A, c.B, half/2); err != nil {
			return err
		}
		for _, f := range c.ABI.Functions {
			if f.Mode != abi.Write || slices.Contains([]string{"transfer", "transferFrom", "approve"}, f.Name) {
				continue
			}
			tries, ok := c.argumentsOf(f)
			if !ok {
				left = append(left, f.Name)
			}
			for _, args := range tries {
				for _, by := range []types.Account{c.Holder, c.B} {
					if err := c.harmless(f.Name, by, args); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
	if err == nil && len(left) > 0 {
		err = conformance.Limited("not called, for the types of their arguments: %s", strings.Join(left, ", "))
	}
	return err
}

// argumentsOf returns sample arguments of a function: for numbers, small ones and the greatest of each type. ok is
// false if a parameter is not a number, account, string or bool.
func (c *checker) argumentsOf(f abi.Function) (tries []object, ok bool) {
	most := map[abi.Base]uint64{
		abi.U8: math.MaxUint8, abi.U16: math.MaxUint16, abi.U32: math.MaxUint32, abi.U64: math.MaxUint64,
		abi.U128: math.MaxUint64, abi.I8: math.MaxInt8, abi.I16: math.MaxInt16, abi.I32: math.MaxInt32, abi.I64: math.MaxInt64,
	}
	seen := map[string]bool{}
	for _, number := range []uint64{0, 1, 2, 100, 10_000, math.MaxUint64} {
		for _, truth := range []bool{true, false} {
			for _, accounts := range [][2]types.Account{{c.A, c.B}, {c.B, c.A}, {c.A, c.A}} {
				args, given := object{}, 0
				for _, p := range f.Args {
					base := abi.Base(p.Type.String())
					limit, isNumber := most[base]
					switch {
					case isNumber:
						args[p.Name] = abi.Uint64(min(number, limit))
					case base == abi.Bool:
						args[p.Name] = truth
					case base == abi.Account:
						args[p.Name] = accounts[given%2]
						given++
					case base == abi.String:
						args[p.Name] = "x"
					default:
						return nil, false
					}
				}
				text, err := json.Marshal(args)
				if err == nil && !seen[string(text)] {
					seen[string(text)] = true
					tries = append(tries, args)
				}
			}
		}
	}
	return tries, true
}

// harmless makes a call, checks its effect on A's tokens, and reverts everything.
func (c *checker) harmless(function string, by types.Account, args object) (verdict error) {
	fault := c.Chain.Aside(c.Ctx, func() error {
		verdict = c.harmed(function, by, args)
		return nil
	})
	if fault != nil {
		return fault
	}
	return verdict
}

func (c *checker) harmed(function string, by types.Account, args object) error {
	accounts := []types.Account{c.A, c.B, c.Holder}
	before, err := c.balancesOf(accounts...)
	if err != nil {
		return err
	}
	outcome, encoded, err := c.Send(by, function, args)
	if err != nil || !outcome.OK {
		return err
	}
	act := fmt.Sprintf("%s%s of the holder", function, encoded)
	if by != c.Holder {
		act = fmt.Sprintf("%s%s of a stranger", function, encoded)
	}
	after, err := c.balancesOf(accounts...)
	if err != nil {
		return err
	}
	if after[0] < before[0] {
		return conformance.Breaks("%s took %d of the %d units of another", act, before[0]-after[0], before[0])
	}
	for i, account := range accounts {
		if said := movedBy(outcome.Logs, c.Token, account); after[i]-before[i] != said {
			return conformance.Breaks("%s changed a balance from %d to %d, by its events by %d",
				act, before[i], after[i], int64(said))
		}
	}
	for _, spender := range []types.Account{c.Holder, c.B} {
		allowed, err := c.allowance(c.A, spender)
		if err != nil {
			return err
		}
		if allowed > 0 {
			return conformance.Breaks("%s lets %s spend %d units of another", act, spender, allowed)
		}
	}
	// Test both directions, as the call may have blocked either.
	move := before[0] / 2
	for _, sides := range [][2]types.Account{{c.A, c.B}, {c.B, c.A}} {
		var broke interface{ Broken() string }
		if err := c.gives(sides[0], sides[1], move); errors.As(err, &broke) {
			return conformance.Breaks("after %s: %s", act, broke.Broken())
		} else if err != nil {
			return err
		}
	}
	return nil
}

// movedBy returns the change of an account's balance by the token's Transfer events, modulo 2^64.
func movedBy(logs []Log, token types.ContractID, account types.Account) (sum uint64) {
	for _, log := range logs {
		if log.Contract != token || log.Name != "Transfer" || len(log.Topics) != 3 {
			continue
		}
		amount := binary.BigEndian.Uint64(log.Topics[2][24:])
		if types.Account(log.Topics[0]) == account {
			sum -= amount
		}
		if types.Account(log.Topics[1]) == account {
			sum += amount
		}
	}
	return sum
}
