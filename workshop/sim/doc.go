// Package sim runs several nodes in one process on a fake clock, a faulty network and faulty disks, all drawn from one
// seed. The nodes are the node's own parts (sequencer, mempool, ledger, contracts, store, replica) wired as package
// node wires them. The network replaces JSON-RPC. The disks are in memory and know what was synced. Clients send
// payments, a deploy and calls of a token to the primary and through replicas.
//
// A seed runs the same again, event for event, which [Report].Digest tells, however the goroutines of a run take turns.
// For this nothing that shows may depend on which of two things at one moment of the clock comes first:
//   - messages travel for times of their own, so that no two arrive at one moment, and the driver waits until all is
//     quiet before it does the next thing;
//   - faults come at blocks, not after some number of writes or requests;
//   - what a process does at the moment at which it ends nobody hears of.
//
// Where a seed does not run the same again, one of these is broken, or a node has a race. Only machines that verify
// signatures in lanes and machines that do not run a seed differently; the log begins with which it is.
//
// A checker looks at every node after each step and keeps a book of all that a node or a client has seen. What no run
// may break are the [Invariant] values; each has at least one [Bug] with which it is broken, and found.
package sim
