package replica

import (
	"context"
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Importer is the chain that blocks are imported into: [Executing] or [Stateless].
type Importer interface {
	Tip() *ledger.Tip
	Network() types.Network
	Header(types.Height) (types.SignedHeader, error)
	// CheckNext is like [ledger.Ledger.CheckNext].
	CheckNext(*ledger.Received) error
	// Import verifies one or more blocks and puts them on disk. It gets whatever else it needs from s, the source of
	// the blocks. It returns the imported blocks, possibly fewer than given, and the error of the block after them: an
	// error of *ledger.Ledger, [ErrNotProven], or a fault of s. If the error is nil, at least one block was imported.
	Import(ctx context.Context, s Source, blocks []*ledger.Received) ([]ledger.Block, error)
	// Gather reports whether Import should wait for more blocks than these, at least one. It should if s has more
	// blocks, up to newest, that are imported together with these.
	Gather(ctx context.Context, s Source, blocks []*ledger.Received, newest types.Height) bool
}

// ErrNotProven is returned for a block that has no proof yet.
var ErrNotProven = errors.New("the block's proof is not available yet")

// executing is an [Importer] that holds the state.
type executing struct{ *ledger.Ledger }

// Executing returns an Importer that executes blocks on the ledger's own state.
func Executing(l *ledger.Ledger) Importer { return executing{l} }

func (e executing) Import(_ context.Context, _ Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	return e.Ledger.Import(blocks...)
}

// Gather returns false: blocks are imported as they come.
func (executing) Gather(context.Context, Source, []*ledger.Received, types.Height) bool { return false }

// stateless is an [Importer] that holds no state.
type stateless struct {
	*ledger.Stateless
	bundles bundles

	together bool
	plan     plan
	ahead    rangeAhead
}

// Stateless returns an Importer that imports blocks by their proofs and executes each on its access list. With
// together, blocks that have a joint proof are executed on the union of their lists.
func Stateless(l *ledger.Stateless, together bool) Importer {
	return &stateless{Stateless: l, together: together}
}

// Import imports the first block, or the first blocks with a joint proof. It does not combine syncs further, since
// verifying a proof takes much longer than a sync.
func (s *stateless) Import(ctx context.Context, from Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	b := blocks[0]
	if err := s.CheckNext(b); err != nil { // b's gas bounds the size of the requests
		return nil, err
	}
	if together, err := s.importTogether(ctx, from, blocks); err != nil || len(together) > 0 {
		return together, err
	}
	height := b.Header().Header.Height
	bundle, err := s.bundles.get(ctx, from, height, MostBundle(b.Header()))
	if err != nil {
		return nil, err
	}
	s.bundles.ask(ctx, from, height+1, len(blocks)-1)
	proven, err := s.Verify(b, bundle)
	if err != nil {
		return nil, err
	}
	block, err := s.Stateless.Import(proven, fetchFrom(ctx, from, height-1))
	if err != nil {
		return nil, err
	}
	return []ledger.Block{block}, nil
}

// fetchFrom returns a Fetch that gets missing data for a block's verification from a source. parent is the height of
// the block's parent. Each code may take requestTime, and so may all values together: a block lacks values only if the
// producer or the source lies.
func fetchFrom(ctx context.Context, from Source, parent types.Height) ledger.Fetch {
	var values time.Time // deadline of the requests
	return ledger.Fetch{
		Code: func(hash types.CodeHash) ([]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, requestTime)
			defer cancel()
			code, err := from.Code(ctx, hash)
			return code, asked(err, "the code of a contract")
		},
		Value: func(key []byte) ([]byte, tree.MerkleProof, error) {
			if values.IsZero() {
				values = time.Now().Add(requestTime)
			}
			ctx, cancel := context.WithDeadline(ctx, values)
			defer cancel()
			value, proof, err := from.Value(ctx, parent, key)
			if errors.Is(err, chain.ErrNoState) || errors.Is(err, chain.ErrPruned) {
				return nil, proof, err
			}
			return value, proof, asked(err, "a value of the state")
		},
	}
}
