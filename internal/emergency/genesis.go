package emergency

import "fmt"

// BadGenesis reports a genesis file that is empty or cannot be read. wanted is the expected hash of block 0, or empty
// if it is unknown here.
func BadGenesis(path, found, wanted, dir string, cause error) *Emergency {
	e := &Emergency{
		What:  fmt.Sprintf("the genesis file %s %s", path, found),
		Lost:  "nothing is lost, each node of the chain has its genesis",
		Final: true,
		Cause: cause,
	}
	if wanted == "" {
		e.Next = "Copy genesis.json from another node of the chain, or from the directory that `cairn init` made, " +
			"and compare its hash, which `cairn doctor` shows, with the hash that the chain's operator published"
		return e
	}
	e.Next = fmt.Sprintf("The right one has the genesis hash %s, which `cairn doctor` compares: copy it from another node of "+
		"the chain, or move this file away, as the chain in %s does not need it", wanted, dir)
	return e
}

// BadOverride reports an override of the parameters, HEIGHT:FILE, that cannot be used. found is the reason.
func BadOverride(text string, found error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the override of the chain's parameters, %s, cannot be used: %v", text, found),
		Lost: nothing,
		Next: "Give this node the height and the file that all other nodes have, `cairn node --override-parameters " +
			"HEIGHT:FILE`: docs/operators.md#when-a-key-is-lost",
		Final: true,
		Cause: found,
	}
}

// OtherGenesis reports a genesis that differs from the genesis of the chain in a data directory.
func OtherGenesis(dir, stored, given string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the chain in %s has the genesis hash %s, but the given genesis has the hash %s", dir, stored, given),
		Lost: nothing,
		Next: "One of the two is in the wrong place: name the directory of that chain, `cairn node --data-dir DIR`, or move " +
			"the genesis file away, as a directory that has a chain does not need it",
		Final: true,
		Cause: cause,
	}
}
