// Package mempool holds the transactions that wait for a block.
//
// A transaction enters through [Pool.Add] in three steps, cheapest first. The rules that cost little come first:
// decoding, exec.CheckStatic, nonce, affordability, replacement, room. Its signature is verified next, in batches over
// concurrent callers. Then it goes into the journal and the pool. A sender's transactions from its account's nonce on,
// without a gap and together payable, are executable; its others are held until they become so. [Pool.Best] gives the
// executable ones to a block's builder, [Pool.Reset] tells the pool what a block changed.
//
// No lock is held while an account is read or a file is written: what was judged without the lock is judged again
// under it.
package mempool
