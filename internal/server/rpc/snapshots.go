package rpc

import (
	"context"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// Snapshots are those that a node offers: a *snapshot.Directory.
type Snapshots interface {
	// Newest is the manifest of the newest one at or below a height, and whether there is one.
	Newest(types.Height) (api.StateSnapshot, bool)
}

func (s *Server) getStateSnapshot(_ context.Context, p api.GetStateSnapshotParams) (*api.StateSnapshot, error) {
	if s.snapshots == nil {
		return nil, nil
	}
	manifest, ok := s.snapshots.Newest(p.Block.Resolve(s.chain.Head().Header.Height))
	if !ok {
		return nil, nil
	}
	return &manifest, nil
}
