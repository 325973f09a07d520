package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

const (
	backupsDir = "backups"
	unverified = ".unverified" // ends the name of a backup that [VerifyBackup] has not passed
	backupName = "20060102T150405Z"
)

// ErrNoDisk is the error of a backup of a chain that is in memory.
var ErrNoDisk = errors.New("the chain is in memory: there is nothing on a disk to back up")

// Backup makes a copy of the database as it is now, beside it, while the chain goes on, and returns its directory. That
// is a data directory that has nothing but the chain, and is for [VerifyBackup] before it counts. Files that the
// database no longer writes to are linked, not copied. It may be called while other methods are.
func (d *Dir) Backup(now time.Time) (path string, err error) {
	if d.path == "" {
		return "", ErrNoDisk
	}
	if path, err = filepath.Abs(filepath.Join(d.path, backupsDir, now.UTC().Format(backupName)+unverified)); err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return "", err
	}
	if err := os.Mkdir(path, 0o750); err != nil {
		return "", fmt.Errorf("a backup is made at most once a second: %w", err)
	}
	if err := d.db.Checkpoint(filepath.Join(path, databaseDir)); err != nil {
		return "", errors.Join(err, os.RemoveAll(path))
	}
	return path, (kv.FS{}).SyncDir(path)
}

// VerifyBackup compares every byte of a backup with its checksum, opens its chain, and gives the backup its name. A
// backup that fails keeps the name that it has. progress is told of the bytes done and of all there are.
func VerifyBackup(
	ctx context.Context, path string, progress func(done, total uint64),
) (named string, head types.SignedHeader, err error) {
	d, err := OpenChain(path, Options{CheckFiles: func(done, total uint64) { progress(done, total) }})
	if err != nil {
		return "", head, fmt.Errorf("the backup cannot be opened: %w", err)
	}
	head = d.store.Head()
	if err := ctx.Err(); err != nil {
		return "", head, errors.Join(err, d.Close())
	}
	if err := errors.Join(d.damaged(), d.Close()); err != nil {
		return "", head, emergency.DamagedBackup(path, err)
	}
	named = strings.TrimSuffix(path, unverified)
	if err := os.Rename(path, named); err != nil {
		return "", head, err
	}
	return named, head, (kv.FS{}).SyncDir(filepath.Dir(named))
}
