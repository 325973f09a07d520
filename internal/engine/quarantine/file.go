package aside

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/mempool/journal"
	"github.com/cairn-chain/cairn/internal/storage/sealed"
	"github.com/cairn-chain/cairn/types"
)

// maxFile bounds the file, in bytes: three times what a full book takes.
const maxFile = 8 << 20

func (b *Book) read() (content, error) {
	c := content{map[types.CodeHash]Quarantined{}, waits[types.Account]{}, waits[types.CodeHash]{}}
	if b.opts.Path == "" {
		return c, nil
	}
	file, err := b.opts.FS.Open(b.opts.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	encoded, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return c, err
	}
	if c, err = decode(encoded); err != nil {
		return c, emergency.DamagedAside(b.opts.Path, err)
	}
	return c, nil
}

// decode decodes a file: strictly, and within the bounds of a book.
func decode(encoded []byte) (c content, err error) {
	if len(encoded) > maxFile {
		return c, fmt.Errorf("over %d bytes", maxFile)
	}
	if err := sealed.ParseJSON(encoded, &c); err != nil {
		return c, err
	}
	switch {
	case c.Quarantined == nil || c.Senders == nil || c.Codes == nil:
		return c, errors.New("a member is missing")
	case len(c.Quarantined) > maxQuarantined || len(c.Senders) > maxWaits || len(c.Codes) > maxWaits:
		return c, errors.New("too many members")
	}
	return c, nil
}

// write puts the book on disk, whole or not at all. The caller holds saving.
func (b *Book) write() error {
	if b.opts.Path == "" {
		return nil
	}
	b.mu.Lock()
	encoded, err := sealed.JSON(b.kept)
	b.mu.Unlock()
	if err != nil {
		return err
	}
	part := b.opts.Path + ".part"
	file, err := b.opts.FS.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAll(file, encoded), file.Close()); err != nil {
		return err
	}
	if err := b.opts.FS.Rename(part, b.opts.Path); err != nil {
		return err
	}
	return b.opts.FS.SyncDir(filepath.Dir(b.opts.Path))
}

func writeAll(file journal.File, encoded []byte) error {
	if _, err := file.Write(encoded); err != nil {
		return err
	}
	return file.Sync()
}
