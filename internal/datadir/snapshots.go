package datadir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Snapshot is the manifest of a snapshot, and SnapshotTrust the chain and block that it must match.
type (
	Snapshot      = snapshot.Manifest
	SnapshotTrust = snapshot.Trust
)

// Snapshots opens the list of the node's snapshots, or returns nil in memory. No snapshot is made if less than a
// twentieth of the disk is free.
func (d *Dir) Snapshots() (*snapshot.Directory, error) {
	if d.path == "" {
		return nil, nil
	}
	snapshots, err := snapshot.OpenDirectory(d.file(snapshotsDir), d.options.Log)
	if err == nil {
		snapshots.Space = func() error { return leaveForBlocks(machine.Disk(d.path)) }
	}
	return snapshots, err
}

// errKeptForBlocks is returned for a snapshot that would take the space of blocks.
var errKeptForBlocks = errors.New("less than 5 % of the disk is free, and the rest is reserved for blocks")

// leaveForBlocks returns an error if little of the disk is free: a snapshot can wait, but a node without space for a
// block ends. If the disk's size is unknown, there is no check, and a snapshot without space fails in the write.
func leaveForBlocks(size, free uint64, err error) error {
	if err == nil && free < size/20 {
		return errKeptForBlocks
	}
	return nil
}

// CreateSnapshot makes a snapshot of the chain's head.
func (d *Dir) CreateSnapshot(ctx context.Context) (Snapshot, error) {
	if d.lost != nil {
		return Snapshot{}, d.lost
	}
	return snapshot.Create(ctx, d.store, d.file(snapshotsDir), uint64(time.Now().Unix()))
}

// ListSnapshots lists the snapshots in a data directory by ascending height. The directory's node may run.
func ListSnapshots(path string) ([]Snapshot, error) {
	return snapshot.List(filepath.Join(path, snapshotsDir))
}

// SnapshotPath returns the path of the snapshot of a height in a data directory.
func SnapshotPath(path string, height types.Height) string {
	return filepath.Join(path, snapshotsDir, fmt.Sprint(uint64(height)))
}

// ExportSnapshot writes the snapshot at path as one archive.
func ExportSnapshot(ctx context.Context, path string, w io.Writer) error {
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(snapshot.Export(ctx, files, w), closeFiles())
}

// VerifySnapshot verifies a whole snapshot, a directory or an archive.
func VerifySnapshot(
	ctx context.Context, path string, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return m, err
	}
	m, err = snapshot.Verify(ctx, files, trust, progress)
	return m, errors.Join(err, closeFiles())
}

// ImportSnapshot fills the directory with the chain of a snapshot, a directory or an archive. It returns [ErrHasChain]
// if there is a chain already. The import is atomic. progress receives the bytes done and the total.
func (d *Dir) ImportSnapshot(
	ctx context.Context, path string, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	if d.Genesis() != nil {
		return m, fmt.Errorf("%w: %s", ErrHasChain, d.path)
	}
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return m, err
	}
	m, err = d.importFiles(ctx, files, trust, progress)
	return m, errors.Join(err, closeFiles())
}

func (d *Dir) importFiles(
	ctx context.Context, files fs.FS, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	importing, final := d.file(importDir), d.file(databaseDir)
	if err := os.RemoveAll(importing); err != nil { // left by a crash
		return m, err
	}
	if m, err = d.importInto(ctx, importing, files, trust, progress); err != nil {
		return m, errors.Join(err, os.RemoveAll(importing))
	}
	// The database that is replaced, if any, has no chain.
	return m, errors.Join(d.closeDatabase(), os.RemoveAll(final), os.Rename(importing, final), (kv.FS{}).SyncDir(d.path))
}

// importInto makes a database from a snapshot.
func (d *Dir) importInto(
	ctx context.Context, dir string, files fs.FS, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	db, err := kv.Open(dir, kv.Options{Logger: d.options.Log})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return snapshot.Import(ctx, files, trust, store, progress)
}
