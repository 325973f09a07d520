package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The parts of a data directory that have to do with snapshots.
const (
	snapshotsDir = "snapshots"
	importDir    = "db.importing" // a database that is being made of a snapshot
)

// Snapshot is what a snapshot says of itself, and SnapshotTrust what it must be of.
type (
	Snapshot      = snapshot.Manifest
	SnapshotTrust = snapshot.Trust
)

// KeepSnapshots says when a node makes snapshots, and how many it keeps.
type KeepSnapshots struct {
	Interval uint64 // in blocks; 0: it makes none
	Count    int    // kept, the newest; at least 1
}

// ErrHasChain is the error of a data directory that is to be filled from a snapshot and holds a chain.
var ErrHasChain = errors.New("there is a chain in this data directory already")

// openSnapshots lists the snapshots that the node offers; one in memory has none.
func (n *Node) openSnapshots() (err error) {
	if n.config.DataDir == "" {
		return nil
	}
	n.snapshots, err = snapshot.OpenDirectory(filepath.Join(n.config.DataDir, snapshotsDir), n.config.Log)
	if err == nil {
		n.snapshots.Room = func() error { return leaveForBlocks(Disk(n.config.DataDir)) }
	}
	return err
}

// errNoRoom is the error of a snapshot that would take the room of blocks.
var errNoRoom = errors.New("less than a twentieth of the disk is free, which is left for blocks")

// leaveForBlocks refuses to fill a disk of which little is free: a snapshot can wait, a node without room for a block ends.
// Where a disk does not tell its size, what does not fit fails when it is written.
func leaveForBlocks(size, free uint64, err error) error {
	if err == nil && free < size/20 {
		return errNoRoom
	}
	return nil
}

// keepSnapshots makes snapshots until ctx ends.
func (n *Node) keepSnapshots(ctx context.Context) error {
	keep := n.config.Snapshots
	if n.snapshots == nil || keep.Interval == 0 {
		return nil
	}
	return n.snapshots.Keep(ctx, n.store, keep.Interval, max(1, keep.Count), n.config.Log)
}

// CreateSnapshot makes a snapshot of the head of a data directory's chain. The node must not run on it.
func CreateSnapshot(ctx context.Context, dir string) (m Snapshot, err error) {
	err = withStore(dir, 0, func(store *chain.Store) error {
		m, err = snapshot.Create(ctx, store, filepath.Join(dir, snapshotsDir), uint64(time.Now().Unix()))
		return err
	})
	return m, err
}

// ListSnapshots lists the snapshots in a data directory, ascending by height. The node may run on it.
func ListSnapshots(dir string) ([]Snapshot, error) {
	return snapshot.List(filepath.Join(dir, snapshotsDir))
}

// SnapshotPath is where a data directory has the snapshot of a height.
func SnapshotPath(dir string, height types.Height) string {
	return filepath.Join(dir, snapshotsDir, fmt.Sprint(uint64(height)))
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
func VerifySnapshot(ctx context.Context, path string, trust SnapshotTrust, progress func(done, total uint64)) (m Snapshot, err error) {
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return m, err
	}
	m, err = snapshot.Verify(ctx, files, trust, progress)
	return m, errors.Join(err, closeFiles())
}

// ImportSnapshot makes a snapshot, a directory or an archive, the chain of a data directory that has none. It has a chain
// whole or not at all. It returns [ErrLocked] for a directory that a node runs on, or that is being filled.
func ImportSnapshot(ctx context.Context, dir, path string, trust SnapshotTrust, progress func(done, total uint64)) (m Snapshot, err error) {
	lock, err := kv.Lock(dir)
	if err != nil {
		return m, err
	}
	m, err = importSnapshot(ctx, dir, path, trust, progress)
	return m, errors.Join(err, lock.Close())
}

// importSnapshot is ImportSnapshot into a directory that is locked.
func importSnapshot(ctx context.Context, dir, path string, trust SnapshotTrust, progress func(done, total uint64)) (m Snapshot, err error) {
	files, closeFiles, err := snapshot.Open(path)
	if err != nil {
		return m, err
	}
	m, err = importFiles(ctx, dir, files, trust, progress)
	return m, errors.Join(err, closeFiles())
}

func importFiles(ctx context.Context, dir string, files fs.FS, trust SnapshotTrust, progress func(done, total uint64)) (m Snapshot, err error) {
	stored, err := StoredGenesis(dir)
	if err != nil {
		return m, err
	}
	if stored != nil {
		return m, fmt.Errorf("%w: %s", ErrHasChain, dir)
	}
	importing, final := filepath.Join(dir, importDir), filepath.Join(dir, databaseDir)
	if err := os.RemoveAll(importing); err != nil { // what a crash left
		return m, err
	}
	if m, err = importInto(ctx, importing, files, trust, progress); err != nil {
		return m, errors.Join(err, os.RemoveAll(importing))
	}
	// What may be in place of the database holds no chain.
	return m, errors.Join(os.RemoveAll(final), os.Rename(importing, final), syncDirectory(dir))
}

// importInto makes a database of a snapshot.
func importInto(ctx context.Context, dir string, files fs.FS, trust SnapshotTrust, progress func(done, total uint64)) (m Snapshot, err error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return m, err
	}
	db, err := kv.Open(dir, kv.Options{Logger: slog.New(slog.DiscardHandler)})
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

// syncDirectory makes renaming within a directory last.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
