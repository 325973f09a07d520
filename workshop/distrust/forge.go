package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// lie describes a false bundle. The producer colludes with the upstream: it seals the headers.
type lie struct {
	Entries  int  // in the list
	Key      int  // size in bytes
	Old, New int  // sizes in bytes; 0: absent
	Differ   bool // the values differ, so each entry is a write
	shape
	Claim  string // the length that is overstated
	Answer string // way of sending
}

// shape is the shape of a proof.
type shape struct {
	Segments int
	Others   int // other leaves per segment
	Level    int // of each entry and leaf
	Steps    int // per segment
	Argument int // size in bytes, per segment
	LogRows  int // claimed by each segment
}

// claims are the lengths that a lie can overstate.
var claims = []string{"", "list", "value", "proof", "segments", "levels", "others", "steps", "argument"}

// answers are the ways of sending a lie: with its length, without, compressed, or with its length but little data.
var answers = []string{"plain", "chunked", "zstd", "announced"}

// fit adjusts a lie to pass the checks of lengths, as far as its claims permit. The gas must pay for the list, and
// everything except headers takes at most limit bytes.
func (l *lie) fit(gas types.Gas, limit int) {
	l.Key, l.Old, l.New = min(max(8, l.Key), 161), min(max(0, l.Old), 16<<10), min(max(0, l.New), 16<<10)
	if !l.Differ {
		l.New = l.Old
	}
	l.Level, l.LogRows = min(max(1, l.Level), 248), min(max(6, l.LogRows), 17)
	l.Segments = max(1, l.Segments)
	l.Steps, l.Others = min(max(1, l.Steps), 248), min(max(0, l.Others), 1<<17)
	l.Argument = min(max(3, l.Argument), 450_000)
	each := 24 + l.Key + l.Old + l.New
	l.Entries = max(1, min(l.Entries, params.MostAccesses(gas), (params.MostListBytes(gas)-8)/each))
	// A bundle that a verifier refuses for its lengths costs little.
	rest := limit - 32 - l.Entries*(each+1)
	l.Others = min(l.Others, max(2*l.Entries, l.Segments)/l.Segments)
	l.Segments = max((l.Entries+1<<17-1)>>17, min(l.Segments, l.Entries, 1<<16, rest/l.segmentBytes()))
	l.Others = min(l.Others, 2*l.Entries/l.Segments, 1<<17-l.Entries/l.Segments)
	if more := l.Segments*l.segmentBytes() - rest; more > 0 { // fewer leaves, then smaller arguments
		l.Others = max(0, l.Others-(more/l.Segments+64)/65)
		more = l.Segments*l.segmentBytes() - rest
		l.Argument = max(3, l.Argument-max(0, more)/l.Segments-1)
	}
}

// segmentBytes returns the size of a segment without the levels of its entries.
func (l *lie) segmentBytes() int { return 4*8 + 65*l.Others + 4*l.Steps + 32 + l.Argument }

// list returns the lie's access list.
func (l *lie) list() []types.Access {
	noise := make([]byte, 1<<20)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range len(noise) / 8 {
		binary.LittleEndian.PutUint64(noise[8*i:], random.Uint64())
	}
	list := make([]types.Access, l.Entries)
	for i := range list {
		key := bytes.Repeat([]byte{'k'}, l.Key)
		binary.BigEndian.PutUint64(key, uint64(i))
		at := i % (len(noise) - 32<<10)
		list[i] = types.Access{Key: key, Old: noise[at : at+l.Old], New: noise[at : at+l.New]}
		if l.Differ {
			list[i].New = noise[at+1 : at+1+l.New]
		}
	}
	return list
}

// headers returns the header of genesis and those of blocks from height 1 on, which together used the given gas.
func (l *lie) headers(gas types.Gas, blocks int) ([]types.SignedHeader, error) {
	key, err := crypto.NewPrivateKey([32]byte{31: 1})
	if err != nil {
		return nil, err
	}
	headers := []types.SignedHeader{{Header: types.Header{
		Version: params.Version, ChainID: 7, Producer: key.PublicKey(),
	}}}
	for i := range blocks {
		header := types.SignedHeader{Header: types.Header{
			Version:  params.Version,
			ChainID:  7,
			Height:   types.Height(i + 1),
			Parent:   headers[i].Header.Hash(),
			Producer: key.PublicKey(),
			GasUsed:  gas / types.Gas(blocks),
		}}
		hash := header.Header.Hash()
		if header.Seal.Signature, err = key.Sign(hash[:], [32]byte{}); err != nil {
			return nil, err
		}
		headers = append(headers, header)
	}
	return headers, nil
}

// bundle encodes the lie: the bundle of one block, or of a range of blocks.
func (l *lie) bundle(headers []types.SignedHeader, list []types.Access) []byte {
	proof, encoded := l.proof(), types.EncodeAccesses(list)
	if l.Claim == "list" {
		binary.LittleEndian.PutUint64(encoded, 1<<24)
	}
	if l.Claim == "value" && len(encoded) > 16+l.Key+8 {
		binary.LittleEndian.PutUint64(encoded[16+l.Key:], 16<<10)
	}
	e := codec.NewEncoder(len(headers)*types.SignedHeaderBytes + 32 + len(proof) + len(encoded))
	if len(headers) > 2 {
		e.Fixed([]byte("cairn/R1"))
		e.U64(uint64(len(headers)))
	}
	for i := range headers {
		e.Fixed(headers[i].Encode())
	}
	e.Fixed(encoded)
	e.U64(uint64(len(proof)) + l.more("proof", 1<<29))
	e.Fixed(proof)
	return e.Data()
}

func (l *lie) more(claim string, n uint64) uint64 {
	if l.Claim == claim {
		return n
	}
	return 0
}

func (l *lie) proof() []byte {
	e := codec.NewEncoder(9 + l.Segments*(l.segmentBytes()+32) + l.Entries)
	e.U8(1)
	e.U64(uint64(l.Segments) + l.more("segments", 1<<15))
	argument := make([]byte, l.Argument)
	copy(argument, []byte{1, 1, byte(l.LogRows)})
	for i := range l.Segments {
		low, high := i*l.Entries/l.Segments, (i+1)*l.Entries/l.Segments
		e.U64(uint64(high-low) + l.more("levels", 1<<16))
		e.Fixed(bytes.Repeat([]byte{byte(l.Level)}, high-low))
		e.U64(uint64(l.Others) + l.more("others", 1<<16))
		for k := range l.Others {
			other := make([]byte, 65)
			other[0] = byte(l.Level)
			binary.BigEndian.PutUint32(other[1:], uint32(k)+1)
			e.Fixed(other)
		}
		e.U64(uint64(l.Steps) + l.more("steps", 1<<7))
		for range l.Steps {
			e.U32(1 << 17)
		}
		e.Fixed(make([]byte, 32)) // root after the block, as in the header
		e.U64(uint64(l.Argument) + l.more("argument", 1<<20))
		e.Fixed(argument)
	}
	return e.Data()
}

func (l *lie) String() string {
	values := fmt.Sprintf("%d B", l.Old)
	if l.Differ {
		values = fmt.Sprintf("%d → %d B", l.Old, l.New)
	}
	s := fmt.Sprintf("%d entries, keys of %d B, values %s, %d segments with %d leaves each at level %d, %d steps, ",
		l.Entries, l.Key, values, l.Segments, l.Others, l.Level, l.Steps)
	s += fmt.Sprintf("arguments of %d B for 2^%d rows, %s", l.Argument, l.LogRows, l.Answer)
	if l.Claim != "" {
		s += ", more " + l.Claim + " than there are"
	}
	return s
}
