// Package replica follows a chain that another node makes: it fetches blocks from upstreams, verifies signatures ahead
// of execution, and has the ledger execute each block and compare its roots. What it did not verify is never stored, so
// never served.
//
// An upstream is trusted with nothing but its time: one that lies, stalls or stays behind is left for another. The
// producer is trusted with the order of transactions only. If it signed an invalid block, or two blocks of one height,
// the replica halts for good, with the evidence in a file (see [Halt]). This is so of the producer in force: one that
// has handed over can halt nobody.
package replica
