package node

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/mark"
)

// markFile holds a block that was on disk; see [Node.checkMark].
const markFile = "head.mark"

// markInterval is the time between two writes of the mark: it is not worth a sync for each block.
const markInterval = time.Second

// ErrBlocksLost is the error of a database that ends before a block which it held.
var ErrBlocksLost = errors.New("blocks are lost")

// openMark opens the mark and holds the chain to it. A development chain has none: it is taken back at will.
func (n *Node) openMark() (err error) {
	if n.config.DataDir == "" || n.config.Development != nil {
		return nil
	}
	path := filepath.Join(n.config.DataDir, markFile)
	if n.mark, err = mark.Open(path); err != nil {
		return err
	}
	return checkMark(n.store, n.mark.Last(), path)
}

// checkMark refuses a database that does not hold the marked block: the end of its log was damaged, or it is an older
// copy. What it held may have been seen, and the node would sign other blocks at the same heights.
func checkMark(store *chain.Store, m mark.Mark, path string) error {
	if m == (mark.Mark{}) {
		return nil
	}
	const advice = "restore a newer copy; or move %s away to go on from there, and tell the chain's users that blocks from %d on are replaced"
	head := store.Head().Header.Height
	if store.Empty() || head < m.Height {
		return fmt.Errorf("%w: the database ends at block %d, but held block %d, %s: "+advice, ErrBlocksLost, head, m.Height, m.Hash, path, head+1)
	}
	header, err := store.Header(m.Height)
	if errors.Is(err, chain.ErrPruned) {
		return nil
	}
	if err == nil && header.Header.Hash() != m.Hash {
		return fmt.Errorf("%w: the database has another block %d than %s, which it held: "+advice, ErrBlocksLost, m.Height, m.Hash, path, m.Height)
	}
	return err
}

// keepMark lets the mark follow the head until ctx ends. It reads what is on disk and syncs beside the blocks, so that
// none waits for it; the blocks of the last markInterval may not be marked.
func (n *Node) keepMark(ctx context.Context) error {
	if n.mark == nil {
		return nil
	}
	pause := time.NewTicker(markInterval)
	defer pause.Stop()
	for ctx.Err() == nil {
		if n.store.WaitHead(ctx, n.mark.Last().Hash) != nil {
			break // the node ends
		}
		if err := n.setMark(); err != nil {
			return err
		}
		select {
		case <-pause.C:
		case <-ctx.Done():
		}
	}
	return n.setMark()
}

// setMark marks the head.
func (n *Node) setMark() error {
	header := n.store.Head().Header
	head := mark.Mark{Height: header.Height, Hash: header.Hash()}
	if head == n.mark.Last() {
		return nil
	}
	if err := n.mark.Set(head); err != nil {
		return fmt.Errorf("mark the newest block: %w", err)
	}
	return nil
}
