//go:build !amd64 || purego

package lanes

// Available says whether the processor has what Decide and AllHold need.
func Available() bool { return false }

// Decide decides the equations; without vector kernels it leaves all unsettled.
func Decide(*[Count]Equation) Verdict { return Verdict{Unsettled: 0xff} }

// AllHold says whether all equations hold; without vector kernels it does not know.
func AllHold([]Equation, []Coefficient) bool { return false }
