package types

import (
	"encoding/binary"
	"fmt"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto/bip340"
)

var blockTag = bip340.NewTag("cairn/block/v2")

// Header commits to a block and to the state after it.
type Header struct {
	Version          uint32 // protocol version: [Parameters.VersionAt] the timestamp
	ChainID          uint64
	Height           Height
	Parent           BlockHash // [Genesis.Digest] for the header of height 0
	Timestamp        uint64    // milliseconds since 1970, at least the parent's
	Producer         PublicKey
	TransactionsRoot MerkleRoot // of the block's transactions
	ReceiptsRoot     MerkleRoot // of their receipts
	StateRoot        StateRoot  // state after the block
	GasUsed          Gas        // sum over all transactions
	GasLimit         Gas        // from the parameters
	BaseFee          Amount     // per gas
}

// Seal shows that a producer released a block. It is an enum whose only variant is Signature.
type Seal struct {
	Signature Signature // BIP-340, by the header's producer over the block hash
}

// SignedHeader is a header with its seal. The block hash does not cover the seal.
type SignedHeader struct {
	Header Header
	Seal   Seal
}

// Block is a sealed header and its transactions.
type Block struct {
	Header       Header
	Seal         Seal
	Transactions []SignedTransaction
}

// HeaderBytes is the length of an encoded header; SignedHeaderBytes is its length with the seal.
const (
	HeaderBytes       = 4 + 8 + 8 + 32 + 8 + 32 + 3*32 + 3*8
	SignedHeaderBytes = HeaderBytes + 4 + 64
)

// sealSignature is the variant number of a seal.
const (
	sealSignature = iota
	sealKinds
)

func (s Seal) encode(e *codec.Encoder) {
	e.U32(sealSignature)
	e.Fixed(s.Signature[:])
}

func decodeSeal(d *codec.Decoder) (s Seal) {
	d.Variant(sealKinds)
	d.Fixed(s.Signature[:])
	return s
}

func (h Header) encode(e *codec.Encoder) {
	e.U32(h.Version)
	e.U64(h.ChainID)
	e.U64(uint64(h.Height))
	e.Fixed(h.Parent[:])
	e.U64(h.Timestamp)
	e.Fixed(h.Producer[:])
	e.Fixed(h.TransactionsRoot[:])
	e.Fixed(h.ReceiptsRoot[:])
	e.Fixed(h.StateRoot[:])
	e.U64(uint64(h.GasUsed))
	e.U64(uint64(h.GasLimit))
	e.U64(uint64(h.BaseFee))
}

func decodeHeader(d *codec.Decoder) (h Header) {
	h.Version = d.U32()
	h.ChainID = d.U64()
	h.Height = Height(d.U64())
	d.Fixed(h.Parent[:])
	h.Timestamp = d.U64()
	d.Fixed(h.Producer[:])
	d.Fixed(h.TransactionsRoot[:])
	d.Fixed(h.ReceiptsRoot[:])
	d.Fixed(h.StateRoot[:])
	h.GasUsed = Gas(d.U64())
	h.GasLimit = Gas(d.U64())
	h.BaseFee = Amount(d.U64())
	return h
}

// Encode returns bincode(Header).
func (h Header) Encode() []byte {
	e := codec.NewEncoder(HeaderBytes)
	h.encode(e)
	return e.Data()
}

// DecodeHeader decodes the output of [Header.Encode].
func DecodeHeader(b []byte) (Header, error) {
	d := codec.NewDecoder(b)
	h := decodeHeader(d)
	return h, d.Finish()
}

// headerStartBytes is the length of the prefix that headers of all versions share.
const headerStartBytes = 4 + 8 + 8 + 32 + 8

// DecodeHeaderStart decodes the part of an encoded header that is the same in all versions: version, chain id, height,
// parent and timestamp. It ignores the rest, and leaves the other fields zero.
func DecodeHeaderStart(b []byte) (h Header, err error) {
	d := codec.NewDecoder(b[:min(len(b), headerStartBytes)])
	h.Version = d.U32()
	h.ChainID = d.U64()
	h.Height = Height(d.U64())
	d.Fixed(h.Parent[:])
	h.Timestamp = d.U64()
	return h, d.Finish()
}

