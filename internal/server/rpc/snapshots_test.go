package rpc

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/snapshot"
	"github.com/cairn-chain/cairn/internal/storage/chain"
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

// offered makes no snapshot.
func (offered) Demand(context.Context) (m snapshot.Manifest, ok bool, err error) {
	return m, false, nil
}

// demanded has the files of the head, as if they had just been made.
type demanded struct{ c *testChain }

func (d demanded) Newest(types.Height) (snapshot.Manifest, bool) {
	m, _ := offered{}.Newest(2)
	head := d.c.store.Head().Header
	m.Height, m.BlockHash, m.StateRoot = head.Height, head.Hash(), head.StateRoot
	return m, true
}

func (d demanded) Demand(context.Context) (snapshot.Manifest, bool, error) {
	d.c.mine() // a block is made meanwhile
	m, ok := d.Newest(0)
	return m, ok, nil
}

// Every state of the node is described, whether or not its files exist, and so are the files of a pruned state.
func TestGetStateSnapshot(t *testing.T) {
	c := newTokenScenario(t)
	c.serve(func(config *Config) { config.Snapshots = nil })
	for height := range c.store.Head().Header.Height + 1 {
		header := must(c.store.Header(height))(t)
		s := call[api.StateSnapshot](c.testChain, "svc_getStateSnapshot", height)
		if s.Height != height || s.BlockHash != header.Header.Hash() || s.StateRoot != header.Header.StateRoot ||
			!bytes.Equal(s.Header, header.Encode()) || s.NewestFiles != nil || len(s.Chunks) > 0 || s.CreatedAt != 0 {
			t.Errorf("at %d: got %+v", height, s)
		}
	}
	before := call[api.StateSnapshot](c.testChain, "svc_getStateSnapshot", 0)
	after := call[api.StateSnapshot](c.testChain, "svc_getStateSnapshot")
	if before.Accounts == 0 || before.Contracts != 0 || after.Contracts != 1 || after.StorageEntries == 0 {
		t.Errorf("with a token deployed: %+v, before %+v", after, before)
	}
	c.refused(api.ErrAboveHead, "svc_getStateSnapshot", after.Height+1)
}

// The files belong to the chain's block, and a query below others gets the newest snapshot there.
func TestStateSnapshotWithFiles(t *testing.T) {
	c := newTestChain(t)
	for range 3 {
		c.mine()
	}
	two := types.Height(2)
	for height, newest := range map[types.Height]*types.Height{1: nil, 2: &two, 3: &two} {
		s := call[api.StateSnapshot](c, "svc_getStateSnapshot", height)
		if (s.NewestFiles == nil) != (newest == nil) || newest != nil && *s.NewestFiles != *newest {
			t.Errorf("at %d the newest files are of %v", height, s.NewestFiles)
		}
		if len(s.Chunks) > 0 {
			t.Errorf("at %d: files of a block that is not the chain's", height)
		}
	}
	c.serve(func(config *Config) { config.Snapshots = demanded{c} })
	head := c.store.Head().Header.Height
	if s := call[api.StateSnapshot](c, "svc_getStateSnapshot"); s.Height != head+1 || len(s.Chunks) != 1 {
		t.Errorf("made when the head was %d: got %+v", head, s)
	}
	// A snapshot that is requested by height stays the same, even if it was the head's.
	if s := call[api.StateSnapshot](c, "svc_getStateSnapshot", head+1); s.Height != head+1 || len(s.Chunks) > 0 {
		t.Errorf("block %d, asked for while it was the head: got %+v", head+1, s)
	}
}

// The answer reads as the manifest on disk does, and also states which files exist.
func TestStateSnapshotOfPrunedState(t *testing.T) {
	c := newTestChain(t)
	c.mine()
	c.serve(func(config *Config) { config.Chain = pruned{config.Chain.(*chain.Store)} })
	c.refused(api.ErrPruned, "svc_getStateSnapshot", 1)
	manifest, _ := offered{}.Newest(2)
	answer := call[map[string]any](c, "svc_getStateSnapshot", 2)
	if answer["newest_files"] != 2.0 {
		t.Errorf("newest files: got %v, want %v", answer["newest_files"], 2.0)
	}
	delete(answer, "newest_files")
	var disk map[string]any
	check(t, json.Unmarshal(must(json.Marshal(manifest))(t), &disk))
	if !reflect.DeepEqual(disk, answer) {
		t.Errorf("on disk %v, answered %v", disk, answer)
	}
}

// pruned is a chain that no longer has any state.
type pruned struct{ *chain.Store }

func (pruned) StateAt(types.Height) (*chain.State, error) { return nil, chain.ErrPruned }
