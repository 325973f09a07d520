// Package clustersim runs the members of a cluster in one process. Loop, log, ledger, pool and store are the real ones;
// clock, disks and links are drawn from one seed. Everything happens in one goroutine, one event after the other
// on a clock of the world's own. So a seed runs the same again, event for event; [Report].Digest tells.
//
// raft draws how long it waits for a leader from crypto/rand.Reader, which is a variable of the process. While a member
// is stepped it is that member's own stream, and a lock keeps the worlds of other seeds out. A raft that draws
// otherwise is found by running seeds twice.
//
// A checker keeps a book of what members sign, release and tell their clients. What no run may break are the
// [Invariant] values. Each of twelve bugs, planted into the code of the members or of the world, is found.
package clustersim
