// Package chain remembers the chain: blocks, receipts, indices, accesses, the state of the head and how to come back
// from it to earlier ones. A block is one atomic, synced batch, so the head is never ahead of what belongs to it.
//
// Every row's key begins with the byte of its table; integers in keys are big-endian, so that they sort:
//
//	m  name                     meta: format, schedule, genesis, head, oldest
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
//	c  code hash                height of the block that brought the code, code
//
// The value of a key after block H is that of its first y row above H, else that of its s row. Only kept blocks have
// rows, but the header of block 0 always stays.
package chain
