// Package sources keeps archives of contracts' sources by their hashes and serves them; it is both ends of publishing
// one. What an archive compiles to is for whoever reads it to find out: nothing is compiled here.
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

// maxBytes is what the archives of a directory take together at most.
const maxBytes = 64 << 20

// Archives end with archiveSuffix, one that is being written with partSuffix after that.
const (
	archiveSuffix = ".tar"
	partSuffix    = ".part"
)

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

// Keep puts an archive on disk, whole or not at all, unless it is there. Errors wrap [contractsource.ErrSource],
// [ErrFull], [ErrMemory] or are of the disk.
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

// size is what the archives take together. It removes what a crash has left half written.
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
