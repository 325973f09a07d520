// Package mark remembers, in a small file beside the database, a block that was on disk. A database whose log lost its end
// looks like one that was never written further: the mark is what tells.
package mark

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/cairn-chain/cairn/types"
)

// Mark is a block.
type Mark struct {
	Height types.Height
	Hash   types.BlockHash
}

// ErrDamaged is the error of a file that holds no mark and is not empty.
var ErrDamaged = errors.New("the file of the newest block is damaged")

// A file has two slots, written in turn, so that a write which a crash cuts short leaves the mark before it. A slot is the
// height as 8 little-endian bytes, the hash, and the SHA-256 of both; each lies in a sector of its own.
const (
	slotDistance = 4096
	slotSize     = 8 + len(types.BlockHash{}) + sha256.Size
)

// File is a file with a mark. It is for one goroutine.
type File struct {
	file *os.File
	next int // slot to be written
	last Mark
}

// Open opens a file, which is made where there is none, and reads its mark. A new one has the zero Mark.
func Open(path string) (_ *File, err error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, file.Close())
		}
	}()
	content, err := io.ReadAll(io.LimitReader(file, slotDistance+int64(slotSize)))
	if err != nil {
		return nil, err
	}
	f := &File{file: file}
	found := false
	for slot := range 2 {
		if m, ok := decode(content, slot); ok && (!found || m.Height >= f.last.Height) {
			f.last, f.next, found = m, 1-slot, true
		}
	}
	if !found && len(content) > 0 {
		return nil, fmt.Errorf("%w: %s", ErrDamaged, path)
	}
	return f, nil
}

func decode(content []byte, slot int) (m Mark, ok bool) {
	from := slot * slotDistance
	if len(content) < from+slotSize {
		return m, false
	}
	b := content[from : from+slotSize]
	payload := b[:slotSize-sha256.Size]
	if sum := sha256.Sum256(payload); !bytes.Equal(sum[:], b[len(payload):]) {
		return m, false
	}
	return Mark{types.Height(binary.LittleEndian.Uint64(payload)), types.BlockHash(payload[8:])}, true
}

// Last is the mark that was read or written last.
func (f *File) Last() Mark { return f.last }

// Set replaces the mark, and returns when the new one is on disk. Heights must rise.
func (f *File) Set(m Mark) error {
	b := binary.LittleEndian.AppendUint64(make([]byte, 0, slotSize), uint64(m.Height))
	b = append(b, m.Hash[:]...)
	sum := sha256.Sum256(b)
	if _, err := f.file.WriteAt(append(b, sum[:]...), int64(f.next*slotDistance)); err != nil {
		return err
	}
	if err := f.file.Sync(); err != nil {
		return err
	}
	f.last, f.next = m, 1-f.next
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
