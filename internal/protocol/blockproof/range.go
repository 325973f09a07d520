package blockproof

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of a range: the number of its blocks, and the gas that they used together, about as much as a full block of
// the default gas limit. They bound the list, the proof, and the cost of making both.
const (
	MaxRange    = 4096
	MaxRangeGas = types.Gas(1 << 30)
)

// rangeMagic is the prefix of an encoded range. No bundle of a block has it, as a bundle's first four bytes are a
// header's version.
const rangeMagic = "cairn/R1"

// Range is the proof of several consecutive blocks as one change of the state.
type Range struct {
	// Headers are the headers of the blocks, ascending, after the header of the block before them. The latter is
	// genesis if its height is 0 and its seal is zero.
	Headers []types.SignedHeader
	// Accesses are the union of the blocks' lists: for each key the value before the first block and after the last.
	Accesses []types.Access
	Proof    []byte
}

// UnionAccesses returns the union of the lists of consecutive blocks. It returns an error that wraps ErrAccesses if a
// key's old value differs from the value after the previous list with that key, or if there are more accesses than a
// range can have.
func UnionAccesses(lists [][]types.Access) ([]types.Access, error) {
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	if most := params.MostAccesses(MaxRangeGas) + MaxRange*params.MostAccesses(0); n > most {
		return nil, fmt.Errorf("%w: %d accesses, more than a range may have", ErrAccesses, n)
	}
	all := slices.Concat(lists...)
	slices.SortStableFunc(all, func(a, b types.Access) int { return bytes.Compare(a.Key, b.Key) })
	union := all[:0]
	for _, a := range all {
		last := len(union) - 1
		if last < 0 || string(union[last].Key) != string(a.Key) {
			union = append(union, a)
			continue
		}
		if string(union[last].New) != string(a.Old) {
			return nil, fmt.Errorf("%w: a block finds key %x with a different value than the previous block left",
				ErrAccesses, a.Key)
		}
		union[last].New = a.New
	}
	return slices.Clip(union), nil
}

// NewRangeStatement returns the statement about the blocks of headers[1:], which follow headers[0], and the union of
// their accesses. It returns an error that wraps ErrStatement if a header does not follow the previous one or the range
// exceeds a bound.
func NewRangeStatement(headers []types.SignedHeader, union []types.Access) (Statement, error) {
	if len(headers) < 2 || len(headers)-1 > MaxRange {
		return Statement{}, fmt.Errorf("%w: a range of %d blocks", ErrStatement, len(headers)-1)
	}
	if !FitsRange(headers[1:]) {
		return Statement{}, fmt.Errorf("%w: the blocks used more than %d gas together", ErrStatement, MaxRangeGas)
	}
	for i := 1; i < len(headers); i++ {
		if !follows(&headers[i-1].Header, &headers[i].Header) {
			return Statement{}, fmt.Errorf("%w: header %d does not follow the one before it", ErrStatement, i)
		}
	}
	before, last := &headers[0].Header, &headers[len(headers)-1].Header
	return Statement{
		ChainID:        last.ChainID,
		Height:         last.Height,
		BlockHash:      last.Hash(),
		PreRoot:        before.StateRoot,
		PostRoot:       last.StateRoot,
		AccessesDigest: types.DigestAccesses(union),
		since:          &since{height: before.Height, hash: headers[1].Header.Parent},
	}, nil
}

// FitsRange reports whether the blocks with these headers used at most [MaxRangeGas] together.
func FitsRange(headers []types.SignedHeader) bool {
	used := types.Gas(0)
	for i := range headers {
		gas := headers[i].Header.GasUsed
		if gas > MaxRangeGas-used {
			return false
		}
		used += gas
	}
	return true
}

// MostRangeBytes bounds the size of a range of blocks with these headers, which must fit. Each block may list some
// accesses without paying gas for them.
func MostRangeBytes(headers []types.SignedHeader) int64 {
	used, unpaid := types.Gas(0), types.Gas(params.MostAccesses(0))*params.Prices.StorageRead
	for i := range headers {
		used += headers[i].Header.GasUsed + unpaid
	}
	more := int64(len(headers)) * int64(types.SignedHeaderBytes+params.MostListBytes(0))
	return min(MaxBundleBytes, MostBundleBytes(used)+more)
}

// rangeList bounds the list of a range of blocks with these headers: the number of entries, and their size in bytes.
func rangeList(headers []types.SignedHeader) (entries, size int) {
	for i := range headers {
		gas := headers[i].Header.GasUsed
		entries = min(entries+params.MostAccesses(gas), math.MaxInt32)
		size = min(size+params.MostListBytes(gas), math.MaxInt32)
	}
	return entries, size
}

// since identifies the block before a range.
type since struct {
	height types.Height
	hash   types.BlockHash
}

