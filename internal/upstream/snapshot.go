package upstream

import (
	"context"
	"io"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/types"
)

// Snapshot implements snapshot.Source.
func (n *Node) Snapshot(ctx context.Context, atMost types.Height) (*snapshot.Manifest, error) {
	block := api.AtHeight(atMost)
	if atMost == snapshot.AnyHeight {
		block = api.Latest()
	}
	offered, err := n.client.OfferedSnapshot(ctx, block)
	if offered == nil || err != nil {
		return nil, err
	}
	return newManifest(offered), nil
}

// Chunk implements snapshot.Source.
func (n *Node) Chunk(ctx context.Context, url string, from uint64) (io.ReadCloser, uint64, error) {
	return n.client.Download(ctx, url, from)
}

func newManifest(s *api.StateSnapshot) *snapshot.Manifest {
	m := &snapshot.Manifest{
		Height:         s.Height,
		BlockHash:      s.BlockHash,
		StateRoot:      s.StateRoot,
		Format:         s.Format,
		Accounts:       s.Accounts,
		Contracts:      s.Contracts,
		StorageEntries: s.StorageEntries,
		SizeBytes:      s.SizeBytes,
		ChunkCount:     s.ChunkCount,
		CreatedAt:      s.CreatedAt,
		ChainID:        s.ChainID,
		GenesisHash:    s.GenesisHash,
		Header:         types.Hex(s.Header),
	}
	for _, c := range s.Chunks {
		m.Chunks = append(m.Chunks, snapshot.Chunk{
			Index: c.Index, SHA256: c.SHA256, SizeBytes: c.SizeBytes, URL: c.URL, Kind: snapshot.Kind(c.Kind),
		})
	}
	return m
}
