package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cairn-chain/cairn/internal/engine/snapshot"
)

// Bootstrap fills the directory from the newest snapshot that the upstreams offer. It returns [ErrHasChain] if the
// directory has a chain. The snapshot must be of the chain that trust names and, if set, of its block. A download that
// failed is resumed. progress receives the bytes done and the total, first of the download and then of the import.
func (d *Dir) Bootstrap(
	ctx context.Context, from Upstreams, trust SnapshotTrust, progress func(done, total uint64),
) (m Snapshot, err error) {
	if d.Genesis() != nil {
		return m, fmt.Errorf("%w: %s", ErrHasChain, d.path)
	}
	log := d.options.Log
	download := snapshot.Download{Trust: trust, Parent: d.file(snapshotsDir), Log: log, Progress: progress}
	nodes, err := from.nodes()
	if err != nil {
		return m, err
	}
	for _, n := range nodes {
		defer n.Close()
		download.Sources = append(download.Sources, n)
	}
	path, err := download.Fetch(ctx)
	if err != nil {
		return m, err
	}
	m, err = d.ImportSnapshot(ctx, path, trust, progress)
	if snapshot.Unusable(err) {
		err = errors.Join(err, os.RemoveAll(path)) // the next download may be of another snapshot
	}
	if err != nil {
		return m, err
	}
	log.Info("state sync: starting from a snapshot", "height", m.Height, "block", m.BlockHash, "root", m.StateRoot)
	return m, nil
}
