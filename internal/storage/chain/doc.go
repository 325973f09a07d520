// Package chain remembers the chain: blocks, receipts, indices, accesses, the state of the head and how to come back
// from it to earlier ones. A block is one atomic, synced batch, so the head is never ahead of what belongs to it.
//
// Every row's key begins with the byte of its table; integers in keys are big-endian, so that they sort:
//
//	m  name                     meta: format, schedule, genesis, head, oldest, half pruned, archive,
//	                            stateless, bytes of witnesses
//	h  height                   signed header
//	n  block hash               height
//	t  height, first index      transactions of a block from that index on, as a run of byte vectors of about 16 KiB
//	r  height, first index      receipts, likewise
//	l  height, first index      accesses, as bincode(Vec<Access>) of about 16 KiB
//	x  transaction ID           height, index
//	a  account, height          indices of the block's transactions that concern the account, u32 each, ascending
//	s  state key                value at the head
//	p  path of a state key      leaf digest, state key
//	y  length u16, state key,   the value that the block at that height replaced; empty: there was none
//	   height
//	c  code hash                code
//	z  code hash                height of the block that brought the code, its length u32
//	f  height, index            why a transaction failed, as text
//	d  height, index            ID of the contract that a transaction deployed
//	e  kind, name, height       the block's events of that name: index of the transaction u32, of the event within the
//	                            block u32, within the transaction u16; the kinds of names are in events.go
//	b  token, account           what Transfer events of a NEP-20 token add up to for the account, 128 bits, not 0
//	o  token, sum, account      nothing: the same, the largest sum first
//	w  height                   what the block's proof is to be made of, while it has none
//	q  height                   the block's proof
//	g  height                   how many accounts, contracts and storage entries the state after the block has, u64 each
//
// The value of a key after block H is that of its first y row above H, else that of its s row. Only kept blocks have
// rows, but the header of block 0 and the tables c, z, d, b and o, which are of the whole chain, always stay. A store
// without state has the parameters alone in s and y, and no rows in p, d, b and o. In c and z it has the codes that its
// blocks used, z with the height of the last one.
package chain
