package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/heightlock"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// ErrBlocksLost is the error of a chain without a block that a key signed: the end of the database was damaged, or it is an
// older copy. Others may have the block, and whoever holds the key would sign another one of its height.
var ErrBlocksLost = errors.New("blocks are lost")

// KeyLock is the height lock of a key on the chain of a directory.
type KeyLock struct {
	*heightlock.Lock
	store *chain.Store
}

// KeyLock opens the height lock of a key, which is in the directory of the path in, or in this one if that is empty. There
// must be a chain. The caller closes it.
func (d *Dir) KeyLock(key types.PublicKey, in string) (*KeyLock, error) {
	genesis, err := d.store.Header(0)
	if err != nil {
		return nil, err
	}
	hash := genesis.Header.Hash()
	return d.openKeyLock(filepath.Join(cmp.Or(in, d.path), signedName(key, hash)), hash)
}

func (d *Dir) openKeyLock(path string, genesis types.BlockHash) (*KeyLock, error) {
	lock, err := heightlock.Open(kv.FS{}, path, genesis)
	if err != nil {
		return nil, fmt.Errorf("the record of what this node's key signed: %w", err)
	}
	return &KeyLock{lock, d.store}, nil
}

// signedName is the file of the lock of a key on the chain of a genesis block.
func signedName(key types.PublicKey, genesis types.BlockHash) string {
	return fmt.Sprintf(signedFile, key[:4], genesis[:8])
}

// Missing is [ErrBlocksLost] for a chain that has not come to the block that the lock holds, else nil.
func (l *KeyLock) Missing() error {
	signed, head := l.Last(), l.store.Head().Header.Height
	if signed.Height <= head {
		return nil
	}
	return fmt.Errorf("%w: this node's key signed block %d, %s, and the chain here ends at block %d: let a replica give the "+
		"missing blocks, with --upstream URL, or restore a newer copy; if nobody has them, move %s away to go on from here, "+
		"and tell the chain's users that blocks from %d on are replaced",
		ErrBlocksLost, signed.Height, signed.Hash, head, l.Path(), head+1)
}

// Replaced is [ErrBlocksLost] for a chain that has another block where the lock holds one.
func (l *KeyLock) Replaced() error {
	signed := l.Last()
	header, err := l.store.Header(signed.Height)
	switch {
	case errors.Is(err, chain.ErrPruned): // too long ago to tell
	case err != nil:
		return err
	case header.Header.Hash() != signed.Hash:
		return fmt.Errorf("%w: this node's key signed block %d, %s, and the chain here has another one, %s: restore the copy "+
			"that has it, or follow this chain without the key; to make blocks after this one all the same move %s away, and "+
			"tell the chain's users that blocks from %d on are replaced",
			ErrBlocksLost, signed.Height, signed.Hash, header.Header.Hash(), l.Path(), signed.Height)
	}
	return nil
}

// Raise lets the lock hold the head, before a node makes blocks after it: whoever is told of the head will not be told of
// another block of its height. The chain must have the block that the lock held.
func (l *KeyLock) Raise() error {
	if err := l.Replaced(); err != nil {
		return err
	}
	return l.Hold(l.store.Head().Header)
}

// lostBlocks holds the chain to the locks of keys in the directory. A lock that is kept elsewhere is looked at only by the
// node that has the key.
func (d *Dir) lostBlocks() error {
	if d.store.Empty() {
		return nil
	}
	genesis, err := d.store.Header(0)
	if err != nil {
		return err
	}
	hash := genesis.Header.Hash()
	names, err := fs.Glob(os.DirFS(d.path), fmt.Sprintf(signedPattern, hash[:8]))
	if err != nil {
		return err
	}
	for _, name := range names {
		lock, err := d.openKeyLock(filepath.Join(d.path, name), hash)
		if err != nil {
			return err
		}
		lost := lock.Missing()
		if lost == nil {
			lost = lock.Replaced()
		}
		if err := errors.Join(lost, lock.Close()); err != nil {
			return err
		}
	}
	return nil
}
