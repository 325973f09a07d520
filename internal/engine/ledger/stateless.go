package ledger

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// Stateless is the tip of a chain whose state is kept elsewhere. Each block comes with its access list, which is the
// only state that it is executed on. A proof of statement S1 (docs/proofs.md) shows that the list is true of the states
// before and after the block.
type Stateless struct {
	core
	bits int
}

// OpenStateless starts a chain in an empty stateless store, or continues the stored one. Proofs must have at least the
// given number of proven bits. Otherwise it is like [Open].
func OpenStateless(store *chain.Store, genesis *types.Genesis, override *Override, engine vm.Engine,
	bits int) (*Stateless, error) {
	l := &Stateless{core: core{store: store, override: override, engine: engine}, bits: bits}
	if err := l.begin(genesis); err != nil {
		return nil, err
	}
	if !store.Stateless() {
		return nil, errors.New("the database has a chain with state, so it cannot run with --verify stateless")
	}
	return l, l.publish()
}

// ErrEvidence is returned for an access list, proof or code that does not belong to a block. Its sender is to blame;
// the producer may be innocent.
var ErrEvidence = errors.New("the data received with the block does not prove that the block is valid")

// Proven is a received block with its proven access list. Only [Stateless.Verify] makes one.
type Proven struct {
	block    *Received
	accesses []types.Access
	proof    []byte
}

// Verify checks the access list and the proof of a block that follows the head, both encoded as a bundle. It returns
// errors of [core.CheckNext], and [ErrEvidence].
func (l *Stateless) Verify(r *Received, bundle []byte) (*Proven, error) {
	if err := l.CheckNext(r); err != nil {
		return nil, err
	}
	b, err := verifyBundle(bundle, l.Tip().Header, r.Header(), l.bits)
	if err != nil {
		return nil, err
	}
	return &Proven{r, b.Accesses, b.Proof}, nil
}

