// Package heightlock remembers, in a small file beside a producer's key, the newest block that the key signed, so that it
// never signs two blocks of one height: not when the database lost its end, nor when it was restored from an older copy.
package heightlock

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Block names a block.
type Block struct {
	Height types.Height
	Hash   types.BlockHash
}

// BlockOf names the block of a header.
func BlockOf(h types.Header) Block { return Block{h.Height, h.Hash()} }

var (
	// ErrDamaged is the error of a file that holds no block.
	ErrDamaged = errors.New("the file of the newest signed block is damaged")
	// ErrSigned is the error of a block that must not be signed, as another one of its height was or may have been.
	ErrSigned = errors.New("another block may have been signed at this height")
)

// A file has two slots, written in turn, so that a write which a crash cuts short leaves the block before it. A slot is the
// height as 8 little-endian bytes, the hash, and the SHA-256 of both; each lies in a sector of its own. A new file has the
// same block in both, and its length never changes.
const (
	slotDistance = 4096
	slotSize     = 8 + len(types.BlockHash{}) + sha256.Size
	fileSize     = slotDistance + slotSize
)

// Lock is the lock of one key on one chain. Its methods may be called concurrently.
type Lock struct {
	path string
	file kv.File

	holding sync.Mutex // serialises Hold
	mu      sync.Mutex // guards what follows
	next    int        // slot to be written
	last    Block
}

// Open opens a lock. Where there is no file it makes one that holds the genesis block; an error or a crash leaves none.
func Open(files kv.FS, path string, genesis types.BlockHash) (*Lock, error) {
	file, err := files.OpenFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		content := make([]byte, fileSize)
		slot := encode(Block{Hash: genesis})
		copy(content, slot)
		copy(content[slotDistance:], slot)
		if err := files.WriteFile(path, content); err != nil {
			return nil, err
		}
		file, err = files.OpenFile(path)
	}
	if err != nil {
		return nil, err
	}
	l := &Lock{path: path, file: file}
	err = l.read()
	if err == nil { // whoever made the file may have ended before its name was on disk
		err = files.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// read takes the newer block of the two slots.
func (l *Lock) read() error {
	content, err := io.ReadAll(io.NewSectionReader(l.file, 0, int64(fileSize)))
	if err != nil {
		return err
	}
	found := false
	for slot := range 2 {
		if b, ok := decode(content, slot); ok && (!found || b.Height > l.last.Height) {
			l.last, l.next, found = b, 1-slot, true
		}
	}
	if !found {
		return fmt.Errorf("%w: %s", ErrDamaged, l.path)
	}
	return nil
}

func encode(b Block) []byte {
	slot := binary.LittleEndian.AppendUint64(make([]byte, 0, slotSize), uint64(b.Height))
	slot = append(slot, b.Hash[:]...)
	sum := sha256.Sum256(slot)
	return append(slot, sum[:]...)
}

func decode(content []byte, slot int) (b Block, ok bool) {
	from := slot * slotDistance
	if len(content) < from+slotSize {
		return b, false
	}
	payload := content[from : from+slotSize-sha256.Size]
	b = Block{types.Height(binary.LittleEndian.Uint64(payload)), types.BlockHash(payload[8:])}
	return b, bytes.Equal(encode(b), content[from:from+slotSize])
}

// Path is where the lock is kept.
func (l *Lock) Path() string { return l.path }

// Last is the block that is held.
func (l *Lock) Last() Block {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Check tells whether a header may be signed: one that is higher than the block held, and follows it where it is the next;
// or the very one that is held. Any other is [ErrSigned].
func (l *Lock) Check(h types.Header) error {
	last := l.Last()
	switch {
	case h.Height > last.Height+1, h.Height == last.Height+1 && h.Parent == last.Hash, BlockOf(h) == last:
		return nil
	}
	return fmt.Errorf("%w: block %d after %s, and block %d, %s, is the newest that was signed with this key (%s)",
		ErrSigned, h.Height, h.Parent, last.Height, last.Hash, l.path)
}

// Hold holds a block instead of the one before, and returns when that is on disk. What [Lock.Check] refuses is refused. After
// another error it is not known which of the two the file has: nothing may be signed until it was opened anew.
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
	if _, err := l.file.WriteAt(encode(held), int64(l.next*slotDistance)); err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	if err := l.file.SyncData(); err != nil {
		return fmt.Errorf("sync %s: %w", l.path, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last, l.next = held, 1-l.next
	return nil
}

// Close closes the file.
func (l *Lock) Close() error { return l.file.Close() }
