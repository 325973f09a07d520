package cluster

import (
	"bytes"
	"fmt"
	"hash/maphash"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// maxNamed bounds the part of the log, in bytes, whose transactions a block names.
const maxNamed = 16 << 20

// newBlock returns the entry for a block. The log already has most of the block's transactions: the block names each
// transaction that one of the given entries has, and repeats the others. The given entries follow the entry since.
// Every member has the same log, so all members resolve a name alike, whatever their pools hold.
//
// Names is a Vec of transactions. Each begins with a u32: 0 and the encoded transaction as a Vec<u8>, or the number of a
// batch's entry, counted from since, and the transaction's place in that batch as another u32.
func newBlock(h types.Header, txs []*types.Tx, since uint64, log []*raftpb.Entry) Block {
	type name struct {
		entry, place uint32
		encoded      []byte
	}
	seed := maphash.MakeSeed()
	names := make(map[uint64]name, len(txs))
	for i, e := range log {
		for place, encoded := range transactionsOf(e) {
			names[maphash.Bytes(seed, encoded)] = name{uint32(i + 1), uint32(place), encoded}
		}
	}
	e := codec.NewEncoder(8 + 16*len(txs))
	e.U64(uint64(len(txs)))
	size := 8
	for _, tx := range txs {
		size += len(tx.Encoded())
		if n := names[maphash.Bytes(seed, tx.Encoded())]; bytes.Equal(n.encoded, tx.Encoded()) {
			e.U32(n.entry)
			e.U32(n.place)
			continue
		}
		e.U32(0)
		e.Bytes(tx.Encoded())
	}
	if len(e.Data()) >= size { // the log has hardly any
		return Block{Header: h, Encoded: types.EncodeBlock(types.SignedHeader{Header: h}, txs)}
	}
	return Block{Header: h, Names: e.Data(), Since: since}
}

// transactionsOf returns the encoded transactions of a batch's entry, and none for any other entry.
func transactionsOf(e *raftpb.Entry) [][]byte {
	if !isTxBatch(e) {
		return nil
	}
	_, encoded, _ := splitTxBatch(e.GetData()[1:])
	return encoded
}

// whole returns bincode(Block). log holds the entries between Since and the block. The error is [ErrEntry].
func (b Block) whole(log []*raftpb.Entry) ([]byte, error) {
	if b.Encoded != nil {
		return b.Encoded, nil
	}
	batches := make([][][]byte, len(log))
	for i, e := range log {
		batches[i] = transactionsOf(e)
	}
	d := codec.NewDecoder(b.Names)
	txs := make([][]byte, d.Length(types.MaxBlockTransactions, 8))
	size := 0
	for i := range txs {
		if entry := d.U32(); entry == 0 {
			txs[i] = d.Bytes(types.MaxTransactionBytes)
		} else if place := d.U32(); int64(entry) <= int64(len(batches)) && int64(place) < int64(len(batches[entry-1])) {
			txs[i] = batches[entry-1][place]
		} else {
			return nil, fmt.Errorf("%w: transaction %d of block %d names what is not in the log", ErrEntry, i, b.Header.Height)
		}
		if size += len(txs[i]); size > types.MaxBlockBytes {
			d.Fail(codec.ErrTooLong)
		}
		if d.Err() != nil {
			break
		}
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return types.JoinBlock(types.SignedHeader{Header: b.Header}, txs), nil
}
