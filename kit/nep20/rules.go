package nep20

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// rules lists the rules in test order: later ones rely on earlier ones. If the token satisfies a rule, the test leaves
// balances and allowances unchanged, for chains that are not reverted.
var rules = []rule{
	{"interface", "the ABI declares the nine functions and two events of the standard", (*checker).declares},
	{"metadata", "name, symbol and decimals are two strings and a u32 of at most 19", (*checker).metadata},
	{
		"balances",
		"balanceOf and totalSupply are u64; an account that never had tokens has 0; no balance is over the supply",
		(*checker).balances,
	},
	{
		"arguments", "arguments that are missing, unknown, malformed or out of range revert with a reason",
		(*checker).arguments,
	},
	{"transfer", "transfer moves the amount, returns true and emits Transfer", (*checker).transfer},
	{"transfer_nothing", "a transfer of 0 is a transfer: it succeeds and emits Transfer", (*checker).transferNothing},
	{
		"transfer_to_oneself", "a transfer to oneself changes no balance, and needs the balance",
		(*checker).transferToOneself,
	},
	{"transfer_too_much", "a transfer of more than the balance reverts with a reason", (*checker).transferTooMuch},
	{"transfer_overflow", "amounts near 2^64 do not wrap around", (*checker).overflow},
	{"zero_account", "a transfer to the zero account is refused, or is a burn: the supply falls", (*checker).zeroAccount},
	{"approve", "approve sets the allowance and never adds to it, returns true and emits Approval", (*checker).approve},
	{
		"transfer_from", "transferFrom moves the owner's tokens, takes them off the allowance and emits Transfer",
		(*checker).transferFrom,
	},
	{
		"allowance_limits", "transferFrom over the allowance or the balance reverts with a reason",
		(*checker).allowanceLimits,
	},
	{
		"allowance_of_oneself", "transferFrom needs an allowance also of the caller's own tokens",
		(*checker).allowanceOfOneself,
	},
	{"no_infinity", "an allowance of 2^64 - 1 is spent like any other", (*checker).noInfinity},
	{"view_context", "transfer does not work in view context", (*checker).viewContext},
	{
		"sizes", "a transfer credits exactly what it debits: for 1, a part and all, between accounts that own nothing else",
		(*checker).sizes,
	},
	{"sizes_from", "transferFrom credits exactly what it debits, for the same amounts", (*checker).sizesFrom},
	{"everything", "a holder can move all that it is said to have", (*checker).everything},
	{"contracts", "a contract gets tokens as any account does", (*checker).contracts},
	{"calls_nobody", "transfer, approve and transferFrom call no other contract", (*checker).callsNobody},
	{"time", "balances and decimals stay as they are, and tokens move, a day and ten years later", (*checker).time},
	{
		"other_functions", "no other function takes tokens of others, spends for them, or stops them from moving",
		(*checker).otherFunctions,
	},
	{
		"mint",
		"mint is the owner's, adds to supply and balance, emits Transfer from the zero account, and does not overflow",
		(*checker).mint,
	},
	{
		"burn", "burn takes from supply and the caller's balance, emits Transfer to the zero account, and needs the balance",
		(*checker).burn,
	},
}

// standard lists the mandatory functions.
var standard = []string{
	"name() string", "symbol() string", "decimals() u32", "totalSupply() u64", "balanceOf(address account) u64",
	"allowance(owner account, spender account) u64", "transfer(to account, amount u64) bool",
	"approve(spender account, amount u64) bool", "transferFrom(from account, to account, amount u64) bool",
}

var standardEvents = []string{
	"Transfer(from account, to account, amount u64)", "Approval(owner account, spender account, amount u64)",
}

func (c *checker) declares() error {
	if c.ABI == nil {
		return conformance.Breaks("the contract carries no ABI (custom section %s)", abi.Section)
	}
	var wrong []string
	for _, want := range standard {
		name, _, _ := strings.Cut(want, "(")
		mode := abi.Read
		if slices.Contains([]string{"transfer", "approve", "transferFrom"}, name) {
			mode = abi.Write
		}
		f, ok := c.ABI.Function(name)
		switch {
		case !ok:
			wrong = append(wrong, "there is no "+want)
		case f.String() != want:
			wrong = append(wrong, f.String()+" should be "+want)
		case f.Mode != mode:
			wrong = append(wrong, name+" should have the mode "+string(mode))
		}
	}
	for _, want := range standardEvents {
		name, _, _ := strings.Cut(want, "(")
		if e, ok := c.ABI.Event(name); !ok || e.String() != want {
			wrong = append(wrong, "the event "+want+" is not declared so")
		}
	}
	if len(wrong) > 0 {
		return conformance.Breaks("%s", strings.Join(wrong, "; "))
	}
	return nil
}

