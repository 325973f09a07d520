// Package sim runs several nodes in one process on a fake clock, a faulty network and faulty disks, all drawn from one
// seed. The log's digest tells whether two runs of a seed were the same: where two goroutines of a node race at one moment
// of the clock, they may not be. The nodes are the node's own parts (sequencer, mempool, ledger, store, replica) wired as
// package node wires them; the network takes the place of JSON-RPC, and the disks are in memory and know what was synced.
//
// A checker looks at every node after each step and keeps a book of all that a node or a client has seen. What no run may
// break are the [Invariant] values; each has at least one [Bug] with which it is broken, and found.
package sim