func (s *since) write(e *codec.Encoder) {
	e.U64(uint64(s.height))
	e.Fixed(s.hash[:])
}

// follows reports whether header is the header of the block after parent.
func follows(parent, header *types.Header) bool {
	return header.Height == parent.Height+1 && header.Parent == parent.Hash() && header.ChainID == parent.ChainID
}

// Encode returns the magic and bincode { headers: Vec<SignedHeader>, accesses: Vec<Access>, proof: Vec<u8> }.
func (r *Range) Encode() []byte {
	size := types.AccessesBytes(r.Accesses)
	e := codec.NewEncoder(len(rangeMagic) + 8 + len(r.Headers)*types.SignedHeaderBytes + size + 8 + len(r.Proof))
	e.Fixed([]byte(rangeMagic))
	e.U64(uint64(len(r.Headers)))
	for _, h := range r.Headers {
		e.Fixed(h.Encode())
	}
	types.WriteAccesses(e, r.Accesses)
	e.Bytes(r.Proof)
	return e.Data()
}

// IsRange reports whether b is an encoded range rather than the bundle of a block.
func IsRange(b []byte) bool {
	return len(b) >= len(rangeMagic) && string(b[:len(rangeMagic)]) == rangeMagic
}

// DecodeRange decodes the output of [Range.Encode]. The gas used in the headers bounds the access list. Byte fields
// alias b.
func DecodeRange(b []byte) (Range, error) {
	d, headers, err := newRangeDecoder(b)
	if err != nil {
		return Range{}, err
	}
	return finishRange(d, headers)
}

// DecodeRangeOf is [DecodeRange] for known blocks, with the header before them. Their gas bounds the access list; the
// headers in b are ignored.
func DecodeRangeOf(b []byte, headers []types.SignedHeader) (Range, error) {
	d, _, err := newRangeDecoder(b)
	if err != nil {
		return Range{}, err
	}
	return finishRange(d, headers)
}

// ProofInRange returns the proof in an encoded range; it aliases b. The headers are decoded, but only the lengths in
// the access list are checked.
func ProofInRange(b []byte) ([]byte, error) {
	d, _, err := newRangeDecoder(b)
	if err != nil {
		return nil, err
	}
	types.SkipAccesses(d)
	proof := d.Bytes(MaxBundleBytes)
	if err := d.Finish(); err != nil {
		return nil, fmt.Errorf("blockproof: range: %w", err)
	}
	return proof, nil
}

// newRangeDecoder decodes a range's headers.
func newRangeDecoder(b []byte) (*codec.Decoder, []types.SignedHeader, error) {
	if len(b) > MaxBundleBytes || !IsRange(b) {
		return nil, nil, errors.New("blockproof: not a range")
	}
	d := codec.NewDecoder(b[len(rangeMagic):])
	headers := make([]types.SignedHeader, d.Length(MaxRange+1, types.SignedHeaderBytes))
	for i := range headers {
		var encoded [types.SignedHeaderBytes]byte
		d.Fixed(encoded[:])
		var err error
		if headers[i], err = types.DecodeSignedHeader(encoded[:]); err != nil {
			return nil, nil, fmt.Errorf("blockproof: range: header %d: %w", i, err)
		}
	}
	return d, headers, nil
}

// finishRange decodes the rest of a range with these headers.
func finishRange(d *codec.Decoder, headers []types.SignedHeader) (Range, error) {
	r := Range{Headers: headers}
	if !FitsRange(headers[min(1, len(headers)):]) {
		return Range{}, fmt.Errorf("blockproof: range: the blocks used more than %d gas together", MaxRangeGas)
	}
	entries, size := rangeList(headers[min(1, len(headers)):])
	r.Accesses = types.ReadAccesses(d, entries, size)
	r.Proof = d.Bytes(MaxBundleBytes)
	if err := d.Finish(); err != nil {
		return Range{}, fmt.Errorf("blockproof: range: %w", err)
	}
	return r, nil
}

// Verify checks the range, with a proof of at least the given number of bits: the seals of the headers, that they
// follow each other, and the proof. It returns the number of bits proven, and errors as [VerifyProof] does. The caller
// must check that the last header belongs to the chain; the others then do too. Verify checks neither the state roots
// in between nor which block wrote what: executing the blocks on the list shows the latter.
func (r *Range) Verify(bits int, parallel Parallel) (int, error) {
	s, err := NewRangeStatement(r.Headers, r.Accesses)
	if err != nil {
		return 0, err
	}
	signed := r.Headers
	if isGenesis(&signed[0]) {
		signed = signed[1:]
	}
	if slices.Contains(types.VerifySeals(signed), false) {
		return 0, errSeal
	}
	return s.verify(r.Accesses, r.Proof, bits, parallel)
}
