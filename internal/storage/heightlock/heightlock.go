// Package heightlock remembers, in a small file beside a producer's key, the newest block that the key signed, so
// that it never signs two blocks of one height: not when the database lost its end, nor when it was restored from an
// older copy.
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

// recordSize is that of a block in the file: its height as 8 little-endian bytes, and its hash.
const recordSize = 8 + len(types.BlockHash{})

// Lock is the lock of one key on one chain. Its methods may be called concurrently.
type Lock struct {
	path    string
	file    *slots.File
	holding sync.Mutex // serialises Hold
	mu      sync.Mutex // guards last
	last    Block
}

// Open opens a lock. Where there is no file it makes one that holds the genesis block; an error or a crash leaves
// none.
func Open(files kv.FS, path string, genesis types.BlockHash) (*Lock, error) {
	file, record, err := slots.Open(files, path, recordSize, later)
	if errors.Is(err, fs.ErrNotExist) {
		if err := slots.Create(files, path, encode(Block{Hash: genesis})); err != nil {
			return nil, err
		}
		file, record, err = slots.Open(files, path, recordSize, later)
	}
	if err != nil {
		return nil, fmt.Errorf("the newest signed block: %w", err)
	}
	return &Lock{path: path, file: file, last: decode(record)}, nil
}

func encode(b Block) []byte {
	return append(binary.LittleEndian.AppendUint64(make([]byte, 0, recordSize), uint64(b.Height)), b.Hash[:]...)
}

func decode(record []byte) Block {
	return Block{types.Height(binary.LittleEndian.Uint64(record)), types.BlockHash(record[8:])}
}

// later tells whether a block was held after another one.
func later(record, than []byte) bool { return decode(record).Height > decode(than).Height }

// Path is where the lock is kept.
func (l *Lock) Path() string { return l.path }

// Last is the block that is held.
func (l *Lock) Last() Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Check tells whether a header may be signed: one that is higher than the block held, and follows it where it is the
// next; or the very one that is held. Any other is [ErrSigned].
func (l *Lock) Check(h types.Header) error {
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
	if err := l.file.Write(encode(held)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = held
	return nil
}

// Close closes the file.
func (l *Lock) Close() error { return l.file.Close() }
