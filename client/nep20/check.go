package nep20

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/types"
)

// Zero is the account that mints come from and burns go to.
var Zero types.Account

// Chain is where the token is. An error of its methods ends the check: it is a fault of the chain, not of the token.
type Chain interface {
	// ABI is what the token says of itself; nil where it says nothing.
	ABI(ctx context.Context) (*abi.ABI, error)
	// View calls a function in view context.
	View(ctx context.Context, function string, args []byte) (Outcome, error)
	// Send calls a function in a transaction of one of the accounts that the check was given, and waits until it is in a
	// block. A call that would fail need not be included.
	Send(ctx context.Context, from types.Account, function string, args []byte) (Outcome, error)
}

// Outcome is what a call did.
type Outcome struct {
	OK     bool
	Output []byte // what it returned, or the revert data
	Reason string // why it failed, in snake_case
	Logs   []Log
}

// Log is an event of a call.
type Log struct {
	Contract types.ContractID
	Name     string
	Topics   []types.Digest // its own, without that of the name
	Data     []byte
}

// Accounts are those that the check acts as. All can sign; Holder has at least [MinHolding] units of the token, A and B
// none and no allowances. What the check moves it moves back.
type Accounts struct {
	Holder, A, B types.Account
}

// MinHolding is what the holder must have, in smallest units of the token.
const MinHolding = 100

// Verdict is how a rule came out.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	LeftOut Verdict = "left_out" // the token has no such function, or the holder may not call it
)

// Result is a rule and how the token keeps it.
type Result struct {
	Rule    string  `json:"rule"` // stable, in snake_case
	Says    string  `json:"says"` // what the rule says
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"` // what was seen instead, or why it was left out
}

// Report is what the check found.
type Report struct {
	Token   types.ContractID `json:"token"`
	Results []Result         `json:"results"`
}

// Conforms reports whether no rule failed.
func (r Report) Conforms() bool { return r.Count(Fail) == 0 }

// Count is the number of rules with a verdict.
func (r Report) Count(v Verdict) (count int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			count++
		}
	}
	return count
}

// rule is one statement of the standard, tested by a function that returns what is wrong.
type rule struct {
	name, says string
	test       func(*checker) error
}

// checker is a check in progress.
type checker struct {
	Accounts
	chain Chain
	token types.ContractID
	abi   *abi.ABI
	ctx   context.Context
}

// broken is what a token did against a rule, leftOut why a rule does not apply; any other error is the chain's.
type (
	broken  string
	leftOut string
)

func (b broken) Error() string  { return string(b) }
func (l leftOut) Error() string { return string(l) }

func breaks(format string, args ...any) error { return broken(fmt.Sprintf(format, args...)) }

// Check tests a token, rule by rule; told hears of each result as it is known, and may be nil. A token that breaks
// rules is no error.
func Check(
	ctx context.Context, chain Chain, token types.ContractID, accounts Accounts, told func(Result),
) (Report, error) {
	c := &checker{Accounts: accounts, chain: chain, token: token, ctx: ctx}
	report := Report{Token: token}
	var err error
	if c.abi, err = chain.ABI(ctx); err != nil {
		return report, err
	}
	for _, r := range rules {
		result := Result{Rule: r.name, Says: r.says, Verdict: Pass}
		switch err := r.test(c).(type) {
		case nil:
		case broken:
			result.Verdict, result.Detail = Fail, err.Error()
		case leftOut:
			result.Verdict, result.Detail = LeftOut, err.Error()
		default:
			return report, fmt.Errorf("rule %s: %w", r.name, err)
		}
		report.Results = append(report.Results, result)
		if told != nil {
			told(result)
		}
	}
	return report, nil
}

// object is a call's arguments.
type object map[string]any

func (o object) encode() ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	return json.Marshal(o)
}

// view calls a read function and decodes what it returns.
func view[R any](c *checker, function string, args object) (r R, err error) {
	encoded, err := args.encode()
	if err != nil {
		return r, err
	}
	outcome, err := c.chain.View(c.ctx, function, encoded)
	if err != nil {
		return r, err
	}
	if !outcome.OK {
		return r, breaks("%s%s failed: %s", function, encoded, outcome.why())
	}
	if err := json.Unmarshal(outcome.Output, &r); err != nil {
		return r, breaks("%s%s returned %q", function, encoded, outcome.Output)
	}
	return r, nil
}

func (o Outcome) why() string {
	if len(o.Output) > 0 {
		return fmt.Sprintf("%s, %q", o.Reason, o.Output)
	}
	return o.Reason
}

func (c *checker) balance(of types.Account) (uint64, error) {
	v, err := view[abi.Uint64](c, "balanceOf", object{"address": of})
	return uint64(v), err
}

func (c *checker) allowance(owner, spender types.Account) (uint64, error) {
	v, err := view[abi.Uint64](c, "allowance", object{"owner": owner, "spender": spender})
	return uint64(v), err
}

func (c *checker) supply() (uint64, error) {
	v, err := view[abi.Uint64](c, "totalSupply", nil)
	return uint64(v), err
}

// send calls a function in a transaction.
func (c *checker) send(from types.Account, function string, args object) (Outcome, []byte, error) {
	encoded, err := args.encode()
	if err != nil {
		return Outcome{}, nil, err
	}
	outcome, err := c.chain.Send(c.ctx, from, function, encoded)
	return outcome, encoded, err
}

// does calls a function that must succeed, return true and emit exactly one event.
func (c *checker) does(from types.Account, function string, args object, event expected) error {
	outcome, encoded, err := c.send(from, function, args)
	switch {
	case err != nil:
		return err
	case !outcome.OK:
		return breaks("%s%s failed: %s", function, encoded, outcome.why())
	case string(outcome.Output) != "true":
		return breaks("%s%s returned %q, not true", function, encoded, outcome.Output)
	}
	if err := event.only(c.token, outcome.Logs); err != nil {
		return breaks("%s%s: %s", function, encoded, err)
	}
	return nil
}

// refuses calls a function that must revert with a reason.
func (c *checker) refuses(from types.Account, function string, args object) error {
	outcome, encoded, err := c.send(from, function, args)
	switch {
	case err != nil:
		return err
	case outcome.OK:
		return breaks("%s%s succeeded", function, encoded)
	case outcome.Reason != "reverted":
		return breaks("%s%s ended as %s and did not revert", function, encoded, outcome.Reason)
	case len(outcome.Output) == 0:
		return breaks("%s%s reverted without a reason", function, encoded)
	}
	return nil
}

// books are what the token says of who has what.
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

// moves runs an operation and compares the books after it with those that want makes of those before it.
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
		return breaks("after it the supply and the balances of holder, A and B are %d, %d, %d, %d, not %d, %d, %d, %d",
			after.supply, after.holder, after.a, after.b, before.supply, before.holder, before.a, before.b)
	}
	return nil
}

func nothing(*books) {}
