// Package signstate is double-sign protection. A small file next to a producer's key records the newest block that the
// key signed. So the key never signs two blocks of one height, even if the database lost its end or is an older copy.
// The file also records whether another node signed blocks with the key; if so, this node signs nothing.
package signstate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/slots"
	"github.com/cairn-chain/cairn/types"
)

// Block identifies a block.
type Block struct {
	Height types.Height
	Hash   types.BlockHash
}

// BlockOf returns the Block of a header.
func BlockOf(h types.Header) Block { return Block{h.Height, h.Hash()} }

var (
	// ErrSigned is returned for a block if the key has signed, or may have signed, another block of its height.
	ErrSigned = errors.New("another block may have been signed at this height")
	// ErrConflictingSigner is returned for every block after another node has signed with the key.
	ErrConflictingSigner = errors.New("another node signed blocks with this key")
)

// record is the content of the file.
type record struct {
	newest   Block        // newest block that the key signed here
	conflict types.Height // height of the first block known to be signed elsewhere; 0 for none
}

// recordSize is 48 bytes: height, hash and conflict; heights are 8 bytes, little-endian.
const recordSize = 8 + len(types.BlockHash{}) + 8

// State is the sign state of one key on one chain. It is safe for concurrent use.
type State struct {
	path    string
	file    *slots.File
	writing sync.Mutex // serialises writes of the file
	mu      sync.Mutex // guards record
	record  record
}

// Open opens a file. If it is missing, Open creates it with the genesis block; an error or a crash leaves no file.
func Open(files kv.FS, path string, genesis types.BlockHash) (*State, error) {
	file, newest, err := slots.Open(files, path, recordSize, later)
	if errors.Is(err, fs.ErrNotExist) {
		if err := Replace(files, path, Block{Hash: genesis}); err != nil {
			return nil, err
		}
		file, newest, err = slots.Open(files, path, recordSize, later)
	}
	if err != nil {
		return nil, fmt.Errorf("the newest signed block: %w", err)
	}
	return &State{path: path, file: file, record: decode(newest)}, nil
}

// Replace atomically replaces the file by one with the given newest block and no conflict. The caller must know that no
// other node signs with the key, and must not have a State of the path open.
func Replace(files kv.FS, path string, newest Block) error {
	return slots.Create(files, path, encode(record{newest: newest}))
}

func encode(r record) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, recordSize), uint64(r.newest.Height))
	b = append(b, r.newest.Hash[:]...)
	return binary.LittleEndian.AppendUint64(b, uint64(r.conflict))
}

func decode(b []byte) record {
	height, hash, conflict := b[:8], b[8:len(b)-8], b[len(b)-8:]
	return record{
		newest:   Block{types.Height(binary.LittleEndian.Uint64(height)), types.BlockHash(hash)},
		conflict: types.Height(binary.LittleEndian.Uint64(conflict)),
	}
}

// later reports whether r was written after than: heights grow, and a conflict is the last write.
func later(r, than []byte) bool {
	a, b := decode(r), decode(than)
	return a.newest.Height > b.newest.Height || a.conflict != 0 && b.conflict == 0
}

// Path returns the file's path.
func (s *State) Path() string { return s.path }

// Last returns the newest block that the key signed.
func (s *State) Last() Block {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.newest
}

// Conflict returns the height of a block that another node signed with the key, or 0 if none is known.
func (s *State) Conflict() types.Height {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.conflict
}

// RecordConflict records that another node signed a block with the key, and returns once the record is on disk. Only
// the first conflict is recorded. After it, nothing may be signed until [Replace] replaces the file.
func (s *State) RecordConflict(height types.Height) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if height == 0 || s.Conflict() != 0 {
		return nil
	}
	return s.write(record{s.Last(), height})
}

// write replaces the record. The caller must hold s.writing.
func (s *State) write(r record) error {
	if err := s.file.Write(encode(r)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record = r
	return nil
}

// Check returns nil if the key may sign a header. It may sign the newest block again, the block after it, and any
// higher block; for all others the error is [ErrSigned]. After a conflict the error is always [ErrConflictingSigner].
func (s *State) Check(h types.Header) error {
	if at := s.Conflict(); at != 0 {
		return fmt.Errorf("%w: block %d (%s)", ErrConflictingSigner, at, s.path)
	}
	last := s.Last()
	switch {
	case h.Height > last.Height+1, h.Height == last.Height+1 && h.Parent == last.Hash, BlockOf(h) == last:
		return nil
	}
	return fmt.Errorf("%w: block %d after %s, and block %d, %s, is the newest that was signed with this key (%s)",
		ErrSigned, h.Height, h.Parent, last.Height, last.Hash, s.path)
}

// Record makes a header the newest signed block, and returns once that is on disk. It returns the errors of
// [State.Check]. After any other error the file may hold either block: nothing may be signed until it is reopened.
func (s *State) Record(h types.Header) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.Check(h); err != nil {
		return err
	}
	newest := BlockOf(h)
	if newest == s.Last() {
		return nil
	}
	return s.write(record{newest: newest})
}

// Close closes the file.
func (s *State) Close() error { return s.file.Close() }
