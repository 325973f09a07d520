package raftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"

	"go.etcd.io/raft/v3/raftpb"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
)

// vote is the newest promise of a member. It is also kept in a file next to the database: a database that lost its end
// looks like one cut off by a crash, and a member that forgot its vote could give a second one in the same term.
type vote struct{ member, term, candidate uint64 }

const voteSize = 3 * 8

func (v vote) encode() []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, voteSize), v.member)
	b = binary.LittleEndian.AppendUint64(b, v.term)
	return binary.LittleEndian.AppendUint64(b, v.candidate)
}

func decodeVote(b []byte) vote {
	return vote{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])}
}

// laterVote reports whether one vote was given after another: in a later term, or in the same term if none was given
// before.
func laterVote(record, than []byte) bool {
	a, b := decodeVote(record), decodeVote(than)
	return a.term > b.term || a.term == b.term && a.candidate != 0 && b.candidate == 0
}

func voteOf(m Member, h *raftpb.HardState) vote { return vote{m.ID, h.GetTerm(), h.GetVote()} }

// openVotes opens the file. It refuses a hard state that is older than the file's vote.
func openVotes(files kv.FS, path string, m Member, h *raftpb.HardState) (*slots.File, error) {
	file, record, err := slots.Open(files, path, voteSize, laterVote)
	switch {
	case errors.Is(err, slots.ErrDamaged):
		return nil, fmt.Errorf("%w: the newest vote: %w", ErrDamaged, err)
	case errors.Is(err, fs.ErrNotExist): // it is made before the database has the member
		return nil, fmt.Errorf("%w: the newest vote: %w", ErrLost, err)
	case err != nil:
		return nil, fmt.Errorf("the newest vote: %w", err)
	}
	switch held, has := decodeVote(record), voteOf(m, h); {
	case held.member != m.ID:
		err = fmt.Errorf("%w: %s belongs to member %x, but the database to member %x", ErrLost, path, held.member, m.ID)
	case held.term > has.term, held.term == has.term && held.candidate != 0 && held.candidate != has.candidate:
		err = fmt.Errorf("%w: it is in term %d, its vote %x; %s has term %d, vote %x",
			ErrLost, has.term, has.candidate, path, held.term, held.candidate)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