func (c *checker) metadata() error {
	for _, function := range []string{"name", "symbol"} {
		if _, err := conformance.View[string](c.Calls, function, nil); err != nil {
			return err
		}
	}
	decimals, err := conformance.View[uint32](c.Calls, "decimals", nil)
	if err == nil && decimals > maxDecimals {
		return conformance.Breaks("decimals are %d: no amount is a whole token", decimals)
	}
	return err
}

// maxDecimals is the greatest number of decimals for which a u64 can hold a whole token.
const maxDecimals = 19

func (c *checker) balances() error {
	s, err := c.books()
	if err != nil {
		return err
	}
	if s.a != 0 || s.b != 0 {
		return conformance.Breaks("new accounts have %d and %d units", s.a, s.b)
	}
	if s.holder > s.supply {
		return conformance.Breaks("the holder has %d units, and there are %d in all", s.holder, s.supply)
	}
	if s.holder < MinHolding {
		return errors.New("the holder has too few tokens to test with")
	}
	return nil
}

func (c *checker) arguments() error {
	for _, args := range []string{
		``, `{}`, `[]`, `{`, `{"to":"0x01","amount":1}`, `{"to":"TO"}`, `{"amount":1}`, `{"to":"TO","amount":1,"more":1}`,
		`{"to":"TO","amount":-1}`, `{"to":"TO","amount":1.5}`, `{"to":"TO","amount":18446744073709551616}`,
		`{"to":"TO","amount":"x"}`,
		`{"to":"TO","amount":null}`, `{"to":"TO","amount":1,"amount":1}`, `{"to":"TO","amount":1}x`,
	} {
		args = strings.ReplaceAll(args, "TO", c.A.String())
		outcome, err := c.Chain.Send(c.Ctx, c.Holder, "transfer", []byte(args))
		switch {
		case err != nil:
			return err
		case outcome.OK || outcome.Reason != "reverted" || len(outcome.Output) == 0:
			return conformance.Breaks("transfer%s did not revert with a reason: %s", args, ending(outcome))
		}
	}
	return nil
}

func ending(o Outcome) string {
	if o.OK {
		return "it succeeded"
	}
	return o.Why()
}

// transferOf makes a transfer and checks its effect.
func (c *checker) transferOf(from, to types.Account, amount uint64) error {
	return c.does(from, "transfer", object{"to": to, "amount": abi.Uint64(amount)}, transferred(from, to, amount))
}

func (c *checker) transfer() error {
	err := c.moves(func(s *books) { s.holder -= 3; s.a += 3 }, func() error { return c.transferOf(c.Holder, c.A, 3) })
	if err != nil {
		return err
	}
	// Transfer the whole balance.
	return c.moves(func(s *books) { s.a -= 3; s.holder += 3 }, func() error { return c.transferOf(c.A, c.Holder, 3) })
}

func (c *checker) transferNothing() error {
	return c.moves(nothing, func() error {
		if err := c.transferOf(c.Holder, c.A, 0); err != nil {
			return err
		}
		return c.transferOf(c.A, c.B, 0)
	})
}

func (c *checker) transferToOneself() error {
	if err := c.moves(nothing, func() error { return c.transferOf(c.Holder, c.Holder, MinHolding) }); err != nil {
		return err
	}
	return c.moves(nothing, func() error { return c.Refuses(c.A, "transfer", object{"to": c.A, "amount": 1}) })
}

func (c *checker) transferTooMuch() error {
	held, err := c.balance(c.Holder)
	if err != nil {
		return err
	}
	return c.moves(nothing, func() error {
		if held < math.MaxUint64 {
			if err := c.Refuses(c.Holder, "transfer", object{"to": c.A, "amount": abi.Uint64(held + 1)}); err != nil {
				return err
			}
		}
		return c.Refuses(c.A, "transfer", object{"to": c.B, "amount": 1})
	})
}

