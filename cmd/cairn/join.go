package main

import (
	"context"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/types"
)

// joinCluster has a member's directory join its cluster, if it has not yet. While it waits /ready says for what.
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
