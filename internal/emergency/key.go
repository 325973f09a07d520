package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// Unrecorded reports a producer's key without a sign state on a chain that has blocks of the key.
func Unrecorded(dir, keyFile, lockDir string, head types.Height, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the key's sign state (double-sign protection) is missing: the chain in %s has blocks "+
			"signed by the key, up to block %d, but %s has no sign state for it, as after a restore from a backup", dir, head, lockDir),
		Lost: "nothing is lost here, but the key may have signed later blocks than this directory has",
		Next: fmt.Sprintf("Stop every other node that has the key, and confirm the height: `cairn promote --from-dead "+
			"--data-dir %s --protocol-key %s --lock-dir %s --alone`, with --replica URL for each replica in place of --alone",
			dir, keyFile, lockDir),
		Final: true,
		Cause: cause,
	}
}

// SignedElsewhere reports that another node signed a block with this node's key.
func SignedElsewhere(height types.Height) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("double-sign protection: another node signed block %d with the key of this one, so this "+
			"one makes no blocks", height),
		Lost: nothing,
		Next: "While that node may run, start this one without the key; once it is off for good, stop this one and run " +
			"`cairn promote --from-dead --data-dir DIR --protocol-key FILE --replica URL`",
	}
}

// BlocksMissing reports a chain that ends before the newest block that the node's key signed.
func BlocksMissing(
	signed types.Height, hash types.BlockHash, head types.Height, dir, lock string, cause error,
) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the node's key signed block %d, %s, and the chain here ends at block %d", signed, hash, head),
		Lost: fmt.Sprintf("blocks %d to %d are lost here, and a replica may have them", head+1, signed),
		Next: fmt.Sprintf("Start with a replica that has them: `cairn node --data-dir %s --upstream URL`; if nobody has "+
			"them, move %s away, run `cairn promote --from-dead --data-dir %s --protocol-key FILE --alone`, and tell the "+
			"chain's users that blocks from %d on are replaced", dir, lock, dir, head+1),
		Final: true,
		Cause: cause,
	}
}

// BlockReplaced reports a chain with another block at a height for which the node's key signed one.
func BlockReplaced(
	signed types.Height, hash, here types.BlockHash, dir, lock string, cause error,
) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the node's key signed block %d, %s, and the chain here has another one, %s", signed, hash, here),
		Lost: "the blocks of the other chain from that one on are lost here",
		Next: fmt.Sprintf("Restore the copy that has that block, or follow this chain without the key; to make blocks "+
			"after this one all the same move %s away, run `cairn promote --from-dead --data-dir %s --protocol-key FILE "+
			"--alone`, and tell the chain's users that blocks from %d on are replaced", lock, dir, signed),
		Final: true,
		Cause: cause,
	}
}

// OtherProducer reports a key that is not the key of the chain's producer. self names the owner of the key: a node or a
// cluster's member.
func OtherProducer(chain, found types.PublicKey, self string) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the chain's producer is %s, and the key of this %s is that of %s",
			types.Account(chain), self, types.Account(found)),
		Lost: nothing,
		Next: "If production was handed to another node this is right; else give this one the producer's key: `cairn node " +
			"--data-dir DIR --protocol-key FILE`",
	}
}

// BlocksAwaited reports a node that makes no blocks until it has all blocks that its key signed.
func BlocksAwaited(signed types.Height, hash types.BlockHash, head types.Height) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the key of this node signed block %d, %s, and the chain here ends at block %d: the missing blocks "+
			"are needed first", signed, hash, head),
		Lost: "nothing is lost if the upstream has them",
		Next: "Wait while `cairn status` shows that they come; if they do not, name an upstream that has them: `cairn node " +
			"--data-dir DIR --upstream URL`",
	}
}

// BadKey reports a producer's key file that is missing or invalid. found is the reason.
func BadKey(path, found string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the producer's key %s cannot be used: %s", path, found),
		Lost: "nothing of the chain is lost; if no copy of the key is left, see docs/operators.md#when-a-key-is-lost",
		Next: "Put the copy of the key's file there, with mode 0600, or name another file, `cairn node --protocol-key FILE`; a " +
			"node without the key follows the producer's with --mode replica --upstream URL",
		Final: true,
		Cause: cause,
	}
}
