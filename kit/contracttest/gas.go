package contracttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/cairn-chain/cairn/types"
)

// GasUse is the gas used by the transactions of a function.
type GasUse struct {
	Contract, Function string // the function of a deploy is "(deploy)"
	Calls, Failed      int
	Least, Most, Sum   types.Gas // of successful calls
}

// Average returns the average gas of a successful call.
func (u GasUse) Average() types.Gas {
	if n := u.Calls - u.Failed; n > 0 {
		return u.Sum / types.Gas(n)
	}
	return 0
}

// gasReport accumulates the gas use of transactions.
type gasReport struct{ uses []GasUse }

func (g *gasReport) add(contract, function string, r Result) {
	i := slices.IndexFunc(g.uses, func(u GasUse) bool { return u.Contract == contract && u.Function == function })
	if i < 0 {
		i = len(g.uses)
		g.uses = append(g.uses, GasUse{Contract: contract, Function: function})
	}
	u := &g.uses[i]
	u.Calls++
	if !r.OK {
		u.Failed++
		return
	}
	if u.Calls-u.Failed == 1 {
		u.Least = r.GasUsed
	}
	u.Least, u.Most, u.Sum = min(u.Least, r.GasUsed), max(u.Most, r.GasUsed), u.Sum+r.GasUsed
}

// Gas lists the gas used by all transactions so far, by contract and function. Reverting the chain does not remove any.
func (c *Chain) Gas() []GasUse {
	uses := slices.Clone(c.gas.uses)
	slices.SortFunc(uses, func(a, b GasUse) int {
		return cmp.Or(strings.Compare(a.Contract, b.Contract), strings.Compare(a.Function, b.Function))
	})
	return uses
}

// GasReport formats [Chain.Gas] as a table.
func (c *Chain) GasReport() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(cells ...any) {
		_, _ = fmt.Fprintln(w, strings.TrimSuffix(fmt.Sprintf(strings.Repeat("%v\t", len(cells)), cells...), "\t"))
	} // writes to memory cannot fail
	row("CONTRACT", "FUNCTION", "CALLS", "FAILED", "LEAST", "AVERAGE", "MOST")
	for _, u := range c.Gas() {
		row(u.Contract, u.Function, u.Calls, u.Failed, u.Least, u.Average(), u.Most)
	}
	_ = w.Flush()
	return b.String()
}
