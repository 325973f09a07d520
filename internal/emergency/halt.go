package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// served is the Lost clause of a node that halted.
const served = "nothing is lost, and verified blocks are still served"

// UnknownVersion reports a chain whose next block needs rules that the program does not know.
func UnknownVersion(version uint32, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("this node has halted before the first block of version %d of the protocol, which it does not know",
			version),
		Lost: "nothing is lost, pending transactions stay in the journal",
		Next: fmt.Sprintf("Install a newer program and start this node again; `cairn upgrade check --version %d URL` says whether "+
			"the program of a node knows the version: docs/operators.md#upgrades", version),
		Cause: cause,
	}
}

// Diverged reports a signed block whose execution on this node gives another result. found names the block and the
// difference.
func Diverged(found string, cause error) *Emergency {
	return &Emergency{
		What: "this node has halted: " + found,
		Lost: served,
		Next: "Keep halted.json until you know which node is right: compare `cairn status` of other replicas, and " +
			"test this machine's memory, as docs/operators.md#when-a-replica-halts describes",
		Cause: cause,
	}
}

// Equivocated reports a producer that signed two blocks of one height, one on this node and one on an upstream.
func Equivocated(producer types.PublicKey, height types.Height, here, there types.BlockHash, upstream string) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("double-sign: the producer %s signed two blocks of height %d: %s, which is here, and %s, "+
			"which %s has",
			producer, height, here, there, upstream),
		Lost: "nothing is lost here, but transactions in only one of the two chains are lost to users of the other",
		Next: "Ask the chain's operator which of the two chains continues. If it is the other one, start over in an " +
			"empty directory: `cairn node --mode replica --data-dir NEW --upstream URL --genesis-hash HASH`",
	}
}

// EngineFailed reports a block that no engine of this node can execute, although it may be valid.
func EngineFailed(found string, cause error) *Emergency {
	return &Emergency{
		What: "this node has halted: " + found,
		Lost: served,
		Next: "Keep a copy of halted.json, install a newer program (`cairn version` shows which one is installed), move " +
			"halted.json away, and start again",
		Cause: cause,
	}
}

// StillHalted reports at the start that the node has halted before.
func StillHalted(file, reason string, height types.Height) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("this node has halted before block %d (%s), and stays so until %s is moved away", height, reason, file),
		Lost: served,
		Next: "First find out which node is right, with `cairn status` of other replicas: " +
			"docs/operators.md#when-a-replica-halts",
	}
}

// Disagreed reports a cluster member whose result differs from the cluster's decision.
func Disagreed(found string, cause error) *Emergency {
	return &Emergency{
		What: "this member's state has diverged from its cluster: " + found,
		Lost: "nothing is lost, as the others have everything committed",
		Next: "Keep a copy of halted.json, and start this member again; if it halts again, remove it with " +
			"`cairn cluster remove NAME`, and " + begin,
		Cause: cause,
	}
}
