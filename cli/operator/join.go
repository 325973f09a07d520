package operator

import (
	"context"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// joinCluster joins a member's directory to its cluster, unless it has joined. /ready shows the reason for the wait.
func joinCluster(ctx context.Context, dir *datadir.Dir, config nodeConfig) error {
	j := datadir.Joining{
		Genesis: *config.Chain.Genesis, Program: config.Build.Version, LockDir: config.LockDir, Waits: config.Admin.Say,
	}
	if config.Key != nil {
		j.Keys = []types.PublicKey{config.Key.PublicKey()}
	}
	if config.nextKey != nil {
		j.Keys = append(j.Keys, config.nextKey.PublicKey())
	}
	return dir.Join(ctx, j)
}
