package fuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// Report summarizes a search.
type Report struct {
	Calls     int                       // including replays of the corpus, excluding shrinking
	Functions map[string]*FunctionCalls // by contract and function; "a → k.f" are calls made by the adversary
}

// FunctionCalls counts the outcomes of a function's calls.
type FunctionCalls struct {
	Called    int            `json:"called"`
	Succeeded int            `json:"succeeded"`
	Reasons   map[string]int `json:"reasons"` // number of failed calls by reason
}

func newReport(w *World) Report {
	r := Report{Functions: map[string]*FunctionCalls{}}
	for _, t := range w.targets {
		r.Functions[t.contract+"."+t.function.Name] = &FunctionCalls{Reasons: map[string]int{}}
	}
	if w.adversary != nil {
		r.Functions[w.adversary.name+"."+runFunction] = &FunctionCalls{Reasons: map[string]int{}}
	}
	return r
}

// mostReasons bounds the distinct reasons counted per function.
const mostReasons = 100

// count counts a call and the reason of its failure.
func (r *Report) count(function string, ok bool, reason string) {
	c, counted := r.Functions[function]
	if !counted {
		c = &FunctionCalls{Reasons: map[string]int{}}
		r.Functions[function] = c
	}
	c.Called++
	if ok {
		c.Succeeded++
		return
	}
	if _, known := c.Reasons[reason]; known || len(c.Reasons) < mostReasons {
		c.Reasons[reason]++
	}
}

// reason returns the reason of a failed call with the contract's message. Typed errors with one name count as one
// reason.
func (w *World) reason(contract string, r contracttest.Result) string {
	if len(r.Output) == 0 {
		return r.Reason
	}
	if k, ok := w.contracts[contract]; ok {
		if revert := k.ABI.Revert(r.Output); revert.Name != "" {
			return r.Reason + " " + revert.Name
		}
	}
	return fmt.Sprintf("%s %.60q", r.Reason, r.Output)
}

// NeverSucceeded returns the functions of which no call succeeded: their effects were not tested.
func (r Report) NeverSucceeded() (functions []string) {
	for _, f := range sortedKeys(r.Functions) {
		if r.Functions[f].Succeeded == 0 {
			functions = append(functions, f)
		}
	}
	return functions
}

// String lists the number of successful calls of each function, with the reasons for functions that never succeeded.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d calls", r.Calls)
	for _, name := range sortedKeys(r.Functions) {
		f := r.Functions[name]
		fmt.Fprintf(&b, "\n%s: %d of %d succeeded", name, f.Succeeded, f.Called)
		if f.Succeeded > 0 {
			continue
		}
		reasons := sortedKeys(f.Reasons)
		slices.SortStableFunc(reasons, func(x, y string) int { return cmp.Compare(f.Reasons[y], f.Reasons[x]) })
		for _, reason := range reasons[:min(len(reasons), 3)] {
			fmt.Fprintf(&b, "\n\t%d times %s", f.Reasons[reason], reason)
		}
	}
	return b.String()
}
