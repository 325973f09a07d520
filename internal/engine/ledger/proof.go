package ledger

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// MerkleProof is a Merkle proof of a key's value, or of its absence (nil), under a block's state root.
type MerkleProof struct {
	Height    types.Height
	StateRoot types.StateRoot
	Key       []byte
	Value     []byte
	Merkle    tree.MerkleProof
}

// Prove proves a key under the state root of the head.
func (l *Ledger) Prove(key []byte) (proof MerkleProof, err error) {
	view, head, err := l.lockTree()
	if err != nil {
		return MerkleProof{}, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	merkle, err := l.tree.Prove(key, unknown)
	l.treeLock.RUnlock()
	if err != nil {
		return MerkleProof{}, err
	}
	return complete(MerkleProof{Height: head.Height, StateRoot: head.StateRoot, Key: key, Merkle: merkle}, view, view)
}

// unknown stands in for value hashes, which are read from the store once the tree is unlocked.
func unknown(poseidon.Digest) (poseidon.Digest, error) { return poseidon.Digest{}, nil }

// complete fills in the parts of a proof that come from the store. view is the proof's state, and head is the head's.
func complete(proof MerkleProof, view, head *chain.State) (_ MerkleProof, err error) {
	if end := &proof.Merkle.End; end.Kind == tree.EndOther && end.ValueHash.IsZero() {
		if end.ValueHash, err = head.ValueHashAt(end.Path); err != nil {
			return MerkleProof{}, err
		}
	}
	proof.Value, err = view.Get(proof.Key)
	return proof, err
}

// lockTree returns the state of the head, with the tree of that head locked for reading. Store and tree move to the
// next block, or to the last one of an import, in quick succession; a reader in between waits for the tree. So does one
// that comes before the tree is whole.
func (l *Ledger) lockTree() (*chain.State, types.Header, error) {
	if err := l.loadTree(context.Background()); err != nil {
		return nil, types.Header{}, err
	}
	for {
		view, err := l.store.StateAt(l.store.Head().Header.Height)
		if err != nil {
			return nil, types.Header{}, err
		}
		l.treeLock.RLock()
		head := l.treeHead
		if head.Height == view.Height() {
			return view, head, nil
		}
		moved, behind, lost := l.treeMoved, l.store.Head().Header.Height != head.Height, l.treeLost
		l.treeLock.RUnlock()
		if err := view.Close(); err != nil {
			return nil, types.Header{}, err
		}
		if lost != nil {
			return nil, types.Header{}, fmt.Errorf("the state tree is ahead of the disk, because its block could not "+
				"be written: %w", lost)
		}
		if behind {
			<-moved
		}
	}
}

// undoLimit bounds how much a proof of a past state may undo (chain.State.Undo): about 16,000 blocks, or 200,000
// accesses of accounts. It bounds the memory of a proof, and how long the proof may delay a block's commit to the tree.
const undoLimit = 64 << 20

// ProveAt proves a key under the state root of any stored block within the undo limit. Beyond that limit the error is a
// *chain.UndoError, which says how far back a proof can go. Other errors are the store's, including chain.ErrAboveHead
// and chain.ErrPruned. Time and memory grow with the writes since that block.
func (l *Ledger) ProveAt(ctx context.Context, h types.Height, key []byte) (MerkleProof, error) {
	proofs, err := l.proveAt(ctx, h, [][]byte{key})
	if err != nil {
		return MerkleProof{}, err
	}
	return proofs[0], nil
}

func (l *Ledger) proveAt(ctx context.Context, h types.Height, keys [][]byte) (proofs []MerkleProof, err error) {
	past, err := l.store.StateAt(h)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, past.Close()) }()
	header, err := l.store.Header(h)
	if err != nil {
		return nil, err
	}
	proofs = make([]MerkleProof, len(keys))
	var undo *chain.Undo
	for i, key := range keys {
		proof := &proofs[i]
		for done := false; !done; {
			if undo, done, err = l.tryPast(ctx, undo, past, proof, key); err != nil {
				return nil, err
			}
		}
		proof.Height, proof.StateRoot = h, header.Header.StateRoot
		if err := proof.Merkle.Verify(proof.StateRoot, key, proof.Value); err != nil {
			return nil, fmt.Errorf("proof of a key after block %d: %w", h, err)
		}
	}
	return proofs, nil
}

