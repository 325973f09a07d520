package datadir

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/p2p"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/internal/storage/slots"
	"github.com/cairn-chain/cairn/types"
)

// signerChainFile says in a signer's directory which chain it signs for. It is written last.
const signerChainFile = "signer.json"

// signerChain is the content of that file.
type signerChain struct {
	ChainID uint64          `json:"chainId"`
	Genesis types.BlockHash `json:"genesisHash"`
}

// Signer is what a signer's directory holds. Its lock keeps a second signer from the directory.
type Signer struct {
	Key      crypto.PrivateKey // the producer's
	ChainID  uint64
	Genesis  types.BlockHash // hash of block 0
	Identity p2p.Identity
	Lock     *signstate.State
	files    io.Closer
}

// ErrNotEmpty is the error of a directory for a signer that is one's already, or a node's.
var ErrNotEmpty = errors.New("a signer's directory is made anew, and this one is used already")

// InitSigner makes the directory of a signer for the chain of a genesis, with a copy of the producer's key, and returns
// the pin that nodes know it by. A directory that is a signer's or a node's already is refused with [ErrNotEmpty].
func InitSigner(dir string, genesis types.Genesis, key crypto.PrivateKey) (p2p.Pin, error) {
	for _, name := range []string{signerChainFile, ProtocolKeyFile, SignerLinkFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return p2p.Pin{}, fmt.Errorf("%w: %s holds %s", ErrNotEmpty, dir, name)
		}
	}
	hash, err := GenesisHash(genesis)
	if err != nil {
		return p2p.Pin{}, err
	}
	if err := (kv.FS{}).MakeDir(dir, 0o700); err != nil {
		return p2p.Pin{}, err
	}
	content, err := json.Marshal(signerChain{genesis.ChainID, hash})
	if err != nil {
		return p2p.Pin{}, err
	}
	identity, err := SignerLink(filepath.Join(dir, SignerLinkFile), true)
	if err != nil {
		return p2p.Pin{}, err
	}
	secret := key.Bytes()
	err = writeNew(filepath.Join(dir, ProtocolKeyFile), []byte(hex.EncodeToString(secret[:])+"\n"), 0o600)
	if err == nil {
		lock := filepath.Join(dir, signedName(key.PublicKey(), hash))
		err = signstate.Replace(kv.FS{}, lock, signstate.Block{Hash: hash})
	}
	if err == nil {
		err = kv.FS{}.WriteFile(filepath.Join(dir, signerChainFile), append(content, '\n'))
	}
	return identity.Pin(), err
}

// ErrLockLost is the error of a signer's directory without its sign state, or with a damaged one: what the key signed
// is not known.
var ErrLockLost = errors.New("the signer's sign state is missing or damaged")

// UnlockSigner makes the sign state of a signer anew, which does not run: it holds no block. Whoever does so knows
// that nobody has a block of the key that the nodes' chain lacks. It returns the path of the lock.
func UnlockSigner(dir string) (path string, err error) {
	s, err := readSigner(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.files.Close()) }()
	path = s.lockPath(dir)
	return path, signstate.Replace(kv.FS{}, path, signstate.Block{Hash: s.Genesis})
}

// SignerLink reads the key that a node and its signer know each other by, which only its owner may be able to read. It
// is made where it is absent and mayMake says so.
func SignerLink(path string, mayMake bool) (p2p.Identity, error) {
	identity, err := readLinkKey(path)
	if errors.Is(err, errBadLinkKey) {
		err = emergency.DamagedLink(path, err)
	}
	if !mayMake || !errors.Is(err, fs.ErrNotExist) {
		return identity, err
	}
	key, err := p2p.NewKey()
	if err != nil {
		return identity, err
	}
	if err := writeNew(path, key, 0o600); err != nil {
		return identity, err
	}
	return readLinkKey(path)
}

// OpenSigner opens the directory of a signer. The caller closes it. The error is [ErrLockLost] where the sign state is
// missing or damaged: another block may have been signed.
func OpenSigner(dir string) (*Signer, error) {
	s, err := readSigner(dir)
	if err != nil {
		return nil, err
	}
	path := s.lockPath(dir)
	if _, err = os.Lstat(path); err == nil {
		s.Lock, err = signstate.Open(kv.FS{}, path, s.Genesis)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, slots.ErrDamaged) {
		err = emergency.SignerLockLost(dir, fmt.Errorf("%w: %w", ErrLockLost, err))
	}
	if err != nil {
		return nil, errors.Join(err, s.files.Close())
	}
	return s, nil
}

func (s *Signer) lockPath(dir string) string {
	return filepath.Join(dir, signedName(s.Key.PublicKey(), s.Genesis))
}

// readSigner reads the directory of a signer, all but the sign state, and locks it.
func readSigner(dir string) (_ *Signer, err error) {
	content, err := readBounded(filepath.Join(dir, signerChainFile), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no signer's directory: make one with `cairn signer init`", dir)
	}
	if err != nil {
		return nil, err
	}
	var chain signerChain
	if err := json.Unmarshal(content, &chain); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, signerChainFile), err)
	}
	s := &Signer{ChainID: chain.ChainID, Genesis: chain.Genesis}
	if s.Key, err = ReadProtocolKey(filepath.Join(dir, ProtocolKeyFile)); err != nil {
		return nil, err
	}
	if s.Identity, err = SignerLink(filepath.Join(dir, SignerLinkFile), false); err != nil {
		return nil, err
	}
	if s.files, err = kv.Lock(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// Close closes the directory.
func (s *Signer) Close() error { return errors.Join(s.Lock.Close(), s.files.Close()) }
