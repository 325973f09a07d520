//go:build !amd64 || purego

package lanes

// Available reports whether the processor has the instructions for Decide and AllHold.
func Available() bool { return false }

// Decide decides the equations. Without vector kernels it leaves all unsettled.
func Decide(*[Count]Equation) Verdict { return Verdict{Unsettled: 0xff} }

// AllHold reports whether all equations hold. Without vector kernels it always returns false.
func AllHold([]Equation, []Coefficient) bool { return false }
