package vm

import (
	"cmp"
	"slices"

	"github.com/cairn-chain/cairn/types"
)

// FunctionCost is the share of one defined function in the price of a deploy.
type FunctionCost struct {
	Function int    // index in the order of the code; imported functions are not counted
	Export   string // a name under which it is exported; empty if there is none
	Gas      types.Gas
}

// FunctionCosts returns the costs of a code's functions, the most expensive first. Its errors are those that [Check]
// returns.
func FunctionCosts(code []byte) ([]FunctionCost, error) {
	p, err := read(code, false)
	if err != nil {
		return nil, err
	}
	costs := make([]FunctionCost, len(p.functionGas))
	for i, gas := range p.functionGas {
		costs[i] = FunctionCost{Function: i, Gas: gas}
	}
	for _, e := range p.exports {
		if i := int(e.index) - p.imported; e.kind == functionKind && i >= 0 {
			costs[i].Export = e.name
		}
	}
	slices.SortStableFunc(costs, func(a, b FunctionCost) int { return cmp.Compare(b.Gas, a.Gas) })
	return costs, nil
}
