package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// held is the Lost clause of a node that waits for signatures.
const held = "nothing is lost, and transactions are accepted meanwhile"

// SignerAway reports a signer that does not answer. found is the reason.
func SignerAway(address string, found, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the signer cannot be reached: %s: %v", address, found),
		Lost: held,
		Next: "Start it on its machine, `cairn signer run --data-dir DIR --listen HOST:PORT --client PIN`, and check " +
			"the network between the two machines: the node then continues automatically",
		Cause: cause,
	}
}

// SignerSigned reports a signer that has already signed another block of the height, or a later block.
func SignerSigned(height types.Height, hash types.BlockHash, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("double-sign protection: another block may have been signed at this height: the signer has "+
			"signed block %d, %s, for another node or a copy of this one, unless this one has lost blocks", height, hash),
		Lost: "nothing is lost as long as some node has that block",
		Next: "Find out which node has that block, with `cairn block HEIGHT --rpc-url URL` for each node: stop all " +
			"but one node of the signer, and have the others follow it. Only if no node has it, stop the signer, run " +
			"`cairn signer unlock --data-dir DIR`, and start it",
		Cause: cause,
	}
}

// SignerOfOtherChain reports a signer that was made with the genesis of another chain.
func SignerOfOtherChain(cause error) *Emergency {
	return &Emergency{
		What: "the signer belongs to another chain",
		Lost: held,
		Next: "Check the address in --signer; if it is right, make a signer's directory for this chain: `cairn " +
			"signer init --data-dir NEW --genesis FILE --protocol-key FILE`",
		Cause: cause,
	}
}

// SignerOfOtherKey reports a signer with another producer's key.
func SignerOfOtherKey(cause error) *Emergency {
	return &Emergency{
		What: "the signer has the key of another producer",
		Lost: held,
		Next: "Compare --signer and --signer-producer of this node with the output of `cairn signer init`; if they " +
			"are right, production was handed over, and the node may follow with --mode replica",
		Cause: cause,
	}
}

// SignerOfOtherPin reports that another key than the one with the signer's pin answers at the signer's address.
func SignerOfOtherPin(address string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the key that answers at the signer's address, %s, is not the one with the pin in --signer-pin", address),
		Lost: held,
		Next: "Look at the address in --signer; if it is right, start this node with the pin that the signer prints at its " +
			"start, `cairn node --signer HOST:PORT --signer-pin PIN --signer-producer PRODUCER`: " +
			"docs/cluster.md#the-key-on-a-machine-of-its-own",
		Cause: cause,
	}
}

// SignerFailed reports a signer that cannot write its sign state.
func SignerFailed(cause error) *Emergency {
	return &Emergency{
		What: "the signer cannot write its sign state",
		Lost: held,
		Next: "Check the disk of its machine and its log, and start it again: `cairn signer run --data-dir DIR " +
			"--listen HOST:PORT --client PIN`",
		Cause: cause,
	}
}

// DamagedLink reports a damaged key of the link between a node and its signer.
func DamagedLink(path string, cause error) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("%s, by which a node and its signer know each other, is damaged: %v", path, cause),
		Lost: "nothing is lost, because the key can be replaced",
		Next: "Put back a copy of the file, or move it away: `cairn signer link --data-dir DIR` makes another, and prints the " +
			"pin to give to the other end, with --client or --signer-pin",
		Final: true,
		Cause: cause,
	}
}

// SignerLockLost reports a signer whose sign state is missing or damaged, so the last signed block is unknown.
func SignerLockLost(dir string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprint(cause),
		Lost:  "nothing of the chain is lost, but the last block that the key signed is unknown here",
		Next:  fmt.Sprintf("If no node has a block that your nodes lack: `cairn signer unlock --data-dir %s`", dir),
		Final: true,
		Cause: cause,
	}
}
