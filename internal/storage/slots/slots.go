// Package slots keeps one small record in a double-buffered file, which survives a crash at any moment. The file has
// two slots (A and B), written alternately, so that an interrupted write leaves the previous record intact.
package slots

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// ErrDamaged is returned for a file in a state that no [File] leaves behind, even after a crash.
var ErrDamaged = errors.New("the file is damaged")

// Distance is the offset of the second slot in bytes: each slot lies in its own sector. A slot is the record followed
// by its SHA-256. A new file has the same record in both, and its length never changes. A disk writes a sector entirely
// or not at all. So a crash leaves the previous record or zeros, and anything else is damage.
const Distance = 4096

// File is an open file of a record. It is not safe for concurrent use.
type File struct {
	path string
	file kv.File
	next int // next slot to write
}

// Create atomically creates a file that holds a record of at most 4,000 bytes, replacing any existing file.
func Create(files kv.FS, path string, record []byte) error {
	slot := seal(record)
	if len(slot) > Distance {
		return fmt.Errorf("a record of %d bytes does not fit in a slot", len(record))
	}
	content := make([]byte, Distance+len(slot))
	copy(content, slot)
	copy(content[Distance:], slot)
	return files.WriteFile(path, content)
}

// Open opens a file and returns its newest record. size is the size of every record in bytes. later reports whether a
// record was written after another one. The error for an absent file wraps fs.ErrNotExist.
func Open(files kv.FS, path string, size int, later func(record, than []byte) bool) (*File, []byte, error) {
	file, err := files.OpenFile(path)
	if err != nil {
		return nil, nil, err
	}
	f := &File{path: path, file: file}
	newest, err := f.read(size, later)
	if err == nil { // the process that created the file may have ended before its name was on disk
		err = files.SyncDir(filepath.Dir(path))
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return f, newest, nil
}

// read returns the newer record of the two slots.
func (f *File) read(size int, later func(record, than []byte) bool) (newest []byte, err error) {
	slotSize := size + sha256.Size
	whole := Distance + slotSize
	content, err := io.ReadAll(io.NewSectionReader(f.file, 0, int64(whole+1)))
	if err != nil {
		return nil, err
	}
	if len(content) != whole { // no crash causes that, and the missing part may be the newest record
		return nil, fmt.Errorf("%w: %s was truncated or extended: its length is not %d bytes",
			ErrDamaged, f.path, whole)
	}
	for slot := range 2 {
		from := slot * Distance
		record, whole := content[from:from+size], content[from:from+slotSize]
		switch {
		case bytes.Equal(seal(record), whole):
			if newest == nil || later(record, newest) {
				newest, f.next = record, 1-slot
			}
		case !bytes.Equal(whole, make([]byte, slotSize)): // it may have been the newest
			return nil, fmt.Errorf("%w: the record at byte %d of %s has a wrong checksum", ErrDamaged, from, f.path)
		}
	}
	if newest == nil {
		return nil, fmt.Errorf("%w: neither slot of %s has a record", ErrDamaged, f.path)
	}
	if between := content[slotSize:Distance]; !bytes.Equal(between, make([]byte, len(between))) {
		return nil, fmt.Errorf("%w: there are unexpected bytes between the slots of %s", ErrDamaged, f.path)
	}
	return newest, nil
}

// seal returns the slot of a record.
func seal(record []byte) []byte {
	sum := sha256.Sum256(record)
	return append(append(make([]byte, 0, len(record)+len(sum)), record...), sum[:]...)
}

// Write writes the next record and returns once it is on disk. After an error the file may hold either record, and must
// be reopened.
func (f *File) Write(record []byte) error {
	if _, err := f.file.WriteAt(seal(record), int64(f.next*Distance)); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	if err := f.file.SyncData(); err != nil {
		return fmt.Errorf("sync %s: %w", f.path, err)
	}
	f.next = 1 - f.next
	return nil
}

// Close closes the file.
func (f *File) Close() error { return f.file.Close() }
