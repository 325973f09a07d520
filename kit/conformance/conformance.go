// Package conformance holds the common parts of the tests of token standards. A token is tested rule by rule, through
// calls. The rules are in packages nep20 and nep11.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/abi"
	"github.com/cairn-chain/cairn/types"
)

// Chain gives a check access to the token. An error of its methods ends the check, as it is a fault of the chain and
// not of the token.
type Chain interface {
	// ABI returns the token's ABI, or nil if it has none.
	ABI(ctx context.Context) (*abi.ABI, error)
	// View calls a function in view context.
	View(ctx context.Context, function string, args []byte) (Outcome, error)
	// Send calls a function in a transaction from one of the check's accounts, and waits for its block. A call that
	// would fail need not be included.
	Send(ctx context.Context, from types.Account, function string, args []byte) (Outcome, error)
	// Deploy deploys a helper contract. On a chain that does not revert after the check, where the contract and its
	// tokens would stay, it returns a [NotTested] error.
	Deploy(ctx context.Context, from types.Account, code []byte) (types.ContractID, error)
	// TakesBack reports whether Aside reverts its changes and Pass advances time. It is false on a chain that others
	// use.
	TakesBack() bool
	// Aside runs f. If TakesBack, it then reverts the chain, time included.
	Aside(ctx context.Context, f func() error) error
	// Pass advances the time of the next block.
	Pass(ctx context.Context, by time.Duration) error
	// Called reports whether the last successful transaction made the token call another contract, or try to. It
	// returns a [NotTested] error if the chain cannot tell.
	Called(ctx context.Context) (bool, error)
}

// Outcome is the result of a call.
type Outcome struct {
	OK     bool
	Output []byte // return value, or revert data
	Reason string // reason of the failure, in snake_case
	Logs   []Log
}

// Log is an event emitted by a call.
type Log struct {
	Contract types.ContractID
	Name     string
	Topics   []types.Digest // without the topic of its name
	Data     []byte
}

// Accounts holds the accounts that a check uses. It can sign for all of them. The standard specifies what Holder owns;
// A and B own nothing. The check returns everything that it moves.
type Accounts struct {
	Holder, A, B types.Account
}

// Verdict is the outcome of a rule.
type Verdict string

// The verdicts.
const (
	Pass    Verdict = "pass"
	Fail    Verdict = "fail"
	LeftOut Verdict = "left_out" // the token lacks the function, or the holder may not call it
)

// Result is the verdict on one rule.
type Result struct {
	Rule    string  `json:"rule"` // stable, in snake_case
	Says    string  `json:"says"` // text of the rule
	Verdict Verdict `json:"verdict"`
	Detail  string  `json:"detail,omitempty"` // the violation, or why the rule was left out
}

// Report holds the results of a check.
type Report struct {
	Token   types.ContractID `json:"token"`
	Results []Result         `json:"results"`
}

// Conforms reports whether no rule failed.
func (r Report) Conforms() bool { return r.Count(Fail) == 0 }

// Count returns the number of rules with a verdict.
func (r Report) Count(v Verdict) (count int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			count++
		}
	}
	return count
}

// Calls makes calls to a token.
type Calls struct {
	Chain Chain
	Token types.ContractID
	ABI   *abi.ABI // nil if the token has none
	Ctx   context.Context
}

// NewCalls returns Calls for a token, after fetching its ABI.
func NewCalls(ctx context.Context, chain Chain, token types.ContractID) (*Calls, error) {
	declared, err := chain.ABI(ctx)
	return &Calls{chain, token, declared, ctx}, err
}

// A rule is one requirement of a standard. Its test returns an error of [Breaks] for a violation, of [NotTested] if the
// rule was not tested, or of [Limited]. Any other error is a fault of the chain.
type rule[C any] interface {
	~struct {
		Name, Says string
		Test       func(C) error
	}
}

// broken is a violation, leftOut the reason why a rule does not apply, and limited the part of a satisfied rule that
// could not be tested.
type (
	broken  string
	leftOut string
	limited string
)

func (b broken) Error() string { return string(b) }

// Broken distinguishes a violation by the token from a fault of the chain.
func (b broken) Broken() string { return string(b) }

func (l leftOut) Error() string { return string(l) }
func (l limited) Error() string { return string(l) }

// Breaks returns the error of a token that violates a rule.
func Breaks(format string, args ...any) error { return broken(fmt.Sprintf(format, args...)) }

// NotTested returns the error of a rule that does not apply to the token.
func NotTested(reason string) error { return leftOut(reason) }

// Limited returns the error of a rule that the token satisfies as far as tested. The text says what was not tested.
func Limited(format string, args ...any) error { return limited(fmt.Sprintf(format, args...)) }

// Run tests the rules in order with checker. notify, which may be nil, is called with each result. A token that
// violates rules is not an error.
func Run[C any, R rule[C]](token types.ContractID, rules []R, checker C, notify func(Result)) (Report, error) {
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
		if notify != nil {
			notify(result)
		}
	}
	return report, nil
}

// Object holds the arguments of a call; nil means no arguments.
type Object map[string]any

func (o Object) encode() ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	return json.Marshal(o)
}

// View calls a read function and decodes its output.
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

// Why describes the failure of a call.
func (o Outcome) Why() string {
	if len(o.Output) > 0 {
		return fmt.Sprintf("%s, %q", o.Reason, o.Output)
	}
	return o.Reason
}

// Send calls a function in a transaction, and also returns its encoded arguments.
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

// Refused returns a violation if a call did not revert with a reason.
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
