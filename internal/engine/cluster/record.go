package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of a record, in bytes of UTF-8, and of how many there are.
const (
	maxName    = 64
	maxAddress = 256
	maxRecords = 64
	maxGone    = 1024 // the newest are kept
	maxFormer  = 64   // likewise
)

// Record is what the log says of a member: the context of the change that added it.
type Record struct {
	ID      uint64 // random, never zero and never used again: it stands for what this disk promised
	Name    string
	Address string   // of its link, host:port
	RPC     string   // base URL of its JSON-RPC; may be empty
	Pin     [32]byte // SHA-256 of its certificate's public key (SPKI)
	Keyed   bool     // whether it signs blocks: a voter that does not hands leadership on
}

// ErrRecord is the error of a record that no member has.
var ErrRecord = errors.New("the member's record is not valid")

// Encode is bincode(Record).
func (r Record) Encode() []byte {
	e := codec.NewEncoder(64 + len(r.Name) + len(r.Address) + len(r.RPC))
	r.encode(e)
	return e.Data()
}

func (r Record) encode(e *codec.Encoder) {
	e.U64(r.ID)
	e.Bytes([]byte(r.Name))
	e.Bytes([]byte(r.Address))
	e.Bytes([]byte(r.RPC))
	e.Fixed(r.Pin[:])
	e.Option(r.Keyed)
}

// DecodeRecord decodes what Encode gives. The error is [ErrRecord].
func DecodeRecord(b []byte) (Record, error) {
	d := codec.NewDecoder(b)
	r := decodeRecord(d)
	if err := d.Finish(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if r.ID == 0 || r.Name == "" {
		return r, fmt.Errorf("%w: it has no ID or no name", ErrRecord)
	}
	return r, nil
}

func decodeRecord(d *codec.Decoder) (r Record) {
	r.ID = d.U64()
	r.Name = string(d.Bytes(maxName))
	r.Address = string(d.Bytes(maxAddress))
	r.RPC = string(d.Bytes(maxAddress))
	d.Fixed(r.Pin[:])
	r.Keyed = d.Option()
	return r
}

// Place is where the log may be cut: what it came to after an entry that left no proposal. A snapshot's data is its
// encoding, and the chain is all else.
type Place struct {
	Head    Head
	Time    uint64   // Unix milliseconds: the latest of the log, by which transactions expire
	Members []Record // by ID
	Gone    []Gone
	Former  []Former
}

// Gone is a member that was removed. It is told so whenever it comes, also by members that were started since.
type Gone struct {
	ID     uint64
	Name   string
	Height types.Height // of the newest block then
}

// Former is an identity that the cluster had before it was recovered from one member's disk. Whoever still has it knows
// nothing of that, and must make no block.
type Former struct {
	Cluster [16]byte
	Height  types.Height // of the block after which the recovered cluster went on
}

// newest are the last of a list, as many as are kept.
func newest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// Encode is bincode(Place).
func (p Place) Encode() []byte {
	e := codec.NewEncoder(64 + 256*len(p.Members))
	e.U64(uint64(p.Head.Height))
	e.Fixed(p.Head.Hash[:])
	e.U64(p.Time)
	e.U64(uint64(len(p.Members)))
	for _, r := range p.Members {
		r.encode(e)
	}
	e.U64(uint64(len(p.Gone)))
	for _, g := range p.Gone {
		e.U64(g.ID)
		e.Bytes([]byte(g.Name))
		e.U64(uint64(g.Height))
	}
	e.U64(uint64(len(p.Former)))
	for _, f := range p.Former {
		e.Fixed(f.Cluster[:])
		e.U64(uint64(f.Height))
	}
	return e.Data()
}

// DecodePlace decodes what Encode gives. The error is [ErrEntry].
func DecodePlace(b []byte) (p Place, err error) {
	d := codec.NewDecoder(b)
	p.Head.Height = types.Height(d.U64())
	d.Fixed(p.Head.Hash[:])
	p.Time = d.U64()
	for range d.Length(maxRecords, 65) {
		p.Members = append(p.Members, decodeRecord(d))
	}
	if d.Remaining() > 0 { // earlier logs end here
		for range d.Length(maxGone, 24) {
			p.Gone = append(p.Gone, Gone{d.U64(), string(d.Bytes(maxName)), types.Height(d.U64())})
		}
		for range d.Length(maxFormer, 24) {
			var f Former
			d.Fixed(f.Cluster[:])
			f.Height = types.Height(d.U64())
			p.Former = append(p.Former, f)
		}
	}
	if err := d.Finish(); err != nil {
		return p, fmt.Errorf("%w: a snapshot: %w", ErrEntry, err)
	}
	return p, nil
}

// record is what the log says of a member.
func (m *Member) record(id uint64) (Record, bool) {
	i := slices.IndexFunc(m.members.records, func(r Record) bool { return r.ID == id })
	if i < 0 {
		return Record{}, false
	}
	return m.members.records[i], true
}
