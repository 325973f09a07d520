package sim

import (
	"errors"

	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// lies are the heights at which a misbehaving producer signs wrong blocks.
type lies struct {
	root  types.Height // first height with a wrong state root; 0: never
	twice types.Height // height with two signed blocks; 0: never
}

// drawLies makes some producers lie.
func (w *simulation) drawLies() (l lies) {
	kind := w.random.IntN(10)
	switch height := types.Height(5 + w.random.IntN(30)); {
	case w.setup.Bug == SkipsRootCheck || w.setup.Bug == "" && kind == 0:
		l.root = height
	case w.setup.Bug == IgnoresForks || w.setup.Bug == "" && kind < 3:
		l.twice = height
	}
	return l
}

// deceived is the node that gets the second of two blocks of one height.
const deceived = nodes - 1

// told returns a block as a node sends it to another. From the height of lies.root on, a primary sends blocks with a
// wrong state root. A primary that signs twice sends the second block to one node until that has it.
func (l *link) told(p *process, h types.Height) (types.Block, error) {
	w := l.simulation
	b, err := p.block(h)
	if err != nil || p.node.index > 0 {
		return b, err
	}
	if w.lies.root > 0 && h >= w.lies.root {
		b.Header.StateRoot[0] ^= 1
		hash := b.Header.Hash()
		b.Seal.Signature, err = w.producer.Sign(hash[:], [32]byte{})
	}
	if h == w.lies.twice && l.from.node.index == deceived && l.from.height() < h {
		if second := w.secondBlock(); second != nil {
			return *second, nil
		}
	}
	return b, err
}

// signSecond makes a primary sign a second block at the height of lies.twice, once its head is the parent of that
// height.
func (w *simulation) signSecond(p *process) error {
	if w.lies.twice == 0 || p.height() != w.lies.twice-1 || w.secondBlock() != nil {
		return nil
	}
	const later = 2_000 // milliseconds: the other block is less than that after its parent
	entry, err := p.emptyBlock(p.ledger.Tip().Header.Header.Timestamp+later, nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.second = &types.Block{Header: entry.Header, Seal: entry.Seal}
	return nil
}

// secondBlock returns the block signed by [simulation.signSecond], or nil.
func (w *simulation) secondBlock() *types.Block {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.second
}

// isSecond reports whether a block is the second one of its height. A primary that was down may have made the same
// block.
func (w *simulation) isSecond(hash types.BlockHash) bool {
	second := w.secondBlock()
	if second == nil || second.Header.Hash() != hash {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.book.built[w.lies.twice] != hash
}

// emptyBlock returns an empty block after the head, modified by change.
func (p *process) emptyBlock(
	timestamp uint64, change func(*chain.State, *exec.Result) error,
) (e chain.Entry, err error) {
	tip := p.ledger.Tip()
	template, err := exec.HeaderTemplate(tip.Header.Header, tip.Parameters, timestamp)
	if err != nil {
		return e, err
	}
	view, err := p.store.StateAt(p.store.Head().Header.Height)
	if err != nil {
		return e, err
	}
	defer func() { err = errors.Join(err, view.Close()) }()
	result, err := exec.Begin(p.ledger.Network(), tip.Parameters, view, template, p.ledger.Machine()).Finish()
	if err != nil {
		return e, err
	}
	if change != nil {
		if err := change(view, &result); err != nil {
			return e, err
		}
	}
	loaded, err := view.Tree(parallel.Run)
	if err != nil {
		return e, err
	}
	changed, err := loaded.Prepare(result.Accesses, parallel.Run)
	if err != nil {
		return e, err
	}
	result.Header.StateRoot = changed.Root()
	hash := result.Header.Hash()
	signature, err := p.node.simulation.producer.Sign(hash[:], [32]byte{})
	return chain.Entry{Result: result, Seal: types.Seal{Signature: signature}, Leaves: changed.Leaves()}, err
}
