// Package cluster is what several machines that are one producer decide together. Their log holds transactions that
// were taken, blocks that were decided, and the signatures that release them. A block is signed only once it is
// decided, so what is signed can no longer be undone, whoever leads.
package cluster

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// ErrEntry is an entry that no member of this version writes. A member stops before it: it cannot apply the entry, and to
// skip it would be to follow another log.
var ErrEntry = errors.New("the entry of the cluster's log is not known")

// kind is the first byte of an entry.
type kind uint8

const (
	kindTxBatch kind = 1
	kindBlock   kind = 2
	kindRelease kind = 3
)

// Bounds of entries, in bytes.
const (
	// MaxTxBatchBytes bounds the transactions of a TxBatch together.
	MaxTxBatchBytes = 1 << 20
	maxTxBatch      = MaxTxBatchBytes / 100 // transactions: none is as short
)

// Entry is an entry of the log: a [TxBatch], a [Block] or a [Release].
type Entry interface{ encode() []byte }

// TxBatch has acknowledged transactions, which every member's pool takes.
type TxBatch struct {
	Time         uint64 // Unix milliseconds of the leader, by which they expire on every member
	Transactions []*types.Tx
}

// Block proposes a block. Its header is final and not signed yet.
type Block struct {
	Header  types.Header
	Encoded []byte // bincode(Block) with a signature of zeros
}

// Release has the signature of a proposal, which makes it the head.
type Release struct {
	Index     uint64 // of the proposal's entry
	Height    types.Height
	Hash      types.BlockHash
	Signature types.Signature
}

// Encode returns an entry's kind and its fields in bincode.
func Encode(e Entry) []byte { return e.encode() }

func (i TxBatch) encode() []byte {
	size := 1 + 8 + 8
	for _, tx := range i.Transactions {
		size += 8 + len(tx.Encoded())
	}
	e := codec.NewEncoder(size)
	e.U8(uint8(kindTxBatch))
	e.U64(i.Time)
	e.U64(uint64(len(i.Transactions)))
	for _, tx := range i.Transactions {
		e.Bytes(tx.Encoded())
	}
	return e.Data()
}

func (b Block) encode() []byte {
	return append(append(make([]byte, 0, 1+len(b.Encoded)), byte(kindBlock)), b.Encoded...)
}

func (r Release) encode() []byte {
	e := codec.NewEncoder(1 + 8 + 8 + len(r.Hash) + len(r.Signature))
	e.U8(uint8(kindRelease))
	e.U64(r.Index)
	e.U64(uint64(r.Height))
	e.Fixed(r.Hash[:])
	e.Fixed(r.Signature[:])
	return e.Data()
}

// Decode decodes what Encode gives. It looks at a block's header only, and a block aliases data; transactions do not:
// one that is pending for long would keep all others. The error is [ErrEntry].
func Decode(data []byte) (Entry, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrEntry)
	}
	var entry Entry
	var err error
	switch k, body := kind(data[0]), data[1:]; k {
	case kindTxBatch:
		entry, err = decodeTxBatch(body)
	case kindBlock:
		entry, err = decodeBlock(body)
	case kindRelease:
		entry, err = decodeRelease(body)
	default:
		err = fmt.Errorf("of kind %d", k)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return entry, nil
}

func decodeTxBatch(body []byte) (TxBatch, error) {
	d := codec.NewDecoder(body)
	i := TxBatch{Time: d.U64()}
	n, size := d.Length(maxTxBatch, 8), 0
	for range n {
		encoded := d.Bytes(types.MaxTransactionBytes)
		if d.Err() != nil {
			break
		}
		if size += len(encoded); size > MaxTxBatchBytes {
			return i, fmt.Errorf("%w: a batch of more than %d bytes", codec.ErrTooLong, MaxTxBatchBytes)
		}
		tx, err := types.DecodeTx(bytes.Clone(encoded))
		if err != nil {
			return i, err
		}
		i.Transactions = append(i.Transactions, tx)
	}
	return i, d.Finish()
}

func decodeBlock(body []byte) (Block, error) {
	if len(body) > types.MaxBlockBytes+types.SignedHeaderBytes+8 {
		return Block{}, fmt.Errorf("%w: a block of %d bytes", codec.ErrTooLong, len(body))
	}
	header, err := types.DecodeSignedHeader(body[:min(len(body), types.SignedHeaderBytes)])
	if err == nil && header.Signature != (types.Signature{}) {
		err = errors.New("its block is signed")
	}
	return Block{header.Header, body}, err
}

func decodeRelease(body []byte) (r Release, err error) {
	d := codec.NewDecoder(body)
	r.Index = d.U64()
	r.Height = types.Height(d.U64())
	d.Fixed(r.Hash[:])
	d.Fixed(r.Signature[:])
	return r, d.Finish()
}
