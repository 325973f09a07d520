// Package sources stores archives of contracts' sources by their hashes and serves them. It has both sides of
// publishing an archive. It compiles nothing: readers check for themselves which code an archive compiles to.
package sources

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/cairn-chain/cairn/internal/contractsource"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// maxBytes bounds the total size of a directory's archives.
const maxBytes = 64 << 20

// Archives end with archiveSuffix; partSuffix follows while an archive is being written.
const (
	archiveSuffix = ".tar"
	partSuffix    = ".part"
)

var (
	// ErrFull is returned when there is no room for an archive.
	ErrFull = fmt.Errorf("the sources on this node would exceed %d MiB", maxBytes>>20)
	// ErrMemory is returned by a node that keeps nothing on disk.
	ErrMemory = errors.New("this node keeps its chain in memory, and stores no sources")
)

// Directory stores archives as files named by their hashes. Anyone with write access may delete files.
type Directory struct {
	path  string
	limit int64
	mu    sync.Mutex // serializes writers
}

// OpenDirectory returns the directory at path, which is created with the first archive. An empty path stores nothing.
func OpenDirectory(path string) *Directory { return &Directory{path: path, limit: maxBytes} }

// Keep writes an archive to disk, atomically, unless it is already there. Its error wraps [contractsource.ErrSource],
// [ErrFull] or [ErrMemory], or comes from the disk.
func (d *Directory) Keep(archive []byte) (contractsource.Hash, error) {
	hash := contractsource.HashOf(archive)
	if _, err := contractsource.ReadArchive(archive); err != nil {
		return hash, err
	}
	if d.path == "" {
		return hash, ErrMemory
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := (kv.FS{}).MakeDir(d.path, 0o755); err != nil {
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
	return hash, kv.FS{}.WriteFile(d.file(hash), archive)
}

// size returns the total size of the archives. It removes half-written files that a crash has left.
func (d *Directory) size() (total int64, err error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), archiveSuffix+partSuffix) {
			if err := os.Remove(filepath.Join(d.path, entry.Name())); err != nil {
				return 0, err
			}
			continue
		}
		info, err := entry.Info()
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			return 0, err
		default:
			total += info.Size()
		}
	}
	return total, nil
}

func (d *Directory) file(hash contractsource.Hash) string {
	return filepath.Join(d.path, hash.String()+archiveSuffix)
}
