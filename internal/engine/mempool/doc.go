// Package mempool holds the transactions that wait for a block.
//
// A transaction enters through [Pool.Add] in three steps, cheapest first. First come the cheap rules: decoding,
// exec.CheckStatic, nonce, affordability for sender and payer, the claims of its witnesses, replacement, room. Then its
// witnesses are verified, in batches across concurrent callers. Finally it is added to the journal and the pool. A
// sender's transactions are executable if they follow the account's nonce without a gap and are payable together; its
// others are held until they become so. The fee caps of all that an account pays for as the payer of others are reserved
// from its balance. [Pool.Best] returns the executable transactions to a block builder, and [Pool.Reset] applies a new
// block's changes to the pool.
//
// No lock is held while an account is read or a file is written: checks made without the lock are repeated under it.
package mempool
