// Package clustersim runs the members of a cluster in one process, as a deterministic simulation. Loop, log, ledger,
// pool and store are the real ones; clock, disks and links are simulated, with randomness from a single seed. All
// events run one after the other in one goroutine, on a simulated clock, so a seed reproduces a run event for event:
// equal runs have equal values of [Report].Digest.
//
// Raft draws its election timeouts from crypto/rand.Reader, a global variable. While a member is stepped, that variable
// is the member's own stream, and a lock excludes the worlds of other seeds. Running seeds twice detects a raft that
// draws from elsewhere.
//
// A checker records everything that members sign, release and tell their clients, and checks the [Invariant] values.
// Tests plant twelve bugs into the code of the members or of the simulation, and each must be found.
package clustersim
