package ledger

import (
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// runTime is after how long a run takes no further block: so long proofs, which need the tree, may have to wait.
const runTime = 100 * time.Millisecond

// Import executes blocks that another node made, one after the other, and compares what each gives with its header, the
// state root included. It puts them on disk with one sync, and returns them: all, or the first of them where they take long
// or other writes wait. Nobody is told of a block before it is on disk. An error is that of the block after those that are
// returned: one of [core.CheckNext], or an [*InvalidBlock], after either of which the chain is what it was before that
// block; so it is after an [*EngineFailure]. Any other is a fault of this node, as those of [Ledger.Build].
func (l *Ledger) Import(blocks ...*Received) (imported []Block, err error) {
	l.producing.Lock()
	defer l.producing.Unlock()
	if l.treeLost != nil {
		return nil, l.treeLost
	}
	appended, err := l.store.Begin()
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	r := &run{Ledger: l, appended: appended, last: l.Tip()}
	for i, b := range blocks {
		if i > 0 && (appended.Awaited() || time.Since(begun) > runTime) {
			break
		}
		if err = r.add(b, i == len(blocks)-1); err != nil {
			break
		}
	}
	if fault := r.end(); fault != nil {
		return nil, fault
	}
	return r.blocks, err
}

// run is blocks that are imported and become the ledger's together.
type run struct {
	*Ledger
	appended *chain.Run
	last     *Tip // of the run, at first the ledger's
	blocks   []Block
	change   *change // of the last block, which is not the tree's yet
	locked   bool    // whether it holds treeLock: the tree may be ahead of the head
}

// add imports the next block, with sync on disk when it returns.
func (r *run) add(b *Received, sync bool) error {
	if err := b.checkNext(r.last); err != nil {
		return err
	}
	r.moveTree()
	parent := r.appended.State()
	d, err := r.derive(r.last, b, parent, r.appended)
	if err = errors.Join(err, parent.Close()); err != nil {
		return err
	}
	now := time.Now()
	e := chain.Entry{Result: d.result, Signature: b.header.Signature, Leaves: d.change.Leaves()}
	if err := appendTo(r.appended, e, d.change.Change, sync); err != nil {
		return err
	}
	d.timings.Append = lap(&now)
	r.change = &d.change
	r.blocks = append(r.blocks, b.imported(d.result, d.timings))
	return r.moveTip(b.Header())
}

// moveTip makes the block that was appended last the one that the next must follow.
func (r *run) moveTip(head types.SignedHeader) (err error) {
	after := r.appended.State()
	defer func() { err = errors.Join(err, after.Close()) }()
	p, err := exec.ReadParameters(after)
	if err == nil {
		r.last = r.newTip(head, p)
	}
	return err
}

// moveTree makes the last block's change the tree's. Proofs wait from then on until the run ends.
func (r *run) moveTree() {
	if r.change == nil {
		return
	}
	if !r.locked {
		r.treeLock.Lock()
		r.locked = true
	}
	block := &r.blocks[len(r.blocks)-1]
	now := time.Now()
	r.setTree(*r.change, block.Header.Header)
	block.Timings.Tree += lap(&now)
	r.change = nil
}

// end puts the blocks on disk, and makes the last one the tip.
func (r *run) end() error {
	defer func() {
		if r.locked {
			r.treeLock.Unlock()
		}
	}()
	now := time.Now()
	if err := r.appended.End(); err != nil {
		if r.locked {
			r.treeLost = err
		}
		return err
	}
	if len(r.blocks) == 0 {
		return nil
	}
	r.blocks[len(r.blocks)-1].Timings.Append += lap(&now)
	r.moveTree()
	r.tip.Store(r.last)
	return nil
}
