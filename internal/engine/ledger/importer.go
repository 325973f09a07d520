package ledger

import (
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// importTime is after how long an import takes no further block: so long proofs, which need the tree, may have to wait.
const importTime = 100 * time.Millisecond

// Import executes blocks that another node made, one after the other, and compares what each gives with its header, the
// state root included. It puts them on disk with one sync, and returns them: all, or the first of them where they take
// long or other writes wait. Nobody is told of a block before it is on disk. An error is that of the block after those
// that are returned. After one of [core.CheckNext], an [*InvalidBlock] or an [*EngineFailure] the chain is what it was
// before that block. Any other is a fault of this node, as those of [Ledger.Build].
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
	into := &importer{Ledger: l, appended: appended, last: l.Tip()}
	for i, b := range blocks {
		if i > 0 && (appended.Awaited() || time.Since(begun) > importTime) {
			break
		}
		if err = into.add(b, i == len(blocks)-1); err != nil {
			break
		}
	}
	if fault := into.end(); fault != nil {
		return nil, fault
	}
	return into.blocks, err
}

// importer imports blocks, which become the ledger's together.
type importer struct {
	*Ledger
	appended *chain.Appender
	last     *Tip // of the blocks that were imported, at first the ledger's
	blocks   []Block
	change   *change // of the last block, which is not the tree's yet
	locked   bool    // whether it holds treeLock: the tree may be ahead of the head
}

// add imports the next block, with sync on disk when it returns.
func (i *importer) add(b *Received, sync bool) error {
	if err := b.checkNext(i.last); err != nil {
		return err
	}
	i.moveTree()
	parent := i.appended.State()
	d, err := i.derive(i.last, b, parent, i.appended)
	if err = errors.Join(err, parent.Close()); err != nil {
		return err
	}
	now := time.Now()
	e := chain.Entry{Result: d.result, Signature: b.header.Signature, Leaves: d.change.Leaves()}
	if err := appendTo(i.appended, e, d.change.Change, sync); err != nil {
		return err
	}
	d.timings.Append = lap(&now)
	i.change = &d.change
	i.blocks = append(i.blocks, b.imported(d.result, d.timings))
	return i.moveTip(b.Header())
}

// moveTip makes the block that was appended last the one that the next must follow.
func (i *importer) moveTip(head types.SignedHeader) (err error) {
	after := i.appended.State()
	defer func() { err = errors.Join(err, after.Close()) }()
	p, err := exec.ReadParameters(after)
	if err == nil {
		i.last = i.newTip(head, p)
	}
	return err
}

// moveTree makes the last block's change the tree's. Proofs wait from then on until the import ends.
func (i *importer) moveTree() {
	if i.change == nil {
		return
	}
	if !i.locked {
		i.treeLock.Lock()
		i.locked = true
	}
	block := &i.blocks[len(i.blocks)-1]
	now := time.Now()
	i.setTree(*i.change, block.Header.Header)
	block.Timings.Tree += lap(&now)
	i.change = nil
}

// end puts the blocks on disk, and makes the last one the tip.
func (i *importer) end() error {
	defer func() {
		if i.locked {
			i.treeLock.Unlock()
		}
	}()
	now := time.Now()
	if err := i.appended.End(); err != nil {
		if i.locked {
			i.treeLost = err
		}
		return err
	}
	if len(i.blocks) == 0 {
		return nil
	}
	i.blocks[len(i.blocks)-1].Timings.Append += lap(&now)
	i.moveTree()
	i.tip.Store(i.last)
	return nil
}