// Reads holds the values of keys in the state after a block, with a single witness that proves them under the block's
// root.
type Reads struct {
	Values  []tree.KeyValue
	Witness tree.Witness
}

// ProveAll proves one or more keys as [Ledger.ProveAt] proves one. At the head it undoes nothing.
func (l *Ledger) ProveAll(ctx context.Context, h types.Height, keys [][]byte) (Reads, error) {
	proofs, err := l.proveHead(h, keys)
	if err == nil && proofs == nil {
		proofs, err = l.proveAt(ctx, h, keys)
	}
	if err != nil {
		return Reads{}, err
	}
	r := Reads{Values: make([]tree.KeyValue, len(keys))}
	merkle := make([]tree.MerkleProof, len(keys))
	for i, p := range proofs {
		r.Values[i], merkle[i] = tree.KeyValue{Key: p.Key, Value: p.Value}, p.Merkle
	}
	if r.Witness, err = tree.JoinMerkleProofs(keys, merkle); err != nil {
		return Reads{}, err
	}
	return r, r.Witness.VerifyReads(proofs[0].StateRoot, r.Values)
}

// proveHead proves keys under the state root of the head. It returns nil if h is not the head.
func (l *Ledger) proveHead(h types.Height, keys [][]byte) (proofs []MerkleProof, err error) {
	view, head, err := l.lockTree()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	if head.Height != h {
		l.treeLock.RUnlock()
		return nil, nil
	}
	proofs = make([]MerkleProof, len(keys))
	for i, key := range keys {
		merkle, proveErr := l.tree.Prove(key, unknown)
		err = errors.Join(err, proveErr)
		proofs[i] = MerkleProof{Height: h, StateRoot: head.StateRoot, Key: key, Merkle: merkle}
	}
	l.treeLock.RUnlock()
	for i := range proofs {
		if err == nil {
			proofs[i], err = complete(proofs[i], view, view)
		}
	}
	return proofs, err
}

// tryPast makes a proof for a past state. It is not done if a block arrives between collecting the accesses to undo and
// walking the tree. The returned undo serves the next try.
func (l *Ledger) tryPast(ctx context.Context, undo *chain.Undo, past *chain.State, proof *MerkleProof,
	key []byte) (_ *chain.Undo, done bool, err error) {
	view, head, err := l.lockTree()
	if err != nil {
		return nil, false, err
	}
	l.treeLock.RUnlock()
	defer func() { err = errors.Join(err, view.Close()) }()
	if undo == nil {
		undo, err = view.Undo(ctx, past.Height(), undoLimit)
	} else {
		err = undo.Extend(ctx, view)
	}
	if err != nil {
		return nil, false, err
	}
	version, err := tree.NewPast(undo.Accesses(), parallel.Run)
	if err != nil {
		return nil, false, err
	}
	l.treeLock.RLock()
	if l.treeHead != head {
		l.treeLock.RUnlock()
		return undo, false, nil
	}
	merkle, err := version.Prove(l.tree, key, unknown, parallel.Run)
	l.treeLock.RUnlock()
	if err != nil {
		return nil, false, err
	}
	*proof, err = complete(MerkleProof{Key: key, Merkle: merkle}, past, view)
	return undo, true, err
}

// witness returns the encoded witness of a change to the state after the last appended block, or nil if the store keeps
// no witnesses.
func witness(to *chain.Appender, change *tree.Change) (_ []byte, err error) {
	keeps, err := to.KeepsWitnesses()
	if err != nil || !keeps {
		return nil, err
	}
	parent := to.State()
	defer func() { err = errors.Join(err, parent.Close()) }()
	w, err := change.Witness(parent.ValueHashAt)
	if err != nil {
		return nil, err
	}
	return w.Encode(), nil
}
