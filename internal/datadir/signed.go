package datadir

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/internal/storage/slots"
	"github.com/cairn-chain/cairn/types"
)

// ErrBlocksLost is the error of a chain without a block that a key signed: the end of the database was damaged, or it
// is an older copy. Others may have the block, and whoever holds the key would sign another one of its height.
var ErrBlocksLost = errors.New("blocks are lost")

// ErrUnrecorded is the error of a key without a sign state on a chain that has blocks of the key.
var ErrUnrecorded = errors.New("there is no record of what a key signed")

// KeyLock is the sign state of a key on the chain of a directory.
type KeyLock struct {
	*signstate.State
	dir    string // of the chain
	key    types.PublicKey
	store  *chain.Store
	shared bool
}

// Share says that the members of a cluster sign with the key in turn: blocks that the others signed are not taken for
// those of another producer. It is called before the lock is raised.
func (l *KeyLock) Share() { l.shared = true }

// KeyLock opens the sign state of a key, which is in the directory of the path in, or in this one if that is empty. It
// makes one where there is none, for which [Dir.CheckRecord] is asked first. There must be a chain. The caller closes it.
func (d *Dir) KeyLock(key types.PublicKey, in string) (*KeyLock, error) {
	path, genesis, err := d.lockPath(key, in)
	if err != nil {
		return nil, err
	}
	lock, err := d.openKeyLock(path, genesis)
	if err == nil {
		lock.key = key
	}
	return lock, err
}

// lockPath is where the lock of a key is, in the directory of the path in, or in this one if that is empty, and the hash
// of the genesis block of the chain here.
func (d *Dir) lockPath(key types.PublicKey, in string) (string, types.BlockHash, error) {
	genesis, err := d.store.Header(0)
	hash := genesis.Header.Hash()
	return filepath.Join(cmp.Or(in, d.path), signedName(key, hash)), hash, err
}

// CheckRecord is [ErrUnrecorded] for a key without a lock that signed a block of the chain here: the newest that it
// signed may be elsewhere. in is as for [Dir.KeyLock].
func (d *Dir) CheckRecord(key types.PublicKey, in string) error {
	path, _, err := d.lockPath(key, in)
	if err != nil || fileExists(path) {
		return err
	}
	head := d.store.Head().Header.Height
	for h := head; h > 0 && h >= d.store.OldestHeight(); h-- {
		header, err := d.store.Header(h)
		if err != nil {
			return err
		}
		if header.Header.Producer == key {
			return emergency.Unrecorded(d.path, d.keyFile(), filepath.Dir(path), head, ErrUnrecorded)
		}
	}
	return nil
}

// keyFile is the producer's key file in the directory, for the commands of messages.
func (d *Dir) keyFile() string {
	if path := d.file(ProtocolKeyFile); fileExists(path) {
		return path
	}
	return "FILE"
}

// fileExists tells whether there is something at a path, readable or not.
func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openKeyLock opens a lock, of a key that need not be known.
func (d *Dir) openKeyLock(path string, genesis types.BlockHash) (*KeyLock, error) {
	lock, err := signstate.Open(kv.FS{}, path, genesis)
	if errors.Is(err, slots.ErrDamaged) {
		return nil, emergency.DamagedSignState(d.path, path, d.store.Head().Header.Height, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of what this node's key signed: %w", err)
	}
	return &KeyLock{State: lock, dir: d.path, store: d.store}, nil
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
	return emergency.BlocksMissing(signed.Height, signed.Hash, head, l.dir, l.Path(), ErrBlocksLost)
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
		return emergency.BlockReplaced(signed.Height, signed.Hash, header.Header.Hash(), l.dir, l.Path(), ErrBlocksLost)
	}
	return nil
}

// Raise lets the lock hold the head, before a node makes blocks after it: whoever is told of the head will not be told
// of another block of its height. The chain must have the block that the lock held. Where it has later ones of the key
// that this node did not make, the lock notes that instead, and [signstate.State.Conflict] tells.
func (l *KeyLock) Raise() error {
	if err := l.Replaced(); err != nil || l.Conflict() != 0 {
		return err
	}
	if !l.shared {
		if at, err := l.madeElsewhere(); err != nil || at != 0 {
			return errors.Join(err, l.RecordConflict(at))
		}
	}
	return l.Record(l.store.Head().Header)
}

// madeElsewhere is the first block of the chain that the key signed and this node did not make, 0 where there is none.
// A block that directly follows the block held, and is the head, is this node's own, which a crash kept from being
// held. That blocks come from elsewhere is noted before they are imported.
func (l *KeyLock) madeElsewhere() (types.Height, error) {
	held, head := l.Last(), l.store.Head().Header
	if head.Height == held.Height+1 && head.Parent == held.Hash {
		return 0, nil
	}
	for h := max(held.Height+1, l.store.OldestHeight()); h <= head.Height; h++ {
		header, err := l.store.Header(h)
		if err != nil {
			return 0, err
		}
		if header.Header.Producer == l.key {
			return h, nil
		}
	}
	return 0, nil
}

// Watch is given the headers of blocks that are about to be imported, of which the first follows the head. Where the
// key signed one of them elsewhere it has the lock note that first.
func (l *KeyLock) Watch(headers []types.SignedHeader) error {
	held := l.Last().Height
	for i, h := range headers {
		if l.shared || i > 0 && h.Header.Parent != headers[i-1].Header.Hash() {
			break // it is not going to be imported, or is a member's
		}
		if h.Header.Producer == l.key && h.Header.Height > held {
			return l.RecordConflict(h.Header.Height)
		}
	}
	return nil
}

// lostBlocks holds the chain to the locks of keys in the directory. A lock that is kept elsewhere is looked at only by
// the node that has the key.
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
