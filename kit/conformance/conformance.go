// Package conformance is what tests of standards for tokens have in common: a token is tested rule by rule, by calls.
// Packages nep20 and nep11 have the rules.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/types"
)

// Chain is where the token is. An error of its methods ends the check: it is a fault of the chain, not of the token.
type Chain interface {
	// ABI is what the token says of itself; nil where it says nothing.
	ABI(ctx context.Context) (*abi.ABI, error)
	// View calls a function in view context.
	View(ctx context.Context, function string, args []byte) (Outcome, error)
	// Send calls a function in a transaction of one of the accounts that the check was given, and waits until it is in a
	// block. A call that would fail need not be included.
	Send(ctx context.Context, from types.Account, function string, args []byte) (Outcome, error)
	// Deploy deploys a contract of the check's own. It gives the error of [NotTested] on a chain that is not taken back
	// after the check: there a contract stays, and what it got.
	Deploy(ctx context.Context, from types.Account, code []byte) (types.ContractID, error)
	// TakesBack tells whether Aside takes back what it ran, and Pass lets time pass: not on a chain that others use.
	TakesBack() bool
	// Aside runs f and takes the chain back to where it was, time included, if TakesBack; else it only runs f.
	Aside(ctx context.Context, f func() error) error
	// Pass lets time pass before the next block.
	Pass(ctx context.Context, by time.Duration) error
	// Called tells whether the token called another contract, or tried to, in the last transaction that succeeded. It
	// gives the error of [NotTested] where the chain cannot tell.
	Called(ctx context.Context) (bool, error)
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

// Accounts are those that a check acts as. All can sign; the standard says what Holder has, and A and B have nothing.
// What the check moves it moves back.
type Accounts struct {
	Holder, A, B types.Account
}

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

// Calls makes calls of a token.
type Calls struct {
	Chain Chain
	Token types.ContractID
	ABI   *abi.ABI // nil where the token has none
	Ctx   context.Context
}

// NewCalls asks a chain for the token's ABI.
func NewCalls(ctx context.Context, chain Chain, token types.ContractID) (*Calls, error) {
	declared, err := chain.ABI(ctx)
	return &Calls{chain, token, declared, ctx}, err
}

// A rule is one statement of a standard. Its test returns what is wrong by [Breaks], or why it was not made by
// [NotTested]; any other error is a fault of the chain.
type rule[C any] interface {
	~struct {
		Name, Says string
		Test       func(C) error
	}
}

// broken is what a token did against a rule, leftOut why a rule does not apply, limited what a rule that was kept could
// not show.
type (
	broken  string
	leftOut string
	limited string
)

func (b broken) Error() string { return string(b) }

// Broken tells that a token did something against a rule, where another error is a fault of the chain.
func (b broken) Broken() string { return string(b) }

func (l leftOut) Error() string { return string(l) }
func (l limited) Error() string { return string(l) }

// Breaks is the error of a token that breaks a rule.
func Breaks(format string, args ...any) error { return broken(fmt.Sprintf(format, args...)) }

// NotTested is the error of a rule that does not apply to the token.
func NotTested(reason string) error { return leftOut(reason) }

// Limited is the error of a rule that the token keeps as far as was tried, with what was not.
func Limited(format string, args ...any) error { return limited(fmt.Sprintf(format, args...)) }

// Run tests the rules in their order, with the checker that they take; told hears of each result as it is known, and
// may be nil. A token that breaks rules is no error.
func Run[C any, R rule[C]](token types.ContractID, rules []R, checker C, told func(Result)) (Report, error) {
	report := Report{Token: token}
	for _, given := range rules {
		r := struct {
			Name, Says string
			Test       func(C) error
		}(given)
		result := Result{Rule: r.Name, Says: r.Says, Verdict: Pass}
		switch err := r.Test(checker).(type) {
		case nil:
		case broken:
			result.Verdict, result.Detail = Fail, err.Error()
		case leftOut:
			result.Verdict, result.Detail = LeftOut, err.Error()
		case limited:
			result.Detail = err.Error()
		default:
			return report, fmt.Errorf("rule %s: %w", r.Name, err)
		}
		report.Results = append(report.Results, result)
		if told != nil {
			told(result)
		}
	}
	return report, nil
}

// Object is a call's arguments; nil are none at all.
type Object map[string]any

func (o Object) encode() ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	return json.Marshal(o)
}

// View calls a read function and decodes what it returns.
func View[R any](c *Calls, function string, args Object) (r R, err error) {
	encoded, err := args.encode()
	if err != nil {
		return r, err
	}
	outcome, err := c.Chain.View(c.Ctx, function, encoded)
	if err != nil {
		return r, err
	}
	if !outcome.OK {
		return r, Breaks("%s%s failed: %s", function, encoded, outcome.Why())
	}
	if err := json.Unmarshal(outcome.Output, &r); err != nil {
		return r, Breaks("%s%s returned %q", function, encoded, outcome.Output)
	}
	return r, nil
}

// Why says how a call failed.
func (o Outcome) Why() string {
	if len(o.Output) > 0 {
		return fmt.Sprintf("%s, %q", o.Reason, o.Output)
	}
	return o.Reason
}

// Send calls a function in a transaction, and gives the arguments as they were sent.
func (c *Calls) Send(from types.Account, function string, args Object) (Outcome, []byte, error) {
	encoded, err := args.encode()
	if err != nil {
		return Outcome{}, nil, err
	}
	outcome, err := c.Chain.Send(c.Ctx, from, function, encoded)
	return outcome, encoded, err
}

// Refuses calls a function that must revert with a reason.
func (c *Calls) Refuses(from types.Account, function string, args Object) error {
	outcome, encoded, err := c.Send(from, function, args)
	if err != nil {
		return err
	}
	return Refused(function, encoded, outcome)
}

// Refused is what is wrong with a call that had to revert with a reason.
func Refused(function string, args []byte, outcome Outcome) error {
	switch {
	case outcome.OK:
		return Breaks("%s%s succeeded", function, args)
	case outcome.Reason != "reverted":
		return Breaks("%s%s ended as %s and did not revert", function, args, outcome.Reason)
	case len(outcome.Output) == 0:
		return Breaks("%s%s reverted without a reason", function, args)
	}
	return nil
}