// Hash returns the block hash: tagged("cairn/block/v2", bincode(Header)).
func (h Header) Hash() BlockHash { return BlockHash(blockTag.Hash(h.Encode())) }

// Encode returns bincode(SignedHeader).
func (h SignedHeader) Encode() []byte {
	e := codec.NewEncoder(SignedHeaderBytes)
	h.Header.encode(e)
	h.Seal.encode(e)
	return e.Data()
}

// DecodeSignedHeader decodes the output of [SignedHeader.Encode].
func DecodeSignedHeader(b []byte) (SignedHeader, error) {
	d := codec.NewDecoder(b)
	h := SignedHeader{Header: decodeHeader(d), Seal: decodeSeal(d)}
	return h, d.Finish()
}

// VerifySeal reports whether the seal holds: whether it is the signature of the header's producer.
func (h SignedHeader) VerifySeal() bool {
	hash := h.Header.Hash()
	return bip340.Verify(h.Header.Producer, hash[:], h.Seal.Signature)
}

// VerifySeals reports for each header whether its seal holds, as [SignedHeader.VerifySeal] does. It verifies one batch
// on the calling goroutine.
func VerifySeals(headers []SignedHeader) []bool {
	messages := make([]bip340.SignedMessage, len(headers))
	for i, h := range headers {
		messages[i] = bip340.SignedMessage{
			PublicKey: h.Header.Producer, Message: h.Header.Hash(), Signature: h.Seal.Signature,
		}
	}
	return bip340.VerifyBatch(messages)
}

// Signed returns the block's header with its seal.
func (b Block) Signed() SignedHeader { return SignedHeader{Header: b.Header, Seal: b.Seal} }

// Encode returns bincode(Block).
func (b Block) Encode() []byte {
	e := codec.NewEncoder(SignedHeaderBytes + 8 + 256*len(b.Transactions))
	b.Header.encode(e)
	b.Seal.encode(e)
	e.U64(uint64(len(b.Transactions)))
	for _, tx := range b.Transactions {
		tx.EncodeTo(e)
	}
	return e.Data()
}

// BlockStartBytes is the length of an encoded block without its transactions.
const BlockStartBytes = SignedHeaderBytes + 8

// EncodeBlockStart appends the beginning of bincode(Block) to dst. The encodings of the transactions follow it.
func EncodeBlockStart(dst []byte, header SignedHeader, transactions int) []byte {
	dst = append(dst, header.Encode()...)
	return binary.LittleEndian.AppendUint64(dst, uint64(transactions))
}

// EncodeBlock returns bincode(Block) for a header and its transactions.
func EncodeBlock(header SignedHeader, txs []*Tx) []byte {
	size := BlockStartBytes
	for _, tx := range txs {
		size += len(tx.encoded)
	}
	encoded := EncodeBlockStart(make([]byte, 0, size), header, len(txs))
	for _, tx := range txs {
		encoded = append(encoded, tx.encoded...)
	}
	return encoded
}

// DecodeBlock decodes the output of [Block.Encode] with at most [MaxBlockBytes] of transactions. Byte fields of
// transactions alias b.
func DecodeBlock(b []byte) (Block, error) {
	header, txs, err := decodeBlock(b, func(d *codec.Decoder, tx *SignedTransaction) {
		decodeSignedTransaction(d, tx)
	})
	return Block{Header: header.Header, Seal: header.Seal, Transactions: txs}, err
}

// decodeBlock decodes bincode(Block). decode reads a transaction into a zero T.
func decodeBlock[T any](b []byte, decode func(*codec.Decoder, *T)) (header SignedHeader, txs []T, err error) {
	if len(b) > MaxEncodedBlockBytes {
		return header, nil, fmt.Errorf("%w: a block of %d bytes, at most %d", codec.ErrTooLong, len(b), MaxEncodedBlockBytes)
	}
	d := codec.NewDecoder(b)
	header.Header = decodeHeader(d)
	header.Seal = decodeSeal(d)
	n := d.Length(maxBlockTxs, leastTransactionBytes)
	txs = make([]T, n)
	for i := range txs {
		if d.Err() != nil {
			break
		}
		decode(d, &txs[i])
	}
	return header, txs, d.Finish()
}
