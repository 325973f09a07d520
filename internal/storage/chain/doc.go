// Package chain stores the chain: blocks, receipts, indices, accesses, the state of the head, and the data to restore
// earlier states from it. A block is written in one atomic, synced batch, so the head is never ahead of its data.
//
// Every row's key begins with the byte of its table. Integers in keys are big-endian, so that they sort:
//
//	m  name                     meta: format, schedule, genesis, head, oldest, half pruned, archive,
//	                            stateless, bytes of witnesses, outline of the state tree
//	h  height                   signed header
//	n  block hash               height
//	t  height, first index      transactions of a block from that index on, as a run of byte vectors of about 16 KiB
//	r  height, first index      receipts, likewise
//	l  height, first index      accesses, as bincode(Vec<Access>) of about 16 KiB
//	x  transaction ID           height, index
//	a  account, height          indices of the block's transactions that concern the account, u32 each, ascending
//	s  state key                value at the head
//	p  path of a state key      leaf digest, state key
//	y  length u16, state key,   the value that the block at that height replaced; empty if there was none
//	   height
//	c  code hash                code
//	z  code hash                height of the block that brought the code, its length u32
//	f  height, index            failure reason of a transaction, as text
//	d  height, index            ID of the contract that a transaction deployed
//	e  kind, name, height       the block's events of that name: index of the transaction u32, of the event within the
//	                            block u32, within the transaction u16; the kinds of names are in events.go
//	b  token, account           sum of the account's Transfer events of a NEP-20 token, 128 bits, not 0
//	o  token, sum, account      empty; the same sums, largest first
//	w  height                   witness for the block's proof, while it has none
//	q  height                   the block's proof
//	u  height                   witness of a block that has its proof, for the proofs of spans
//	k  span                     proof of a span of several blocks
//	g  height                   numbers of accounts, contracts and storage entries after the block, u64 each
//	i  height                   sizes of the block's lists
//	R                           raft log of a cluster's member, see package raftlog
//
// The value of a key after block H is the value in its first y row above H, else in its s row. Only stored blocks have
// rows, except that the header of block 0 and the tables c, z, d, b and o, which cover the whole chain, are always
// kept. A stateless store has only the parameters in s and y, and no rows in p, d, b and o. Its c and z rows are for
// the codes that its blocks used, with the height of the last such block in z.
package chain
