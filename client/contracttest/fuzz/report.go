package fuzz

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/client/contracttest"
)

// Report is what a search did.
type Report struct {
	Calls     int                       // with those of sequences that were kept, without those of shrinking
	Functions map[string]*FunctionCalls // that were called, by contract and name
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

func (r *Report) count(function string, result contracttest.Result) {
	c, ok := r.Functions[function]
	if !ok {
		c = &FunctionCalls{Reasons: map[string]int{}}
		r.Functions[function] = c
	}
	c.Called++
	if result.OK {
		c.Succeeded++
		return
	}
	reason := result.Reason
	if len(result.Output) > 0 {
		reason = fmt.Sprintf("%s %.60q", reason, result.Output)
	}
	if _, known := c.Reasons[reason]; known || len(c.Reasons) < mostReasons {
		c.Reasons[reason]++
	}
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
