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
	unverified = ".unverified" // suffix of a backup that has not passed [VerifyBackup]
	backupName = "20060102T150405Z"
)

// ErrNoDisk is returned for a backup of an in-memory chain.
var ErrNoDisk = errors.New("the chain is in memory: there is no database on disk to back up")

// Backup copies the current database into a new directory beside it and returns the directory's path. The chain may
// grow meanwhile. The copy is a data directory with nothing but the chain, and does not count as a backup until it has
// passed [VerifyBackup]. Files that the database no longer writes to are hard-linked, not copied. Backup may run
// concurrently with other methods.
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
		return "", fmt.Errorf("only one backup per second is possible: %w", err)
	}
	if err := d.db.Checkpoint(filepath.Join(path, databaseDir)); err != nil {
		return "", errors.Join(err, os.RemoveAll(path))
	}
	return path, (kv.FS{}).SyncDir(path)
}

// VerifyBackup compares every byte of a backup with its checksum, opens its chain, and removes the suffix of an
// unverified backup from its name. A backup that fails keeps its name. progress receives the bytes done and the total.
func VerifyBackup(
	ctx context.Context, path string, progress func(done, total uint64),
) (named string, head types.SignedHeader, err error) {
	d, err := OpenChain(path, Options{CheckFiles: func(done, total uint64) { progress(done, total) }})
	if err != nil {
		return "", head, fmt.Errorf("cannot open the backup: %w", err)
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