func (c *checker) overflow() error {
	if err := c.transferOf(c.Holder, c.A, 1); err != nil {
		return err
	}
	return c.moves(func(s *books) { s.a--; s.holder++ }, func() error {
		for _, amount := range []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63} {
			if err := c.Refuses(c.A, "transfer", object{"to": c.Holder, "amount": abi.Uint64(amount)}); err != nil {
				return err
			}
		}
		return c.transferOf(c.A, c.Holder, 1)
	})
}

func (c *checker) zeroAccount() error {
	before, err := c.balance(Zero)
	if err != nil {
		return err
	}
	burns := false
	err = c.moves(func(s *books) {
		if burns {
			s.holder, s.supply = s.holder-1, s.supply-1
		}
	}, func() error {
		outcome, encoded, err := c.Send(c.Holder, "transfer", object{"to": Zero, "amount": 1})
		if err != nil || !outcome.OK {
			if err == nil && (outcome.Reason != "reverted" || len(outcome.Output) == 0) {
				return conformance.Breaks("transfer%s did not revert with a reason: %s", encoded, outcome.Why())
			}
			return err
		}
		burns = true
		if err := transferred(c.Holder, Zero, 1).only(c.Token, outcome.Logs); err != nil {
			return conformance.Breaks("transfer%s: %s", encoded, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	after, err := c.balance(Zero)
	if err == nil && after != before {
		err = conformance.Breaks("the zero account has %d units, and had %d", after, before)
	}
	return err
}

func (c *checker) viewContext() error {
	args, err := json.Marshal(object{"to": c.A, "amount": 0})
	if err != nil {
		return err
	}
	outcome, err := c.Chain.View(c.Ctx, "transfer", args)
	if err == nil && outcome.OK {
		err = conformance.Breaks("a view call of transfer succeeded")
	}
	return err
}

// has reports whether the token declares an optional function.
func (c *checker) has(function string) bool {
	if c.ABI == nil {
		return false
	}
	_, ok := c.ABI.Function(function)
	return ok
}

func (c *checker) mint() error {
	if !c.has("mint") {
		return conformance.NotTested("the token has no function mint")
	}
	if err := c.moves(nothing, func() error {
		return c.Refuses(c.A, "mint", object{"to": c.A, "amount": 1})
	}); err != nil {
		return err
	}
	before, err := c.books()
	if err != nil {
		return err
	}
	outcome, encoded, err := c.Send(c.Holder, "mint", object{"to": c.Holder, "amount": 7})
	if err != nil {
		return err
	}
	if !outcome.OK {
		return conformance.NotTested("the holder may not mint: " + outcome.Why())
	}
	if err := transferred(Zero, c.Holder, 7).only(c.Token, outcome.Logs); err != nil {
		return conformance.Breaks("mint%s: %s", encoded, err)
	}
	after, err := c.books()
	if err != nil {
		return err
	}
	if after.supply != before.supply+7 || after.holder != before.holder+7 {
		return conformance.Breaks(
			"after a mint of 7 the supply is %d, was %d; the balance is %d, was %d", after.supply, before.supply,
			after.holder, before.holder,
		)
	}
	return c.moves(nothing, func() error {
		return c.Refuses(c.Holder, "mint", object{"to": c.Holder, "amount": abi.Uint64(math.MaxUint64)})
	})
}

func (c *checker) burn() error {
	if !c.has("burn") {
		return conformance.NotTested("the token has no function burn")
	}
	if err := c.moves(nothing, func() error { return c.Refuses(c.A, "burn", object{"amount": 1}) }); err != nil {
		return err
	}
	return c.moves(func(s *books) { s.supply -= 7; s.holder -= 7 }, func() error {
		outcome, encoded, err := c.Send(c.Holder, "burn", object{"amount": 7})
		switch {
		case err != nil:
			return err
		case !outcome.OK:
			return conformance.Breaks("burn%s failed: %s", encoded, outcome.Why())
		}
		if err := transferred(c.Holder, Zero, 7).only(c.Token, outcome.Logs); err != nil {
			return conformance.Breaks("burn%s: %s", encoded, err)
		}
		return nil
	})
}
