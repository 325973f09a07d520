package nep20

import (
	"context"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/types"
)

// Zero is the sender of mints and the recipient of burns.
var Zero types.Account

// Parameters and results of a check.
type (
	Chain    = conformance.Chain
	Outcome  = conformance.Outcome
	Log      = conformance.Log
	Accounts = conformance.Accounts // Holder needs at least [MinHolding] units; A and B neither units nor allowances
	Verdict  = conformance.Verdict
	Result   = conformance.Result
	Report   = conformance.Report
)

// The verdicts.
const (
	Pass    = conformance.Pass
	Fail    = conformance.Fail
	LeftOut = conformance.LeftOut
)

// MinHolding is the least balance of the holder, in smallest units of the token.
const MinHolding = 100

// checker is a check in progress.
type checker struct {
	Accounts
	*conformance.Calls
}

type object = conformance.Object

// rule is a requirement of the standard.
type rule struct {
	Name, Says string
	Test       func(*checker) error
}

// Check tests a token, rule by rule. notify, which may be nil, is called with each result. A token that violates rules
// is not an error.
func Check(
	ctx context.Context, chain Chain, token types.ContractID, accounts Accounts, notify func(Result),
) (Report, error) {
	calls, err := conformance.NewCalls(ctx, chain, token)
	if err != nil {
		return Report{Token: token}, err
	}
	return conformance.Run(token, independent(rules), &checker{accounts, calls}, notify)
}

// independent makes each rule run aside, so that the effects of a violated rule do not affect other rules.
func independent(rules []rule) []rule {
	aside := make([]rule, len(rules))
	for i, r := range rules {
		aside[i] = r
		aside[i].Test = func(c *checker) (verdict error) {
			fault := c.Chain.Aside(c.Ctx, func() error {
				verdict = r.Test(c)
				return nil
			})
			if fault != nil {
				return fault
			}
			return verdict
		}
	}
	return aside
}

func (c *checker) balance(of types.Account) (uint64, error) {
	v, err := conformance.View[abi.Uint64](c.Calls, "balanceOf", object{"address": of})
	return uint64(v), err
}

func (c *checker) allowance(owner, spender types.Account) (uint64, error) {
	v, err := conformance.View[abi.Uint64](c.Calls, "allowance", object{"owner": owner, "spender": spender})
	return uint64(v), err
}

func (c *checker) supply() (uint64, error) {
	v, err := conformance.View[abi.Uint64](c.Calls, "totalSupply", nil)
	return uint64(v), err
}

// does calls a function that must succeed, return true and emit exactly one event.
func (c *checker) does(from types.Account, function string, args object, event expected) error {
	outcome, encoded, err := c.Send(from, function, args)
	if err != nil {
		return err
	}
	return c.did(function, encoded, outcome, event)
}

// did checks that a call succeeded, returned true and emitted exactly one event.
func (c *checker) did(function string, encoded []byte, outcome Outcome, event expected) error {
	switch {
	case !outcome.OK:
		return conformance.Breaks("%s%s failed: %s", function, encoded, outcome.Why())
	case string(outcome.Output) != "true":
		return conformance.Breaks("%s%s returned %q, not true", function, encoded, outcome.Output)
	}
	if err := event.only(c.Token, outcome.Logs); err != nil {
		return conformance.Breaks("%s%s: %s", function, encoded, err)
	}
	return nil
}

// books holds the supply and balances that the token reports.
type books struct {
	supply, holder, a, b uint64
}

func (c *checker) books() (s books, err error) {
	if s.supply, err = c.supply(); err != nil {
		return s, err
	}
	for of, to := range map[types.Account]*uint64{c.Holder: &s.holder, c.A: &s.a, c.B: &s.b} {
		if *to, err = c.balance(of); err != nil {
			return s, err
		}
	}
	return s, nil
}

// moves runs an operation and checks that it changes the books as want does.
func (c *checker) moves(want func(*books), operation func() error) error {
	before, err := c.books()
	if err != nil {
		return err
	}
	if err := operation(); err != nil {
		return err
	}
	after, err := c.books()
	if err != nil {
		return err
	}
	want(&before)
	if after != before {
		return conformance.Breaks(
			"after it the supply and the balances of holder, A and B are %d, %d, %d, %d, not %d, %d, %d, %d",
			after.supply, after.holder, after.a, after.b, before.supply, before.holder, before.a, before.b,
		)
	}
	return nil
}

func nothing(*books) {}
