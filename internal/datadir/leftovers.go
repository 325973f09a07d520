package datadir

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// temporary lists the names of incomplete entries in a data directory, as patterns of [filepath.Match]. Each is removed
// by the process that made it, unless that is killed.
var temporary = []string{
	backupsDir + "/*" + unverified,
	importDir,
	"*.part", "*.new", "*.probe",
	snapshotsDir + "/*.part", snapshotsDir + "/*.new",
	sourcesDir + "/*.part", sourcesDir + "/*/*.part",
	codeDir + "/.new-*", codeDir + "/*/.new-*",
}

// temporaryElsewhere lists the patterns of builds and of chains in memory in the system's directory of temporary files.
var temporaryElsewhere = []string{"cairn-build-*", "cairn-test-*"}

// buildTime is the age at which temporary files of a build or of a running node count as left over.
const buildTime = time.Hour

// Leftover is an entry that interrupted work has left.
type Leftover struct {
	Path  string        `json:"path"`
	Age   time.Duration `json:"-"`
	Bytes uint64        `json:"bytes"` // includes hard-linked files, whose space the database cannot free
}

// Leftovers returns the entries that interrupted work has left in a data directory and in the directory of temporary
// files. It omits entries that may be in use. The directory's node may run.
func Leftovers(path string, now time.Time) ([]Leftover, error) {
	lock, err := lockIfThere(path)
	running := errors.Is(err, ErrLocked)
	if err != nil && !running {
		return nil, err
	}
	var left []Leftover
	look := func(in string, patterns []string, least time.Duration) error {
		for _, pattern := range patterns {
			found, err := filepath.Glob(filepath.Join(in, filepath.FromSlash(pattern)))
			if err != nil {
				return err
			}
			for _, name := range found {
				l, err := leftover(name, now)
				if errors.Is(err, fs.ErrNotExist) || err == nil && (l.Age < least || isVerified(name)) {
					continue
				}
				if err != nil {
					return err
				}
				left = append(left, l)
			}
		}
		return nil
	}
	least := time.Duration(0)
	if running {
		least = buildTime
	}
	err = errors.Join(look(path, temporary[:1], 0), look(path, temporary[1:], least),
		look(os.TempDir(), temporaryElsewhere, buildTime))
	if lock != nil {
		err = errors.Join(err, lock())
	}
	return left, err
}

// lockIfThere takes the shared lock of a data directory and returns the function that releases it. A missing directory
// is an error.
func lockIfThere(path string) (free func() error, err error) {
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	lock, err := kv.LockShared(path)
	if err != nil {
		return nil, err
	}
	return lock.Close, nil
}

// isVerified reports whether a running process is verifying a backup.
func isVerified(name string) bool {
	if !strings.HasSuffix(name, unverified) {
		return false
	}
	free, err := lockIfThere(name)
	if err == nil {
		_ = free() // the lock was only tested
	}
	return errors.Is(err, ErrLocked)
}

func leftover(name string, now time.Time) (l Leftover, err error) {
	info, err := os.Lstat(name)
	if err != nil {
		return l, err
	}
	l = Leftover{Path: name, Age: now.Sub(info.ModTime())}
	err = filepath.WalkDir(name, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			l.Bytes += uint64(info.Size())
		}
		return err
	})
	return l, err
}

// RemoveLeftovers removes the entries that [Leftovers] finds and returns those that it removed.
func RemoveLeftovers(path string, now time.Time) ([]Leftover, error) {
	left, err := Leftovers(path, now)
	if err != nil {
		return nil, err
	}
	for i, l := range left {
		if err := os.RemoveAll(l.Path); err != nil {
			return left[:i], err
		}
	}
	return left, nil
}