// verifyBundle checks the proof and the access list of an encoded bundle against two headers of the chain. It ignores
// the headers in the bundle. The error is [ErrEvidence].
func verifyBundle(encoded []byte, parent, header types.SignedHeader, bits int) (blockproof.Bundle, error) {
	b, err := blockproof.DecodeBundleOf(encoded, parent, header)
	if err != nil {
		return b, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	if _, err := b.Verify(bits, parallel.Run); err != nil {
		return b, fmt.Errorf("%w: block %d: %w", ErrEvidence, header.Header.Height, err)
	}
	return b, nil
}

// Fetch gets missing data for a block's verification from elsewhere. All of it is verified.
type Fetch struct {
	// Code returns the code with the given hash.
	Code func(types.CodeHash) ([]byte, error)
	// Value returns a key's value in the state before the block, empty if it has none, with its Merkle proof under the
	// parent's state root. The error is chain.ErrNoState if the source keeps no state, chain.ErrPruned if it keeps none
	// that old.
	Value func(key []byte) ([]byte, tree.MerkleProof, error)
}

// usedCodes are the codes that the execution of one block uses, from the store or fetched.
type usedCodes struct {
	store *chain.Store
	fetch func(types.CodeHash) ([]byte, error)
	used  map[types.CodeHash][]byte
	err   error // first error, kept even if the execution loses it
}

// Code implements exec.Codes.
func (c *usedCodes) Code(hash types.CodeHash) ([]byte, error) {
	if code, ok := c.used[hash]; ok {
		return code, nil
	}
	code, err := c.get(hash)
	if err != nil {
		c.err = cmp.Or(c.err, err)
		return nil, err
	}
	c.used[hash] = code
	return code, nil
}

func (c *usedCodes) get(hash types.CodeHash) ([]byte, error) {
	code, err := c.store.Code(hash)
	if !errors.Is(err, chain.ErrNotFound) {
		return code, err
	}
	if code, err = c.fetch(hash); err != nil {
		return nil, err
	}
	if got := types.CodeHash(sha256.Sum256(code)); got != hash {
		return nil, fmt.Errorf("%w: the received code %s has the hash %s", ErrEvidence, hash, got)
	}
	return code, nil
}

// mostShown bounds the values outside its access list that a block's execution may request; each costs a request to the
// upstream. If a list lacks more keys than that, it remains unknown who is at fault.
const mostShown = 1000

// provenState presents an access list as the state before its block. A key outside the list is a fault, never absence.
// Its value must be shown by a Merkle proof, so that the execution can decide who is to blame.
type provenState struct {
	accesses []types.Access // ascending by key
	root     types.StateRoot
	value    func(key []byte) ([]byte, tree.MerkleProof, error)
	shown    map[string][]byte // values outside the list
	lacks    []byte            // first key looked up outside the list
	err      error             // why a key's value cannot be shown
}

var errNotListed = errors.New("the access list lacks a key")

// unlistedKey is the error of an execution that stopped because a key's value could not be shown.
type unlistedKey struct {
	key []byte
	err error // why
}

// Error implements error.
func (u *unlistedKey) Error() string { return fmt.Sprintf("%v: %x: %v", errNotListed, u.key, u.err) }

// Unwrap returns errNotListed and the reason why the value cannot be shown.
func (u *unlistedKey) Unwrap() []error { return []error{errNotListed, u.err} }

// Get implements state.Reader.
func (p *provenState) Get(key []byte) ([]byte, error) {
	i, found := slices.BinarySearchFunc(p.accesses, key, func(a types.Access, key []byte) int {
		return bytes.Compare(a.Key, key)
	})
	if found {
		return p.accesses[i].Old, nil
	}
	if value, shown := p.shown[string(key)]; shown {
		return value, nil
	}
	if p.lacks == nil {
		p.lacks = bytes.Clone(key)
	}
	value, err := p.show(key)
	if err != nil {
		p.err = cmp.Or(p.err, error(&unlistedKey{bytes.Clone(key), err}))
		return nil, p.err
	}
	p.shown[string(key)] = value
	return value, nil
}

// clone returns a copy for another execution, which records separately the keys that the list lacks.
func (p *provenState) clone() *provenState {
	c := *p
	c.shown = maps.Clone(p.shown)
	return &c
}

// show gets and verifies the value of a key outside the list.
func (p *provenState) show(key []byte) ([]byte, error) {
	if len(p.shown) == mostShown {
		return nil, fmt.Errorf("%d others are missing, too", mostShown)
	}
	value, proof, err := p.value(key)
	if err != nil {
		return nil, err
	}
	return value, proof.Verify(p.root, key, value)
}

// Import executes a block on its access list, compares the result with the header and the list, and puts the block on
// disk with its proof and the codes that it used. It fetches codes that the store lacks and values that the list lacks:
// if the producer signed a block without a key that it writes, those values show it. Errors: those of [core.CheckNext];
// [ErrEvidence]; an [*InvalidBlock], which the proven list shows beyond doubt; an [*EngineFailure]; those of
// fetch.Code. Any other error is a fault of this node. After an error the tip is unchanged. The block may still be on
// disk, which shows when the store is next opened.
func (l *Stateless) Import(p *Proven, fetch Fetch) (Block, error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	r, now := p.block, time.Now()
	timings := Timings{Start: now}
	e, err := l.derive(p, fetch)
	if err != nil {
		return Block{}, err
	}
	timings.Execute = lap(&now)
	if err := l.store.Append(e); err != nil {
		return Block{}, fmt.Errorf("append block %d: %w", r.header.Header.Height, err)
	}
	timings.Append = lap(&now)
	return r.imported(e.Result, timings), l.publish()
}

// derive executes a block that follows the tip on its access list, and compares the result with the header and the
// list. It returns the errors of [Stateless.Import].
func (l *Stateless) derive(p *Proven, fetch Fetch) (e chain.Entry, err error) {
	r := p.block
	if err := l.CheckNext(r); err != nil {
		return e, err
	}
	var before *provenState
	e, err = deriveWithFallback(&l.core, r, func(engine vm.Engine) (chain.Entry, error) {
		before = &provenState{
			accesses: p.accesses, root: l.Tip().Header.Header.StateRoot, value: fetch.Value, shown: make(map[string][]byte),
		}
		e, err := l.executeListed(l.Tip(), r, before, nil, engine, fetch.Code)
		if err != nil {
			return e, err
		}
		if differ := blockproof.CompareWrites(e.Accesses, p.accesses); differ != nil {
			return e, otherRoot(e, fmt.Errorf("%w: %w", errOtherWrites, differ))
		}
		return e, nil
	})
	if err != nil {
		return e, err
	}
	if before.lacks != nil { // the key is only read
		return e, fmt.Errorf("%w: block %d: %w: %x", ErrEvidence, r.header.Header.Height, errNotListed, before.lacks)
	}
	if types.DigestAccesses(e.Accesses) != types.DigestAccesses(p.accesses) {
		return e, fmt.Errorf("%w: block %d: its access list has a key that it does not touch",
			ErrEvidence, r.header.Header.Height)
	}
	e.Proof = p.proof
	return e, nil
}

// otherRoot returns the error for a block whose state root does not follow from the writes of its execution. The root
// that does is unknown. The proof shows which writes lead to the block's root, and no others do.
func otherRoot(e chain.Entry, err error) *InvalidBlock {
	derived := e.Header
	derived.StateRoot = types.StateRoot{}
	return &InvalidBlock{
		Claimed:  e.Signed(),
		Derived:  derived,
		Receipts: e.Receipts,
		Writes:   types.Writes(e.Accesses),
		Err:      err,
	}
}

// executeListed executes a block on its access list, overlaid with the writes of earlier blocks in its range, and
// compares the result with its header. code fetches the codes that the store lacks.
func (l *Stateless) executeListed(tip *Tip, r *Received, before *provenState, written map[string][]byte,
	engine vm.Engine, code func(types.CodeHash) ([]byte, error)) (e chain.Entry, err error) {
	codes := &usedCodes{store: l.store, fetch: code, used: make(map[types.CodeHash][]byte)}
	result, err := l.executeOn(tip, r, &carried{before, written}, exec.Machine{Engine: engine, Codes: codes})
	switch {
	case before.err != nil:
		return e, fmt.Errorf("%w: block %d: %w", ErrEvidence, r.header.Header.Height, before.err)
	case codes.err != nil:
		return e, codes.err
	case err != nil:
		return e, err
	}
	return r.entry(result, codes)
}

// entry compares the result of executing the block with its header, and makes the entry with the codes that it used.
// The state root is left to the proof: it follows from the list's writes, which the caller compares with the derived
// ones.
func (r *Received) entry(result exec.Result, codes *usedCodes) (e chain.Entry, err error) {
	result.Header.StateRoot = r.header.Header.StateRoot
	if err := r.compare(result); err != nil {
		return e, err
	}
	for _, hash := range result.Loaded { // including codes that the engine had cached and did not request
		if _, err := codes.Code(hash); err != nil {
			return e, err
		}
	}
	e = chain.Entry{Result: result, Seal: r.header.Seal}
	maps.Copy(codes.used, e.Codes)
	e.Codes = codes.used
	return e, nil
}

// Machine returns a machine that runs those contracts of the chain whose code is stored.
func (l *Stateless) Machine() exec.Machine { return exec.Machine{Engine: l.engine, Codes: l.store} }

// Prove always fails with chain.ErrNoState.
func (l *Stateless) Prove([]byte) (MerkleProof, error) { return MerkleProof{}, chain.ErrNoState }

// ProveAt always fails with chain.ErrNoState.
func (l *Stateless) ProveAt(context.Context, types.Height, []byte) (MerkleProof, error) {
	return MerkleProof{}, chain.ErrNoState
}

// ProveAll always fails with chain.ErrNoState.
func (l *Stateless) ProveAll(context.Context, types.Height, [][]byte) (Reads, error) {
	return Reads{}, chain.ErrNoState
}

// Trace always fails with chain.ErrNoState.
func (l *Stateless) Trace(chain.Position, vm.Engine, vm.Engine, exec.Tracer, func() error) error {
	return chain.ErrNoState
}

// TreeSize returns 0, since there is no tree.
func (l *Stateless) TreeSize() int { return 0 }
