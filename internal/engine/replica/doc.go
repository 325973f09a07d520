// Package replica follows a chain that another node makes. It fetches blocks from upstreams and verifies signatures
// ahead of execution; the ledger executes each block and compares its roots. Unverified data is never stored, and so
// never served.
//
// Upstreams are not trusted: one that lies, stalls or falls behind is replaced by another. The producer is trusted only
// with the order of transactions. If it signed an invalid block, or two blocks of one height, the replica halts for
// good, with the evidence in a file (see [Halt]). This applies only to the current producer: a former one cannot halt
// the replica.
package replica
