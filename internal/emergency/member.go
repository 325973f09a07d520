package emergency

import (
	"fmt"

	"github.com/cairn-chain/cairn/types"
)

// begin is the instruction to start a new member.
const begin = "begin with a new directory that has the cluster's genesis.json, and `cairn cluster join`"

// WrongProducerKey reports a cluster member with another producer's key than the chain's.
func WrongProducerKey(chain, found types.PublicKey) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("the chain's producer is %s, and the key of this member is that of %s, with which it would make "+
			"no block", chain, found),
		Lost: nothing,
		Next: "Give this member the cluster's protocol.key, or take the key away and add it with `cairn cluster add NAME " +
			"--no-key`; while the producer's key is rotated, the new one goes with --next-protocol-key",
		Final: true,
	}
}

// EndedMember reports the directory of a member that has been ordered never to run again.
func EndedMember(dir, told string, cause error) *Emergency {
	return &Emergency{
		What:  fmt.Sprintf("%s must not run again, as the other members have told this one: %s", dir, told),
		Lost:  "nothing more is lost",
		Next:  "Keep it off, and " + begin,
		Final: true,
		Cause: cause,
	}
}

// OtherChain reports a member whose genesis file belongs to another chain than its cluster's.
func OtherChain(theirs, ours types.BlockHash) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("that member is of another chain: its genesis block is %s, but the genesis.json here gives "+
			"%s",
			theirs, ours),
		Lost: nothing,
		Next: "If the address is right, " + begin,
	}
}

// OtherCluster reports that the member at the other end belongs to another cluster.
func OtherCluster() *Emergency {
	return &Emergency{
		What: "that member belongs to another cluster than this directory",
		Lost: nothing,
		Next: "Check the addresses of the members; if they are right, " + begin,
	}
}

// OtherPin reports that the member at the other end has another key than the pinned one.
func OtherPin() *Emergency {
	return &Emergency{
		What: "the key of the member at that address is not the one with the expected pin",
		Lost: nothing,
		Next: "Compare with the pin that `cairn cluster status` on that member shows; if this directory has an old one, " + begin,
	}
}

// RemovedMember is the message for a member that its cluster has removed.
func RemovedMember(height types.Height) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("this member was removed from the cluster at block %d, and its directory must not run again", height),
		Lost: "nothing is lost, as the other members have the same data",
		Next: "To have a member here again, " + begin,
	}
}

// ForgottenMember is the message for a member whose disk is an older copy.
func ForgottenMember() *Emergency {
	return &Emergency{
		What: "this disk is an older copy, which lacks votes or entries that this member has confirmed to the others",
		Lost: "nothing is lost, as the other members have the same data",
		Next: "Remove the member with `cairn cluster remove NAME`, and " + begin,
	}
}

// RecoveredWithout is the message for a member of a cluster that has been recovered from another member's disk.
func RecoveredWithout(height types.Height) *Emergency {
	return &Emergency{
		What: fmt.Sprintf("this cluster was recovered at block %d without you: this disk must not run", height),
		Lost: "blocks and transactions beyond that block that only this disk has are lost to the chain",
		Next: "Keep it off, and " + begin,
	}
}

// NoLeader reports a cluster without a leader. voters says how many members are reached and how many are needed.
func NoLeader(voters string) *Emergency {
	return &Emergency{
		What: "this member hears of no leader of the cluster: " + voters,
		Lost: "nothing that was acknowledged is lost",
		Next: "See with `cairn cluster status` which members are not reached, and start them; docs/cluster.md#operate says what " +
			"to do if most are lost for good",
	}
}
