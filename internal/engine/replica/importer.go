package replica

import (
	"context"
	"errors"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/types"
)

// Importer is the chain that blocks are imported into: [Executing] or [Stateless].
type Importer interface {
	Tip() *ledger.Tip
	Header(types.Height) (types.SignedHeader, error)
	// CheckNext is that of *ledger.Ledger.
	CheckNext(*ledger.Received) error
	// Import verifies the block and puts it on disk, with what else it takes from s, where the block came from. So many blocks
	// after it are there, too: what those take may be asked for ahead. Errors are those of *ledger.Ledger, [ErrNotProven],
	// and faults of s.
	Import(ctx context.Context, s Source, b *ledger.Received, after int) (ledger.Block, error)
}

// ErrNotProven is the error of a block whose proof is not there yet.
var ErrNotProven = errors.New("the block is not proven yet")

// executing is an [Importer] that holds the state.
type executing struct{ *ledger.Ledger }

// Executing imports blocks by executing them on a state of one's own.
func Executing(l *ledger.Ledger) Importer { return executing{l} }

func (e executing) Import(_ context.Context, _ Source, b *ledger.Received, _ int) (ledger.Block, error) {
	return e.Ledger.Import(b)
}

// stateless is an [Importer] that holds no state.
type stateless struct {
	*ledger.Stateless
	bundles bundles
}

// Stateless imports blocks by their proofs: each is executed on its access list.
func Stateless(l *ledger.Stateless) Importer {
	return &stateless{Stateless: l}
}

func (s *stateless) Import(ctx context.Context, from Source, b *ledger.Received, after int) (ledger.Block, error) {
	height := b.Header().Header.Height
	bundle, err := s.bundles.get(ctx, from, height)
	if err != nil {
		return ledger.Block{}, err
	}
	s.bundles.ask(ctx, from, height+1, after)
	proven, err := s.Verify(b, bundle)
	if err != nil {
		return ledger.Block{}, err
	}
	return s.Stateless.Import(proven, codesFrom(ctx, from))
}

// codesFrom fetches codes from a source.
func codesFrom(ctx context.Context, from Source) ledger.FetchCode {
	return func(hash types.CodeHash) ([]byte, error) {
		ctx, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		code, err := from.Code(ctx, hash)
		return code, asked(err, "the code of a contract")
	}
}
