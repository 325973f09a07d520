package cluster

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of a record's fields, in bytes of UTF-8, and of the lists in a Place.
const (
	maxName    = 64
	maxAddress = 256
	maxRecords = 64
	maxGone    = 1024 // the newest ones
	maxFormer  = 64   // the newest ones
)

// Record describes a member. It is the context of the membership change that adds it.
type Record struct {
	ID      uint64 // random, never zero and never reused: it stands for the promises that this disk made
	Name    string
	Address string   // host:port of its link
	RPC     string   // base URL of its JSON-RPC; may be empty
	Pin     [32]byte // SHA-256 of its certificate's public key (SPKI)
	Keyed   bool     // whether it can sign blocks: a leader that cannot hands leadership over
}

// ErrRecord is returned for an invalid record.
var ErrRecord = errors.New("the member's record is invalid")

// Encode returns bincode(Record).
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

// DecodeRecord decodes and checks a record. The error is [ErrRecord].
func DecodeRecord(b []byte) (Record, error) {
	d := codec.NewDecoder(b)
	r := decodeRecord(d)
	if err := d.Finish(); err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if r.ID == 0 || r.Name == "" {
		return r, fmt.Errorf("%w: it has no ID or name", ErrRecord)
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

// Place is the state that results from the log up to an index at which the log may be cut: after an entry that left no
// proposal. A snapshot's data is an encoded Place; the rest of the state is in the chain.
type Place struct {
	Head    Head
	Time    uint64   // the log's clock in Unix milliseconds, by which transactions expire
	Members []Record // by ID
	Gone    []Gone
	Former  []Former
}

// Gone is a removed member. It is refused as removed whenever it connects, even by members that started later.
type Gone struct {
	ID     uint64
	Name   string
	Height types.Height // newest block at the removal
}

// Former is an identity that the cluster had before it was recovered from one member's disk. A member with this
// identity does not know of the recovery, and must make no block.
type Former struct {
	Cluster [16]byte
	Height  types.Height // last block that the recovered cluster kept
}

// newest returns the last most elements of a list.
func newest[T any](list []T, most int) []T { return list[max(0, len(list)-most):] }

// Encode returns bincode(Place).
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

// DecodePlace decodes a place. The error is [ErrEntry].
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

// record returns a member's record.
func (m *Member) record(id uint64) (Record, bool) {
	i := slices.IndexFunc(m.members.records, func(r Record) bool { return r.ID == id })
	if i < 0 {
		return Record{}, false
	}
	return m.members.records[i], true
}
