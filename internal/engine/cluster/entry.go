// Package cluster lets several machines act as one producer. They replicate a log of accepted transactions, decided
// blocks, and the signatures that release them. A block is signed only after it is decided, so a signed block is never
// undone, whichever member leads.
package cluster

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// ErrEntry is returned for an entry that no member of this version writes. A member stops at such an entry: it cannot
// apply it, and skipping it would make it diverge from the others.
var ErrEntry = errors.New("unknown entry in the cluster's log")

// kind is the first byte of an entry.
type kind uint8

const (
	kindTxBatch kind = 1
	kindBlock   kind = 2
	kindRelease kind = 3
	kindNamed   kind = 4 // a Block with Names
)

// Bounds of entries, in bytes.
const (
	// MaxTxBatchBytes bounds the total size of the transactions in a TxBatch.
	MaxTxBatchBytes = 1 << 20
	maxTxBatch      = MaxTxBatchBytes / 100 // transactions: each is longer than 100 bytes
)

// Entry is an entry of the log: a [TxBatch], a [Block] or a [Release].
type Entry interface{ encode() []byte }

// TxBatch holds accepted transactions for every member's pool.
type TxBatch struct {
	Time         uint64 // the leader's time in Unix milliseconds, from which they expire on every member
	Transactions []*types.Tx
}

// Block proposes a block. Its header is final but not signed yet. [newBlock] makes either Encoded or Names.
type Block struct {
	Header  types.Header
	Encoded []byte // bincode(Block) with a seal of zeros
	Names   []byte // the transactions, by their places in batches after the entry Since; the others whole
	Since   uint64
}

// Release holds the signature of a proposal, and makes the proposal the head.
type Release struct {
	Index     uint64 // index of the proposal's entry
	Height    types.Height
	Hash      types.BlockHash
	Signature types.Signature
}

// Encode returns the entry's kind followed by its fields in bincode.
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
	if b.Encoded != nil {
		return append(append(make([]byte, 0, 1+len(b.Encoded)), byte(kindBlock)), b.Encoded...)
	}
	e := codec.NewEncoder(1 + types.SignedHeaderBytes + 8 + len(b.Names))
	e.U8(uint8(kindNamed))
	e.Fixed(types.SignedHeader{Header: b.Header}.Encode())
	e.U64(b.Since)
	e.Fixed(b.Names)
	return e.Data()
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

// Decode decodes an entry. Of a block it decodes only the header, and the block aliases data. Transactions are copied,
// as a single pending one would otherwise keep the whole batch in memory. The error is [ErrEntry], or
// [exec.ErrUnknownVersion] for a block that needs rules which this program does not know.
func Decode(data []byte) (Entry, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("%w: it is empty", ErrEntry)
	}
	var entry Entry
	var err error
	switch k, body := kind(data[0]), data[1:]; k {
	case kindTxBatch:
		entry, err = decodeTxBatch(body)
	case kindBlock, kindNamed:
		entry, err = decodeBlock(body, k == kindNamed)
	case kindRelease:
		entry, err = decodeRelease(body)
	default:
		err = fmt.Errorf("kind %d", k)
	}
	if errors.Is(err, exec.ErrUnknownVersion) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrEntry, err)
	}
	return entry, nil
}

func decodeTxBatch(body []byte) (TxBatch, error) {
	time, encoded, err := splitTxBatch(body)
	i := TxBatch{Time: time}
	for _, b := range encoded {
		tx, err := types.DecodeTx(bytes.Clone(b))
		if err != nil {
			return i, err
		}
		i.Transactions = append(i.Transactions, tx)
	}
	return i, err
}

// splitTxBatch returns a batch's time and its encoded transactions, which alias body.
func splitTxBatch(body []byte) (time uint64, encoded [][]byte, err error) {
	d := codec.NewDecoder(body)
	time = d.U64()
	n, size := d.Length(maxTxBatch, 8), 0
	for range n {
		b := d.Bytes(types.MaxTransactionBytes)
		if d.Err() != nil {
			break
		}
		if size += len(b); size > MaxTxBatchBytes {
			return time, nil, fmt.Errorf("%w: a batch of more than %d bytes", codec.ErrTooLong, MaxTxBatchBytes)
		}
		encoded = append(encoded, b)
	}
	return time, encoded, d.Finish()
}

func decodeBlock(body []byte, named bool) (Block, error) {
	if len(body) > types.MaxEncodedBlockBytes {
		return Block{}, fmt.Errorf("%w: a block of %d bytes", codec.ErrTooLong, len(body))
	}
	start, err := types.DecodeHeaderStart(body)
	if err != nil {
		return Block{}, err
	}
	if !params.Known(start.Version) {
		return Block{}, fmt.Errorf("%w: block %d has protocol version %d", exec.ErrUnknownVersion, start.Height, start.Version)
	}
	header, err := types.DecodeSignedHeader(body[:min(len(body), types.SignedHeaderBytes)])
	if err == nil && header.Seal != (types.Seal{}) {
		err = errors.New("its block already has a seal")
	}
	if err != nil || !named {
		return Block{Header: header.Header, Encoded: body}, err
	}
	d := codec.NewDecoder(body[types.SignedHeaderBytes:])
	b := Block{Header: header.Header, Since: d.U64()}
	if d.Err() == nil {
		b.Names = body[types.SignedHeaderBytes+8:]
	}
	return b, d.Err()
}

func decodeRelease(body []byte) (r Release, err error) {
	d := codec.NewDecoder(body)
	r.Index = d.U64()
	r.Height = types.Height(d.U64())
	d.Fixed(r.Hash[:])
	d.Fixed(r.Signature[:])
	return r, d.Finish()
}
