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

// ErrBlocksLost is returned for a chain that lacks a block signed by a key: the end of the database was damaged, or it
// is an older copy. Others may have the block, and the key would sign a second block of its height.
var ErrBlocksLost = errors.New("blocks are missing")

// ErrUnrecorded is returned for a key without a sign state on a chain that has blocks of the key.
var ErrUnrecorded = errors.New("the key's sign state is missing")

// KeyLock is the sign state of a key on the chain of a directory.
type KeyLock struct {
	*signstate.State
	dir    string // directory of the chain
	key    types.PublicKey
	store  *chain.Store
	shared bool
}

// Share marks the key as one that the members of a cluster use in turn: a block that another member signed is then not
// a conflict. Share must be called before Raise.
func (l *KeyLock) Share() { l.shared = true }

// KeyLock opens the sign state of a key in directory in or, if that is empty, in this directory. It creates a missing
// sign state, so the caller must first use [Dir.CheckRecord]. The directory must have a chain. The caller must close
// the lock.
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

// lockPath returns the path of a key's sign state, in directory in or, if that is empty, in this directory, and the
// hash of the chain's genesis block.
func (d *Dir) lockPath(key types.PublicKey, in string) (string, types.BlockHash, error) {
	genesis, err := d.store.Header(0)
	hash := genesis.Header.Hash()
	return filepath.Join(cmp.Or(in, d.path), signedName(key, hash)), hash, err
}

// CheckRecord returns [ErrUnrecorded] for a key without a sign state that signed a block of the chain: its newest block
// may be elsewhere. in has the same meaning as for [Dir.KeyLock].
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

// keyFile returns the path of the producer's key in the directory, or a placeholder, for the commands in messages.
func (d *Dir) keyFile() string {
	if path := d.file(ProtocolKeyFile); fileExists(path) {
		return path
	}
	return "FILE"
}

// fileExists reports whether path exists, readable or not.
func fileExists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// openKeyLock opens a sign state without the knowledge of its key.
func (d *Dir) openKeyLock(path string, genesis types.BlockHash) (*KeyLock, error) {
	lock, err := signstate.Open(kv.FS{}, path, genesis)
	if errors.Is(err, slots.ErrDamaged) {
		return nil, emergency.DamagedSignState(d.path, path, d.store.Head().Header.Height, err)
	}
	if err != nil {
		return nil, fmt.Errorf("the sign state of this node's key: %w", err)
	}
	return &KeyLock{State: lock, dir: d.path, store: d.store}, nil
}

// signedName returns the file name of the sign state of a key on the chain with the given genesis block.
func signedName(key types.PublicKey, genesis types.BlockHash) string {
	return fmt.Sprintf(signedFile, key[:4], genesis[:8])
}

// Missing returns [ErrBlocksLost] if the chain ends before the last signed block, and nil otherwise.
func (l *KeyLock) Missing() error {
	signed, head := l.Last(), l.store.Head().Header.Height
	if signed.Height <= head {
		return nil
	}
	return emergency.BlocksMissing(signed.Height, signed.Hash, head, l.dir, l.Path(), ErrBlocksLost)
}

// Replaced returns [ErrBlocksLost] if the chain has another block at the height of the last signed block.
func (l *KeyLock) Replaced() error {
	signed := l.Last()
	header, err := l.store.Header(signed.Height)
	switch {
	case errors.Is(err, chain.ErrPruned): // too old to check
	case err != nil:
		return err
	case header.Header.Hash() != signed.Hash:
		return emergency.BlockReplaced(signed.Height, signed.Hash, header.Header.Hash(), l.dir, l.Path(), ErrBlocksLost)
	}
	return nil
}

// Raise records the head as signed before a node makes blocks after it, so that nobody who has received the head
// receives another block of its height. The chain must have the last signed block. If it has later blocks of the key
// that this node did not make, Raise records a conflict instead, which [signstate.State.Conflict] returns.
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

// madeElsewhere returns the height of the chain's first block that the key signed on another node, or 0. If the head
// directly follows the last recorded block, it is this node's own: a crash prevented its recording. Imported blocks are
// recorded as a conflict before their import.
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

// Watch records a conflict before the import of a block that the key signed elsewhere. headers are the headers of the
// blocks to import, and the first one follows the head.
func (l *KeyLock) Watch(headers []types.SignedHeader) error {
	held := l.Last().Height
	for i, h := range headers {
		if l.shared || i > 0 && h.Header.Parent != headers[i-1].Header.Hash() {
			break // it will not be imported, or a member made it
		}
		if h.Header.Producer == l.key && h.Header.Height > held {
			return l.RecordConflict(h.Header.Height)
		}
	}
	return nil
}

// lostBlocks checks the chain against the sign states in the directory. A sign state elsewhere is checked only by the
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
		if err := errors.Join(cmp.Or(lock.Missing(), lock.Replaced()), lock.Close()); err != nil {
			return err
		}
	}
	return nil
}
