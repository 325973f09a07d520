package emergency

import "fmt"

// OtherGenesis is told of a genesis that is not the one of the chain in a data directory.
func OtherGenesis(dir, stored, given string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the genesis hash of the chain in %s is %s, that of the genesis given %s", dir, stored, given),
		Lost: nothing,
		Next: "One of the two is in the wrong place: name the directory of that chain with --data-dir, or move the " +
			"genesis file away, as a directory that has a chain does not need it",
		Final: true,
		Cause: cause,
	}
}
