package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// The log has its own table of rows next to the chain's tables. The chain's tables have lower-case letters. Values are
// bincode.
var (
	keyHard     = []byte{'R', 0}
	keyMember   = []byte{'R', 1}
	keySnapshot = []byte{'R', 2}
	entryPrefix = []byte{'R', 4}
)

// Bounds of a row's contents.
const (
	// MaxData bounds the data of an entry or a snapshot: a full block with its envelope.
	MaxData    = 32<<20 + 64<<10
	maxMembers = 1 << 10
)

// keyEntry returns the key of the entry with an index.
func keyEntry(index uint64) []byte { return binary.BigEndian.AppendUint64(entryPrefix[:2:2], index) }

// Member identifies the member that a log belongs to.
type Member struct {
	Cluster [16]byte // random; the same on every member
	ID      uint64   // random, never zero, never reused: it stands for the promises kept on this disk
}

func (m Member) encode() []byte {
	e := codec.NewEncoder(24)
	e.Fixed(m.Cluster[:])
	e.U64(m.ID)
	return e.Data()
}

func decodeMember(row []byte) (m Member, err error) {
	d := codec.NewDecoder(row)
	d.Fixed(m.Cluster[:])
	m.ID = d.U64()
	return m, d.Finish()
}

func encodeHard(h *raftpb.HardState) []byte {
	e := codec.NewEncoder(24)
	e.U64(h.GetTerm())
	e.U64(h.GetVote())
	e.U64(h.GetCommit())
	return e.Data()
}

func decodeHard(row []byte) (*raftpb.HardState, error) {
	d := codec.NewDecoder(row)
	term, vote, commit := d.U64(), d.U64(), d.U64()
	return &raftpb.HardState{Term: &term, Vote: &vote, Commit: &commit}, d.Finish()
}

func encodeEntry(entry *raftpb.Entry) []byte {
	e := codec.NewEncoder(24 + len(entry.GetData()))
	e.U64(entry.GetTerm())
	e.U8(uint8(entry.GetType()))
	e.Bytes(entry.GetData())
	return e.Data()
}

// decodeEntry decodes the output of encodeEntry. The data does not alias row.
func decodeEntry(index uint64, row []byte) (*raftpb.Entry, error) {
	d := codec.NewDecoder(row)
	term, kind := d.U64(), raftpb.EntryType(d.Variant8(uint8(raftpb.EntryType_EntryConfChangeV2)+1))
	e := &raftpb.Entry{Index: &index, Term: &term, Data: append([]byte(nil), d.Bytes(MaxData)...)}
	if kind != raftpb.EntryType_EntryNormal { // raft omits it, too
		e.Type = &kind
	}
	return e, d.Finish()
}

func encodeSnapshot(s *raftpb.Snapshot) []byte {
	m := s.GetMetadata()
	e := codec.NewEncoder(256 + len(s.GetData()))
	e.U64(m.GetIndex())
	e.U64(m.GetTerm())
	conf := m.GetConfState()
	for _, ids := range [][]uint64{
		conf.GetVoters(), conf.GetLearners(), conf.GetVotersOutgoing(), conf.GetLearnersNext(),
	} {
		e.U64(uint64(len(ids)))
		for _, id := range ids {
			e.U64(id)
		}
	}
	e.Option(conf.GetAutoLeave())
	e.Bytes(s.GetData())
	return e.Data()
}

// decodeSnapshot decodes the output of encodeSnapshot. The data does not alias row.
func decodeSnapshot(row []byte) (*raftpb.Snapshot, error) {
	d := codec.NewDecoder(row)
	index, term := d.U64(), d.U64()
	var ids [4][]uint64
	for i := range ids {
		for range d.Length(maxMembers, 8) {
			ids[i] = append(ids[i], d.U64())
		}
	}
	autoLeave := d.Option()
	data := append([]byte(nil), d.Bytes(MaxData)...)
	conf := &raftpb.ConfState{
		Voters: ids[0], Learners: ids[1], VotersOutgoing: ids[2], LearnersNext: ids[3], AutoLeave: &autoLeave,
	}
	return &raftpb.Snapshot{
		Data: data, Metadata: &raftpb.SnapshotMetadata{ConfState: conf, Index: &index, Term: &term},
	}, d.Finish()
}

// read decodes the row under a key. Its error names the missing or damaged row.
func read[T any](r kv.Reader, name string, key []byte, decode func([]byte) (T, error)) (T, error) {
	row, err := r.Get(key)
	if err != nil {
		if errors.Is(err, kv.ErrNotFound) {
			err = fmt.Errorf("%w: there is none", ErrDamaged)
		}
		return *new(T), fmt.Errorf("%s: %w", name, err)
	}
	value, err := decode(row)
	if err != nil {
		return value, fmt.Errorf("%w: %s: %w", ErrDamaged, name, err)
	}
	return value, nil
}

// Copy copies the rows of a log, if there is one, to a database without a log. It does not copy the votes file.
func Copy(from kv.Reader, to *kv.DB) error {
	b := to.NewBatch(1 << 10)
	err := kv.Scan(from, keyHard[:1], kv.PrefixEnd(keyHard[:1]), func(key, row []byte) error {
		b.Set(key, row)
		return nil
	})
	if err != nil {
		return err
	}
	return to.Commit(b, true)
}
