package ledger

import (
	"errors"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/types"
)

// importTime is the time after which an import takes no further block. It bounds how long proofs wait for the tree.
const importTime = 100 * time.Millisecond

// Import executes blocks of another node in order and compares each result with the block's header, including the state
// root. It puts them on disk with one sync and returns them. If they take long or other writes wait, it stops early and
// returns only the first ones. No block is announced before it is on disk. A non-nil error refers to the block after
// the returned ones. After an error of [core.CheckNext], an [*InvalidBlock] or an [*EngineFailure], the chain is as it
// was before that block. Any other error is a fault of this node, as for [Ledger.Build].
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

// importer imports blocks that become part of the ledger together.
type importer struct {
	*Ledger
	appended *chain.Appender
	last     *Tip // tip after the last imported block; initially the ledger's
	blocks   []Block
	change   *change // change of the last block, not yet applied to the tree
	locked   bool    // whether it holds treeLock; the tree may then be ahead of the head
}

// add imports the next block. With sync, the block is on disk when add returns.
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
	e := chain.Entry{Result: d.result, Seal: b.header.Seal, Leaves: d.change.Leaves()}
	if err := appendTo(i.appended, e, d.change.Change, sync); err != nil {
		return err
	}
	d.timings.Append = lap(&now)
	i.change = &d.change
	i.blocks = append(i.blocks, b.imported(d.result, d.timings))
	return i.moveTip(b.Header())
}

// moveTip makes the last appended block the one that the next must follow.
func (i *importer) moveTip(head types.SignedHeader) (err error) {
	after := i.appended.State()
	defer func() { err = errors.Join(err, after.Close()) }()
	p, err := exec.ReadParameters(after)
	if err == nil {
		i.last = i.newTip(head, p)
	}
	return err
}

// moveTree applies the last block's change to the tree. From the first such change on, proofs wait until the import
// ends.
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

// end puts the blocks on disk and makes the last one the tip.
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
