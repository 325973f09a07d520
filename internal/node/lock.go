package node

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/heightlock"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// ErrBlocksLost is the error of a chain without a block that the node's key signed: the end of the database was damaged, or it
// is an older copy. Others may have the block, and the node would sign another one of its height.
var ErrBlocksLost = errors.New("blocks are lost")

// lockName is the file of the lock of a key on the chain of a genesis block.
func lockName(key types.PublicKey, genesis types.BlockHash) string {
	return fmt.Sprintf("signed-%x-%x", key[:4], genesis[:8])
}

// openLock opens the height lock of a node that has a producer's key, and holds the chain to it. A development chain has
// none: it is taken back at will. A node with an upstream may get the blocks that are missing from there.
func (n *Node) openLock() error {
	if n.config.Key == nil || n.config.DataDir == "" || n.config.Development != nil {
		return nil
	}
	genesis, err := n.store.Header(0)
	if err != nil {
		return err
	}
	hash := genesis.Header.Hash()
	path := filepath.Join(cmp.Or(n.config.LockDir, n.config.DataDir), lockName(n.config.Key.PublicKey(), hash))
	if n.lockOfKey, err = heightlock.Open(kv.FS{}, path, hash); err != nil {
		return fmt.Errorf("the record of what this node's key signed: %w", err)
	}
	signed, head := n.lockOfKey.Last(), n.store.Head().Header.Height
	if signed.Height <= head {
		return n.raiseLock()
	}
	lost := fmt.Errorf("%w: this node's key signed block %d, %s, and the chain here ends at block %d: let a replica give the missing blocks, with --upstream URL, "+
		"or restore a newer copy; if nobody has them, move %s away to go on from here, and tell the chain's users that blocks from %d on are replaced",
		ErrBlocksLost, signed.Height, signed.Hash, head, path, head+1)
	if len(n.config.Follow.Upstreams) == 0 {
		return lost
	}
	n.config.Log.Warn("this node makes no blocks before it has those that are missing", "error", lost)
	return nil
}

// raiseLock lets the lock hold the head, before this node makes blocks after it: whoever is told of the head will not be told
// of another block of its height. The chain must have the block that the lock held.
func (n *Node) raiseLock() error {
	if n.lockOfKey == nil {
		return nil
	}
	signed := n.lockOfKey.Last()
	header, err := n.store.Header(signed.Height)
	switch {
	case errors.Is(err, chain.ErrPruned): // too long ago to tell
	case err != nil:
		return err
	case header.Header.Hash() != signed.Hash:
		return fmt.Errorf("%w: this node's key signed block %d, %s, and the chain here has another one, %s: restore the copy that has it, or follow this chain without the key; "+
			"to make blocks after this one all the same move %s away, and tell the chain's users that blocks from %d on are replaced",
			ErrBlocksLost, signed.Height, signed.Hash, header.Header.Hash(), n.lockOfKey.Path(), signed.Height)
	}
	return n.lockOfKey.Hold(n.store.Head().Header)
}
