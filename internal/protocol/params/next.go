//go:build cairn_next

package params

// A program that is built with the tag cairn_next knows one version more than is released, with the newest rules. Tests
// of upgrades run it beside the released one.
func init() { Learn() }
