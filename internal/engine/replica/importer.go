package replica

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

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
	codes   *codeCache
}

// Stateless imports blocks by their proofs: each is executed on its access list.
func Stateless(l *ledger.Stateless) Importer {
	return &stateless{Stateless: l, codes: newCodeCache()}
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
	codes := &fetchedCodes{ctx: ctx, source: from, proven: proven, cache: s.codes}
	block, err := s.Stateless.Import(proven, codes)
	if codes.err != nil { // whatever became of it on its way through the execution
		err = codes.err
	}
	return block, err
}

// contracts tells which contract has a code: a *ledger.Proven.
type contracts interface {
	Contract(types.CodeHash) (types.ContractID, bool)
}

// fetchedCodes are the codes that the execution of a block asks for: those known from before, and those that the source
// gives. It is for one execution.
type fetchedCodes struct {
	ctx    context.Context
	source Source
	proven contracts
	cache  *codeCache
	err    error // the first
}

// CodeSize implements exec.Codes.
func (f *fetchedCodes) CodeSize(hash types.CodeHash) (int, error) {
	code, err := f.Code(hash)
	return len(code), err
}

// Code implements exec.Codes.
func (f *fetchedCodes) Code(hash types.CodeHash) ([]byte, error) {
	if code, ok := f.cache.codes[hash]; ok {
		return code, nil
	}
	code, err := f.fetch(hash)
	if err != nil {
		if f.err == nil {
			f.err = err
		}
		return nil, err
	}
	f.cache.keep(hash, code)
	return code, nil
}

func (f *fetchedCodes) fetch(hash types.CodeHash) ([]byte, error) {
	contract, ok := f.proven.Contract(hash)
	if !ok {
		return nil, fmt.Errorf("no contract in the access list has the code %s that is executed", hash)
	}
	ctx, cancel := context.WithTimeout(f.ctx, requestTime)
	defer cancel()
	code, err := f.source.Code(ctx, contract)
	if err != nil {
		return nil, faulty(Unreachable, "the code of the contract %s: %w", contract, err)
	}
	if got := types.CodeHash(sha256.Sum256(code)); got != hash {
		return nil, faulty(Lied, "%w: the code of the contract %s has the hash %s, not %s", ledger.ErrEvidence, contract, got, hash)
	}
	return code, nil
}

// maxCachedCodes bounds the codes that a node without state keeps, in bytes. Any can be had again.
const maxCachedCodes = 64 << 20

// codeCache has the codes that were asked for last.
type codeCache struct {
	codes map[types.CodeHash][]byte
	order []types.CodeHash // the oldest first
	size  int
}

func newCodeCache() *codeCache { return &codeCache{codes: make(map[types.CodeHash][]byte)} }

// keep adds a code that is not there yet, in place of the oldest ones.
func (c *codeCache) keep(hash types.CodeHash, code []byte) {
	for len(c.order) > 0 && c.size+len(code) > maxCachedCodes {
		oldest := c.order[0]
		c.order = slices.Delete(c.order, 0, 1)
		c.size -= len(c.codes[oldest])
		delete(c.codes, oldest)
	}
	c.codes[hash] = code
	c.order = append(c.order, hash)
	c.size += len(code)
}
