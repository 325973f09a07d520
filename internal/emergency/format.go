package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// OtherFormat reports a database with the row format of another program version. versions names the first and last
// version that can read it, or is empty if they are unknown. movable reports whether this program can read its blocks.
func OtherFormat(dir string, has, reads uint32, versions string, movable bool, cause error) *Emergency {
	e := &Emergency{
		What:  fmt.Sprintf("the database in %s has format %d, but this program reads format %d", dir, has, reads),
		Lost:  nothing,
		Final: true,
		Cause: cause,
	}
	if versions != "" {
		e.What += fmt.Sprintf(" (format %d is read by the versions %s)", has, versions)
	}
	switch {
	case has > reads:
		e.Next = "A newer version wrote it: install that version again; `cairn version` shows the installed one"
	case movable:
		e.Next = fmt.Sprintf("Move it with all that it has: `cairn db move --from %s --to NEW`", dir)
	default:
		e.Next = fmt.Sprintf("Write its blocks with the version that reads it, `cairn db export --data-dir %s --out "+
			"blocks.bin`, read them with this one, `cairn db import --genesis %s/genesis.json --data-dir NEW --input "+
			"blocks.bin`, and have `cairn db move --from %s --to NEW` carry the rest", dir, dir, dir)
	}
	return e
}

// OldProtocol reports a data directory of version 1 of the protocol. versions names the first and last program version
// that can read it, or is empty if they are unknown.
func OldProtocol(dir, versions string, cause error) *Emergency {
	e := &Emergency{
		What: fmt.Sprintf("the chain in %s has protocol version 1, but this program supports only later ones", dir),
		Lost: nothing,
		Next: fmt.Sprintf("Start a new chain with its balances: `cairn db balances --data-dir %s --producer KEY "+
			"--admin ACCOUNT` writes the genesis. Then deploy the contracts again: "+
			"docs/operators.md#from-version-1-of-the-protocol", dir),
		Final: true,
		Cause: cause,
	}
	if versions != "" {
		e.What += fmt.Sprintf(" (it is read by the versions %s)", versions)
	}
	return e
}

// OtherSchedule reports a chain with another gas schedule than this program's.
func OtherSchedule(dir string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the chain in %s was made under a different gas schedule than this program's, so its "+
			"blocks would have different results here", dir),
		Lost:  nothing,
		Next:  "Run it with the version that made it: `cairn version` shows a program's schedule",
		Final: true,
		Cause: cause,
	}
}

// PrunedMove reports a database of an older format that lacks the blocks to execute again.
func PrunedMove(dir string, oldest types.Height, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the database in %s has another format, and blocks before %d are pruned, so they cannot be "+
			"executed again", dir, oldest),
		Lost: nothing,
		Next: fmt.Sprintf("Make a snapshot with the version that wrote it, `cairn snapshot create --data-dir %s`, begin with "+
			"it here, `cairn snapshot import %s/snapshots/HEIGHT --genesis-hash HASH --data-dir NEW`, and move again", dir, dir),
		Final: true,
		Cause: cause,
	}
}

// Moved reports a directory that was moved elsewhere. Its key now signs in the new place.
func Moved(dir, to string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("%s was moved to %s, and two nodes with one key would make two chains", dir, to),
		Lost:  nothing,
		Next:  fmt.Sprintf("Start the node there: `cairn node --data-dir %s`", to),
		Final: true,
		Cause: cause,
	}
}

// MoveUnfinished reports a directory into which a move has not completed.
func MoveUnfinished(dir, from string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("the move from %s to %s is incomplete", from, dir),
		Lost:  "nothing is lost, the old directory is unchanged",
		Next:  fmt.Sprintf("Continue it: `cairn db move --from %s --to %s`", from, dir),
		Final: true,
		Cause: cause,
	}
}

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
