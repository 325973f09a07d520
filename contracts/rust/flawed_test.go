package rust

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/kit/conformance"
	"github.com/cairn-chain/cairn/kit/contracttest"
)

// flaws are the misbehaviours of the tokens in tests/flawed, by number, with the rules that the checks must report for
// each.
var flaws = []struct {
	number int
	does   string
	breaks []string
}{
	{0, "nothing wrong", nil},
	{1, "keeps 1 %", []string{"sizes", "sizes_from"}},
	{2, "keeps 1/5000", []string{"sizes"}},
	{3, "burns 1 %", []string{"sizes"}},
	{4, "keeps 1 % between those who are not its owner", []string{"sizes"}},
	{5, "keeps 1 % where somebody was allowed to move", []string{"sizes_from"}},
	{6, "keeps 1 % of more than 1,000 units", []string{"sizes"}},
	{7, "keeps 1 % after some transfers", []string{"sizes"}},
	{8, "keeps 1 % from the second day on", []string{"time"}},
	{9, "has balances grow with time", []string{"time"}},
	{10, "lets its owner change all balances", []string{"other_functions"}},
	{11, "lets nobody sell but to its owner", []string{"sizes"}},
	{12, "lets its owner freeze an account", []string{"other_functions"}},
	{13, "lets its owner stop all", []string{"other_functions"}},
	{14, "lets its owner take tokens of others", []string{"other_functions"}},
	{15, "lets its owner set a fee", []string{"other_functions"}},
	{16, "lets anybody take tokens of others", []string{"other_functions"}},
	{17, "moves at most 1 % of the supply at a time", []string{"sizes"}},
	{18, "lets an account move once a minute", []string{"sizes"}},
	{19, "calls contracts that get tokens", []string{"calls_nobody"}},
	{20, "calls whoever gets tokens", []string{"calls_nobody"}},
	{21, "says 1 % more than there is", []string{"sizes"}},
	{22, "says that its owner has twice as much", []string{"balances"}},
	{23, "refuses contracts", []string{"contracts"}},
	{24, "allows less than it says", []string{"sizes_from"}},
	{25, "lets nobody move what came within a day", []string{"transfer"}},
	{26, "stops after a year", []string{"time"}},
	{27, "lets its owner allow for others", []string{"other_functions"}},
	{28, "emits another amount", []string{"transfer"}},
	{29, "returns false instead of reverting", []string{"transfer_too_much"}},
	{30, "lets its owner make tokens in silence", []string{"other_functions"}},
	{31, "makes a token at each transfer", []string{"transfer"}},
	{32, "says that it has 255 decimals", []string{"metadata"}},
	{33, "has more decimals each day", []string{"time"}},
}

// TestFlawedTokens: the check finds each flaw from the token's behaviour.
func TestFlawedTokens(t *testing.T) {
	for _, flaw := range flaws {
		t.Run(fmt.Sprint(flaw.number), func(t *testing.T) {
			c := contracttest.New(t)
			k := deploy(c, t, "flawed", args{"flaw": flaw.number, "supply": 1_000_000})
			var broken []string
			for _, r := range k.CheckToken(c.Account("alice")).Results {
				if r.Verdict == conformance.Fail {
					broken = append(broken, r.Rule)
					t.Logf("%s: %s", r.Rule, r.Detail)
				}
			}
			for _, rule := range flaw.breaks {
				if !slices.Contains(broken, rule) {
					t.Errorf("a token that %s: got %q broken, want %q among them", flaw.does, broken, rule)
				}
			}
			if flaw.breaks == nil && broken != nil {
				t.Errorf("a sound token: got %q broken, want none", broken)
			}
		})
	}
}

// TestFeeIsSaid: the message about a broken rule states the amounts.
func TestFeeIsSaid(t *testing.T) {
	c := contracttest.New(t)
	k := deploy(c, t, "flawed", args{"flaw": 4, "supply": 1_000_000})
	results := k.CheckToken(c.Account("alice")).Results
	i := slices.IndexFunc(results, func(r conformance.Result) bool { return r.Rule == "sizes" })
	if got, want := results[i].Detail, "a transfer of 166666 gave 165000"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
