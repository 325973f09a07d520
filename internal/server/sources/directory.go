// Package sources keeps archives of contracts' sources by their hashes and serves them; it is both ends of publishing
// one. What an archive compiles to is for whoever reads it to find out: nothing is compiled here.
package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairn-chain/cairn/internal/contractbuild"
)

// maxBytes is what the archives of a directory take together at most.
const maxBytes = 64 << 20

// partFile is an archive that is being written.
const partFile = "part"

var (
	// ErrFull is the error of an archive for which there is no room.
	ErrFull = fmt.Errorf("the sources that this node keeps would take more than %d MiB", maxBytes>>20)
	// ErrMemory is the error of a node that keeps nothing on disk.
	ErrMemory = errors.New("this node keeps its chain in memory only, and no sources")
)

// Directory has archives as files that are named by their hashes. Whoever may write to it may delete them.
type Directory struct {
	path  string
	limit int64
	mu    sync.Mutex // of what writes
}

// OpenDirectory is the directory of a path, which is made with the first archive. An empty path keeps none.
func OpenDirectory(path string) *Directory { return &Directory{path: path, limit: maxBytes} }

// Keep puts an archive on disk, whole or not at all, unless it is there. Errors wrap [contractbuild.ErrSource],
// [ErrFull], [ErrMemory] or are of the disk.
func (d *Directory) Keep(archive []byte) (contractbuild.Hash, error) {
	hash := contractbuild.HashOf(archive)
	if _, err := contractbuild.ReadArchive(archive); err != nil {
		return hash, err
	}
	if d.path == "" {
		return hash, ErrMemory
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := os.MkdirAll(d.path, 0o755); err != nil {
		return hash, err
	}
	if _, err := os.Stat(d.file(hash)); err == nil {
		return hash, nil
	}
	taken, err := d.size()
	if err != nil {
		return hash, err
	}
	if taken+int64(len(archive)) > d.limit {
		return hash, ErrFull
	}
	return hash, d.write(archive, d.file(hash))
}

// size is what the archives take together.
func (d *Directory) size() (total int64, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist), err == nil && info.Name() == partFile: // deleted, or left by a crash
		case err != nil:
			return 0, err
		default:
			total += info.Size()
		}
	}
	return total, nil
}

func (d *Directory) write(archive []byte, name string) (err error) {
	part, err := os.OpenFile(filepath.Join(d.path, partFile), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	if _, err = part.Write(archive); err == nil {
		err = part.Sync()
	}
	if err = errors.Join(err, part.Close()); err != nil {
		return errors.Join(err, os.Remove(part.Name()))
	}
	if err := os.Rename(part.Name(), name); err != nil {
		return err
	}
	directory, err := os.Open(d.path)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

func (d *Directory) file(hash contractbuild.Hash) string {
	return filepath.Join(d.path, hash.String()+".tar")
}
