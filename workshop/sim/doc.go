// Package sim runs several nodes in one process on a simulated clock, a faulty network and faulty disks, with
// randomness from a single seed. The nodes consist of the real components (sequencer, mempool, ledger, contracts,
// store, replica), wired as in package node. The network replaces JSON-RPC. The disks are in memory and know which data
// was synced. Clients send payments, a deploy and calls of a token to the primary and through replicas.
//
// A seed reproduces a run event for event, however the goroutines are scheduled; equal runs have equal values of
// [Report].Digest. Nothing observable may therefore depend on the order of two actions at one time of the clock:
//   - messages have distinct latencies, so that no two arrive at one time, and the driver waits until all goroutines
//     are idle before its next action;
//   - faults strike at blocks, not after a number of writes or requests;
//   - actions of a process at the very time of its end have no effect.
//
// If a seed does not reproduce a run, one of these rules is broken, or a node has a race. Runs differ only between
// machines that verify signatures in lanes and machines that do not; the log begins with this property.
//
// A checker inspects every node after each step and records everything that nodes and clients have seen. Every run must
// satisfy the [Invariant] values; for each there is at least one [Bug] that violates it and is found.
package sim
