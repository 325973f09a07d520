//go:build !amd64 || purego

package field

// evaluateLanes evaluates nothing and returns false: this build has no vector kernel.
func (c *Coset) evaluateLanes(_, _ Vector) bool { return false }
