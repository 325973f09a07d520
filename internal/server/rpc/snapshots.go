package rpc

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Snapshots gives access to a node's snapshot files.
type Snapshots interface {
	// Newest returns the manifest of the newest snapshot at or below a height, and whether there is one.
	Newest(types.Height) (snapshot.Manifest, bool)
	// Demand makes a snapshot of the head if the node makes them on demand. It reports whether there is one.
	Demand(context.Context) (snapshot.Manifest, bool, error)
}

// noSnapshots is for a node without snapshot files.
type noSnapshots struct{}

func (noSnapshots) Newest(types.Height) (m snapshot.Manifest, ok bool) { return m, false }

func (noSnapshots) Demand(context.Context) (m snapshot.Manifest, ok bool, err error) {
	return m, false, nil
}

type snapshotHandlers struct {
	chain     stateStore
	snapshots Snapshots
}

func (h *snapshotHandlers) methods(e *clientErrors) []method {
	return []method{
		bind(e, api.GetStateSnapshot, h.getStateSnapshot),
	}
}

func (h *snapshotHandlers) getStateSnapshot(
	ctx context.Context, p api.GetStateSnapshotParams,
) (s api.StateSnapshot, err error) {
	head := h.chain.Head().Header.Height
	height := p.Block.Resolve(head)
	if height == head {
		made, ok, err := h.snapshots.Demand(ctx)
		if err != nil {
			return s, err
		}
		if ok && p.Block == api.Latest() { // a block may have arrived since
			height = made.Height
		}
	}
	m, err := h.stateAfter(height)
	if offered, ok := h.snapshots.Newest(height); ok {
		// The files of a pruned state still exist.
		if offered.Height == height && (err != nil || offered.BlockHash == m.BlockHash) {
			m, err = offered, nil
		}
		s.NewestFiles = &offered.Height
	}
	return withManifest(s, m), aboveHead(err, head)
}

// stateAfter returns a manifest without files for the state after a block.
func (h *snapshotHandlers) stateAfter(height types.Height) (m snapshot.Manifest, err error) {
	st, err := h.chain.StateAt(height)
	if err != nil {
		return m, err
	}
	signed, has, err := st.Summary()
	genesis, genesisErr := h.chain.Header(0)
	return newManifest(signed, has, genesis.Header.Hash()), errors.Join(err, genesisErr, st.Close())
}

func newManifest(signed types.SignedHeader, has chain.Counts, genesis types.BlockHash) snapshot.Manifest {
	return snapshot.Manifest{
		Height:         signed.Header.Height,
		BlockHash:      signed.Header.Hash(),
		StateRoot:      signed.Header.StateRoot,
		Format:         snapshot.Format,
		Accounts:       has.Accounts,
		Contracts:      has.Contracts,
		StorageEntries: has.StorageEntries,
		ChainID:        signed.Header.ChainID,
		GenesisHash:    genesis,
		Header:         signed.Encode(),
	}
}

func withManifest(s api.StateSnapshot, m snapshot.Manifest) api.StateSnapshot {
	s.Height, s.BlockHash, s.StateRoot, s.Header = m.Height, m.BlockHash, m.StateRoot, api.Data(m.Header)
	s.ChainID, s.GenesisHash = m.ChainID, m.GenesisHash
	s.Accounts, s.Contracts, s.StorageEntries = m.Accounts, m.Contracts, m.StorageEntries
	s.Format, s.SizeBytes, s.ChunkCount, s.CreatedAt = m.Format, m.SizeBytes, m.ChunkCount, m.CreatedAt
	s.Chunks = make([]api.SnapshotChunk, len(m.Chunks))
	for i, c := range m.Chunks {
		s.Chunks[i] = api.SnapshotChunk{
			Index: c.Index, SHA256: c.SHA256, SizeBytes: c.SizeBytes, URL: c.URL, Kind: api.SnapshotKind(c.Kind),
		}
	}
	return s
}
