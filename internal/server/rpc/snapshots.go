package rpc

import (
	"context"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/types"
)

// Snapshots are those that a node offers: a *snapshot.Directory.
type Snapshots interface {
	// Newest is the manifest of the newest one at or below a height, and whether there is one.
	Newest(types.Height) (snapshot.Manifest, bool)
}

type snapshotHandlers struct {
	chain     headers
	snapshots Snapshots // nil where none are offered
}

func (h *snapshotHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetStateSnapshot, h.getStateSnapshot),
	}
}

func (h *snapshotHandlers) getStateSnapshot(
	_ context.Context, p api.GetStateSnapshotParams,
) (*api.StateSnapshot, error) {
	if h.snapshots == nil {
		return nil, nil
	}
	manifest, ok := h.snapshots.Newest(p.Block.Resolve(h.chain.Head().Header.Height))
	if !ok {
		return nil, nil
	}
	return newStateSnapshot(manifest), nil
}

func newStateSnapshot(m snapshot.Manifest) *api.StateSnapshot {
	s := &api.StateSnapshot{
		Height:         m.Height,
		BlockHash:      m.BlockHash,
		StateRoot:      m.StateRoot,
		Format:         m.Format,
		Accounts:       m.Accounts,
		Contracts:      m.Contracts,
		StorageEntries: m.StorageEntries,
		SizeBytes:      m.SizeBytes,
		ChunkCount:     m.ChunkCount,
		Chunks:         make([]api.SnapshotChunk, len(m.Chunks)),
		CreatedAt:      m.CreatedAt,
		ChainID:        m.ChainID,
		GenesisHash:    m.GenesisHash,
		Header:         api.Data(m.Header),
	}
	for i, c := range m.Chunks {
		s.Chunks[i] = api.SnapshotChunk{
			Index: c.Index, SHA256: c.SHA256, SizeBytes: c.SizeBytes, URL: c.URL, Kind: api.SnapshotKind(c.Kind),
		}
	}
	return s
}
