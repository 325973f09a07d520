package snapshot

import (
	"context"
	"errors"
	"io/fs"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// nowhere is a sink that discards everything, for snapshots that are only verified.
type nowhere struct{}

func (nowhere) PutState(chain.StateEntry) error { return nil }

func (nowhere) PutCode(types.CodeHash, []byte, types.Height) error { return nil }

func (nowhere) PutPolicy(types.Policy, types.Height) error { return nil }
func (nowhere) PutDeployment(chain.Deployment) error       { return nil }

func (nowhere) PutHolder(chain.TokenSum) error { return nil }

// Verify verifies a whole snapshot: each chunk against the manifest, the state against the sealed header's root, and
// that nothing is missing, duplicated or from another snapshot.
func Verify(ctx context.Context, fsys fs.FS, trust Trust, progress func(done, total uint64)) (Manifest, error) {
	r, err := read(ctx, fsys, trust, nowhere{}, progress)
	return r.manifest, err
}

// Import verifies a snapshot as [Verify] does and makes it the chain of a store, which must be empty. After an error
// the store's database is unusable.
func Import(
	ctx context.Context, fsys fs.FS, trust Trust, store *chain.Store, progress func(done, total uint64),
) (Manifest, error) {
	restore, err := store.Restore()
	if err != nil {
		return Manifest{}, err
	}
	r, err := read(ctx, fsys, trust, restore, progress)
	if err != nil {
		return r.manifest, errors.Join(err, restore.Discard())
	}
	return r.manifest, restore.Finish(r.genesis, r.zero, r.block)
}
