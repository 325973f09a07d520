package cluster

import (
	"bytes"
	"fmt"
	"math"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// maxNamed bounds the part of the log, in bytes, whose transactions a block names, and the part that is kept decoded.
const maxNamed = 16 << 20

// recent holds the transactions of the batches after the machine's base, by their entries' indexes, as they were
// decoded for the pool: the next block names most of them. It holds the earliest batches, of up to maxNamed bytes.
type recent struct {
	batches map[uint64][]*types.Tx
	bytes   int
}

func (r *recent) add(e *raftpb.Entry, txs []*types.Tx) {
	if r.batches == nil {
		r.batches = make(map[uint64][]*types.Tx)
	}
	if r.bytes += len(e.GetData()); r.bytes <= maxNamed {
		r.batches[e.GetIndex()] = txs
	}
}

// logEntry is an entry of the log whose transactions a block may name.
type logEntry struct {
	entry *raftpb.Entry
	txs   []*types.Tx // nil if they are not in memory
}

// after returns the entries of the log after an index, up to the entry to.
func (m *Member) after(since, to uint64) ([]logEntry, error) {
	if since >= to {
		return nil, nil
	}
	entries, err := m.Log.Entries(since+1, to+1, math.MaxUint64)
	log := make([]logEntry, len(entries))
	for i, e := range entries {
		log[i] = logEntry{e, m.recent.batches[e.GetIndex()]}
	}
	return log, err
}

// transactions returns the transactions of a batch's entry, and none for any other entry.
func (l logEntry) transactions() []*types.Tx {
	if l.txs != nil || !isTxBatch(l.entry) {
		return l.txs
	}
	decoded, _ := Decode(l.entry.GetData()) // it is applied, so it decodes
	batch, _ := decoded.(TxBatch)
	return batch.Transactions
}

// newBlock returns the entry for a block. The log already has most of the block's transactions: the block names each
// transaction that one of the given entries has, and repeats the others. The given entries follow the entry since.
// Every member has the same log, so all members resolve a name alike, whatever their pools hold.
//
// Names is a Vec of transactions. Each begins with a u32: 0 and the encoded transaction as a Vec<u8>, or the number of a
// batch's entry, counted from since, and the transaction's place in that batch as another u32.
func newBlock(h types.Header, txs []*types.Tx, since uint64, log []logEntry) Block {
	type name struct {
		entry, place uint32
		tx           *types.Tx
	}
	names := make(map[types.TxID]name, len(txs))
	for i, l := range log {
		for place, tx := range l.transactions() {
			names[tx.ID()] = name{uint32(i + 1), uint32(place), tx}
		}
	}
	e := codec.NewEncoder(8 + 16*len(txs))
	e.U64(uint64(len(txs)))
	size := 8
	for _, tx := range txs {
		size += len(tx.Encoded())
		if n := names[tx.ID()]; n.tx != nil && bytes.Equal(n.tx.Encoded(), tx.Encoded()) { // an ID covers no witness
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

// transactions returns the block's transactions. log holds the entries between Since and the block. The error is
// [ErrEntry].
func (b Block) transactions(log []logEntry) ([]*types.Tx, error) {
	if b.Encoded != nil {
		_, txs, err := types.DecodeBlockTxs(b.Encoded)
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrEntry, err)
		}
		return txs, err
	}
	batches := make([][]*types.Tx, len(log))
	for i, l := range log {
		batches[i] = l.transactions()
	}
	d := codec.NewDecoder(b.Names)
	txs := make([]*types.Tx, d.Length(types.MaxBlockTransactions, 8))
	size := 0
	for i := range txs {
		if entry := d.U32(); entry == 0 {
			encoded := d.Bytes(types.MaxTransactionBytes)
			if d.Err() != nil {
				break
			}
			var err error
			if txs[i], err = types.DecodeTx(encoded); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrEntry, err)
			}
		} else if place := d.U32(); int64(entry) <= int64(len(batches)) && int64(place) < int64(len(batches[entry-1])) {
			txs[i] = batches[entry-1][place]
		} else {
			return nil, fmt.Errorf("%w: the log has no transaction %d of block %d", ErrEntry, i, b.Header.Height)
		}
		if size += len(txs[i].Encoded()); size > types.MaxBlockBytes {
			d.Fail(codec.ErrTooLong)
			break
		}
	}
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return txs, nil
}
