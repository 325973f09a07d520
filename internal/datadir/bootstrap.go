package datadir

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cairn-chain/cairn/internal/engine/snapshot"
)

// Bootstrap fills the directory, which must have no chain, from the newest snapshot that upstreams offer: else it is
// [ErrHasChain]. It must be of the chain and, if it is set, the block that trust names. What a broken attempt fetched
// is used again. progress is told of the bytes done and of all there are, of fetching and then of importing.
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
		err = errors.Join(err, os.RemoveAll(path)) // fetched anew, it may be another one
	}
	if err != nil {
		return m, err
	}
	log.Info("continuing from a snapshot", "height", m.Height, "block", m.BlockHash, "root", m.StateRoot)
	return m, nil
}
