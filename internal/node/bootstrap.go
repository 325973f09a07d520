package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/upstream"
)

// Bootstrap fills a data directory that has no chain from the newest snapshot that upstreams, named by their URLs, offer.
// It must be of the chain and, where it is set, the block that trust names. What a broken attempt fetched is used again.
// It returns [ErrLocked] for a directory that a node runs on, or that is being filled.
// progress is told of the bytes done and of all there are, of fetching and then of importing.
func Bootstrap(ctx context.Context, dir string, upstreams []string, options []client.Option, trust SnapshotTrust, log *slog.Logger,
	progress func(done, total uint64)) (m Snapshot, err error) {
	lock, err := kv.Lock(dir)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	stored, err := StoredGenesis(dir)
	if err == nil && stored != nil {
		err = fmt.Errorf("%w: %s", ErrHasChain, dir)
	}
	if err != nil {
		return m, err
	}
	download := snapshot.Download{Trust: trust, Parent: filepath.Join(dir, snapshotsDir), Log: log, Progress: progress}
	for _, url := range upstreams {
		source, err := upstream.New(url, options...)
		if err != nil {
			return m, err
		}
		defer source.Close()
		download.Sources = append(download.Sources, source)
	}
	path, err := download.Fetch(ctx)
	if err != nil {
		return m, err
	}
	m, err = importSnapshot(ctx, dir, path, trust, progress)
	if snapshot.Unusable(err) {
		err = errors.Join(err, os.RemoveAll(path)) // fetched anew, it may be another one
	}
	if err != nil {
		return m, err
	}
	log.Info("continuing from a snapshot", "height", m.Height, "block", m.BlockHash, "root", m.StateRoot)
	return m, nil
}
