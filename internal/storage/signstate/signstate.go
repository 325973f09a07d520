// Package heightlock remembers, in a small file beside a producer's key, the newest block that the key signed. So the
// key never signs two blocks of one height, even if the database lost its end or was restored from an older copy. It
// also remembers that another node signed blocks with the key: then this one signs none.
package heightlock

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

// Block names a block.
type Block struct {
	Height types.Height
	Hash   types.BlockHash
}

// BlockOf names the block of a header.
func BlockOf(h types.Header) Block { return Block{h.Height, h.Hash()} }

// ErrSigned is the error of a block that must not be signed, as another one of its height was or may have been.
var ErrSigned = errors.New("another block may have been signed at this height")

// ErrElsewhere is the error of signing with a key that another node has signed blocks with.
var ErrElsewhere = errors.New("another node signed blocks with this key")

// record is what the file has: the block held, and where it is known that the key signed a later one elsewhere.
type record struct {
	held      Block
	elsewhere types.Height // 0: that is not known
}

// recordSize is that of a record in the file: both heights as 8 little-endian bytes, and the hash between them.
const recordSize = 8 + len(types.BlockHash{}) + 8

// Lock is the lock of one key on one chain. Its methods may be called concurrently.
type Lock struct {
	path    string
	file    *slots.File
	holding sync.Mutex // serialises Hold
	mu      sync.Mutex // guards record
	record  record
}

// Open opens a lock. Where there is no file it makes one that holds the genesis block; an error or a crash leaves
// none.
func Open(files kv.FS, path string, genesis types.BlockHash) (*Lock, error) {
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
	return &Lock{path: path, file: file, record: decode(newest)}, nil
}

// Replace makes a lock anew, whole or not at all, that holds a block and knows of no other node. Whoever has the key
// has found out that no other node signs with it. No [Lock] of the path may be open.
func Replace(files kv.FS, path string, by Block) error {
	return slots.Create(files, path, encode(record{held: by}))
}

func encode(r record) []byte {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, recordSize), uint64(r.held.Height))
	b = append(b, r.held.Hash[:]...)
	return binary.LittleEndian.AppendUint64(b, uint64(r.elsewhere))
}

func decode(b []byte) record {
	height, hash, elsewhere := b[:8], b[8:len(b)-8], b[len(b)-8:]
	return record{
		held:      Block{types.Height(binary.LittleEndian.Uint64(height)), types.BlockHash(hash)},
		elsewhere: types.Height(binary.LittleEndian.Uint64(elsewhere)),
	}
}

// later tells whether a record was written after another one: a higher block is held, or it has become known that the
// key signed elsewhere, after which nothing is written.
func later(r, than []byte) bool {
	a, b := decode(r), decode(than)
	return a.held.Height > b.held.Height || a.elsewhere != 0 && b.elsewhere == 0
}

// Path is where the lock is kept.
func (l *Lock) Path() string { return l.path }

// Last is the block that is held.
func (l *Lock) Last() Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.held
}

// Elsewhere is the height of a block that the key is known to have signed on another node, 0 where none is known of.
func (l *Lock) Elsewhere() types.Height {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.record.elsewhere
}

// NoteElsewhere remembers that another node signed a block of a height with the key, and returns when that is on disk.
// The first one that is noted stays. From then on nothing may be signed, until the lock is made anew with [Replace].
func (l *Lock) NoteElsewhere(height types.Height) error {
	l.holding.Lock()
	defer l.holding.Unlock()
	if height == 0 || l.Elsewhere() != 0 {
		return nil
	}
	return l.write(record{l.Last(), height})
}

// write replaces the record. The caller has holding.
func (l *Lock) write(r record) error {
	if err := l.file.Write(encode(r)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.record = r
	return nil
}

// Check tells whether a header may be signed. It may be one that is higher than the block held, and follows that block
// if it is the next, or the very one that is held. Any other is [ErrSigned]. Where the key has signed elsewhere all are
// [ErrElsewhere].
func (l *Lock) Check(h types.Header) error {
	if at := l.Elsewhere(); at != 0 {
		return fmt.Errorf("%w: block %d (%s)", ErrElsewhere, at, l.path)
	}
	last := l.Last()
	switch {
	case h.Height > last.Height+1, h.Height == last.Height+1 && h.Parent == last.Hash, BlockOf(h) == last:
		return nil
	}
	return fmt.Errorf("%w: block %d after %s, and block %d, %s, is the newest that was signed with this key (%s)",
		ErrSigned, h.Height, h.Parent, last.Height, last.Hash, l.path)
}

// Hold holds a block instead of the one before, and returns when that is on disk. What [Lock.Check] refuses is
// refused. After another error it is not known which of the two the file has: nothing may be signed until it was
// opened anew.
func (l *Lock) Hold(h types.Header) error {
	l.holding.Lock()
	defer l.holding.Unlock()
	if err := l.Check(h); err != nil {
		return err
	}
	held := BlockOf(h)
	if held == l.Last() {
		return nil
	}
	return l.write(record{held: held})
}

// Close closes the file.
func (l *Lock) Close() error { return l.file.Close() }
