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

// Snapshot is what a snapshot says of itself, and SnapshotTrust what it must be of.
type (
	Snapshot      = snapshot.Manifest
	SnapshotTrust = snapshot.Trust
)

// Snapshots lists the snapshots that a node offers, nil in memory. None is made where the disk has room for blocks
// only.
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

// errKeptForBlocks is the error of a snapshot that would take the room of blocks.
var errKeptForBlocks = errors.New("less than a twentieth of the disk is free, which is left for blocks")

// leaveForBlocks refuses to fill a disk of which little is free: a snapshot can wait, a node without room for a block
// ends. Where a disk does not tell its size, what does not fit fails when it is written.
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

// ListSnapshots lists the snapshots in a data directory, ascending by height. The node may run on it.
func ListSnapshots(path string) ([]Snapshot, error) {
	return snapshot.List(filepath.Join(path, snapshotsDir))
}

// SnapshotPath is where a data directory has the snapshot of a height.
func SnapshotPath(path string, height types.Height) string {
	return filepath.Join(path, snapshotsDir, fmt.Sprint(uint64(height)))
}

// ExportSnapshot writes a snapshot, which is at a path, as one archive.
func ExportSnapshot(ctx context.Context, path string, w io.Writer) error {
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(snapshot.Export(ctx, files, w), closeFiles())
}

// VerifySnapshot checks a snapshot whole: a directory or an archive.
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

// ImportSnapshot makes a snapshot, a directory or an archive, the chain of this directory, which must have none: else
// it is [ErrHasChain]. It has a chain whole or not at all. progress is told of the bytes done and of all there are.
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
	if err := os.RemoveAll(importing); err != nil { // what a crash left
		return m, err
	}
	if m, err = d.importInto(ctx, importing, files, trust, progress); err != nil {
		return m, errors.Join(err, os.RemoveAll(importing))
	}
	// What may be in place of the database holds no chain.
	return m, errors.Join(d.closeDatabase(), os.RemoveAll(final), os.Rename(importing, final), (kv.FS{}).SyncDir(d.path))
}

// importInto makes a database of a snapshot.
func (d *Dir) importInto(
	ctx context.Context, dir string, files fs.FS, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	db, err := kv.Open(dir, kv.Options{Logger: d.options.Log})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Schedule: params.Schedule1.Digest()})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return snapshot.Import(ctx, files, trust, store, progress)
}
