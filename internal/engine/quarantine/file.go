package quarantine

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

// maxFile bounds the file, in bytes, at three times the size of a full list.
const maxFile = 8 << 20

func (l *List) read() (content, error) {
	c := content{map[types.CodeHash]Quarantined{}, waits[types.Account]{}, waits[types.CodeHash]{}}
	if l.opts.Path == "" {
		return c, nil
	}
	file, err := l.opts.FS.Open(l.opts.Path)
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
		return c, emergency.DamagedQuarantine(l.opts.Path, err)
	}
	return c, nil
}

// decode decodes a file strictly, within the bounds of a list.
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

// write replaces the file, whole or not at all. The caller holds saving.
func (l *List) write() error {
	if l.opts.Path == "" {
		return nil
	}
	l.mu.Lock()
	encoded, err := sealed.JSON(l.kept)
	l.mu.Unlock()
	if err != nil {
		return err
	}
	part := l.opts.Path + ".part"
	file, err := l.opts.FS.Create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(writeAll(file, encoded), file.Close()); err != nil {
		return err
	}
	if err := l.opts.FS.Rename(part, l.opts.Path); err != nil {
		return err
	}
	return l.opts.FS.SyncDir(filepath.Dir(l.opts.Path))
}

func writeAll(file journal.File, encoded []byte) error {
	if _, err := file.Write(encoded); err != nil {
		return err
	}
	return file.Sync()
}
