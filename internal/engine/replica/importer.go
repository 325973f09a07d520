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
	Header(types.Height) (types.SignedHeader, error)
	// CheckNext is that of *ledger.Ledger.
	CheckNext(*ledger.Received) error
	// Import verifies blocks, of which there is at least one, and puts them on disk, with what else that takes from s,
	// where they came from. It returns those that it imported, which may be fewer, and what is wrong with the block after
	// them: an error of *ledger.Ledger, [ErrNotProven], or a fault of s. Without an error there is at least one.
	Import(ctx context.Context, s Source, blocks []*ledger.Received) ([]ledger.Block, error)
	// Gather tells whether Import is to wait for more blocks than these, of which there is at least one. s has blocks up
	// to newest, and more of them than these are imported together.
	Gather(ctx context.Context, s Source, blocks []*ledger.Received, newest types.Height) bool
}

// ErrNotProven is the error of a block whose proof is not there yet.
var ErrNotProven = errors.New("the block is not proven yet")

// executing is an [Importer] that holds the state.
type executing struct{ *ledger.Ledger }

// Executing imports blocks by executing them on a state of one's own.
func Executing(l *ledger.Ledger) Importer { return executing{l} }

func (e executing) Import(_ context.Context, _ Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	return e.Ledger.Import(blocks...)
}

// Gather is false: each block is imported as it comes.
func (executing) Gather(context.Context, Source, []*ledger.Received, types.Height) bool { return false }

// stateless is an [Importer] that holds no state.
type stateless struct {
	*ledger.Stateless
	bundles bundles

	together bool
	plan     plan
	ahead    rangeAhead
}

// Stateless imports blocks by their proofs: each is executed on its access list. Where together is set, those that have
// a proof together are executed on the union of their lists.
func Stateless(l *ledger.Stateless, together bool) Importer {
	return &stateless{Stateless: l, together: together}
}

// Import imports the first block, or those that have a proof together. What a proof takes is much more than a sync.
func (s *stateless) Import(ctx context.Context, from Source, blocks []*ledger.Received) ([]ledger.Block, error) {
	b := blocks[0]
	if err := s.CheckNext(b); err != nil { // whose gas bounds what is asked for
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

// fetchFrom fetches from a source what the verification of a block lacks, whose parent has a height. Each code may take
// requestTime, and so may all values together: only who lies, the producer or the source, leaves a block without them.
func fetchFrom(ctx context.Context, from Source, parent types.Height) ledger.Fetch {
	var values time.Time // until when they are asked for
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
