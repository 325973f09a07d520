package rpc

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/types"
)

// offered is one snapshot, of block 2.
type offered struct{}

func (offered) Newest(height types.Height) (snapshot.Manifest, bool) {
	m := snapshot.Manifest{
		Height:         2,
		BlockHash:      types.BlockHash{1},
		StateRoot:      types.StateRoot{2},
		Format:         "cairn-snapshot-1",
		Accounts:       3,
		Contracts:      1,
		StorageEntries: 7,
		SizeBytes:      1200,
		ChunkCount:     1,
		CreatedAt:      1_700_000_000,
		ChainID:        5,
		GenesisHash:    types.BlockHash{3},
		Header:         types.Hex{4},
		Chunks: []snapshot.Chunk{{
			SHA256: types.Digest{5}, SizeBytes: 1200, URL: "/snapshots/2/000000.zst", Kind: snapshot.KindGenesis,
		}},
	}
	return m, height >= 2
}

// The height asked for is a bound; a node that offers no snapshots says so with null.
func TestGetStateSnapshot(t *testing.T) {
	c := newTestChain(t)
	if m := call[*api.StateSnapshot](c, "svc_getStateSnapshot"); m != nil {
		t.Errorf("at the head, 0: %v", m)
	}
	for range 3 {
		c.mine()
	}
	for name, params := range map[string][]any{
		"at the head": nil, "latest": {"latest"}, "at its height": {2}, "above the head": {"0x63"},
	} {
		if m := call[*api.StateSnapshot](c, "svc_getStateSnapshot", params...); m == nil || m.Height != 2 ||
			len(m.Chunks) != 1 {
			t.Errorf("%s: %v", name, m)
		}
	}
	if m := call[*api.StateSnapshot](c, "svc_getStateSnapshot", 1); m != nil {
		t.Errorf("below it: %v", m)
	}
	// The answer reads as the manifest on disk does.
	manifest, _ := offered{}.Newest(2)
	disk, wire := must(json.Marshal(manifest))(t),
		must(json.Marshal(call[*api.StateSnapshot](c, "svc_getStateSnapshot")))(t)
	if !bytes.Equal(disk, wire) {
		t.Errorf("on disk %s, answered %s", disk, wire)
	}
	c.serve(func(config *Config) { config.Snapshots = nil })
	if m := call[*api.StateSnapshot](c, "svc_getStateSnapshot"); m != nil {
		t.Errorf("of a node without: %v", m)
	}
}
