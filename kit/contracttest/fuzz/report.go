package fuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/kit/contracttest"
)

// Report is what a search did.
type Report struct {
	Calls     int                       // with those of sequences that were kept, without those of shrinking
	Functions map[string]*FunctionCalls // that were called, by contract and name; "a → k.f" are those that the adversary made
}

// FunctionCalls is what became of the calls of a function.
type FunctionCalls struct {
	Called    int            `json:"called"`
	Succeeded int            `json:"succeeded"`
	Reasons   map[string]int `json:"reasons"` // why calls failed, and how many
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

// mostReasons bounds the different ones of a function that are counted.
const mostReasons = 100

// count counts a call, and why it failed.
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

// reason is why a call of a contract failed, with what that said. Typed errors of a name count as one.
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

// NeverSucceeded are the functions none of whose calls succeeded: what they do was not tried.
func (r Report) NeverSucceeded() (functions []string) {
	for _, f := range sortedKeys(r.Functions) {
		if r.Functions[f].Succeeded == 0 {
			functions = append(functions, f)
		}
	}
	return functions
}

// String tells how many calls of each function succeeded, and of those that never did why.
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
