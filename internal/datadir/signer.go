package datadir

import (
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

// signerChainFile is the file in a signer's directory that identifies its chain. It is written last.
const signerChainFile = "signer.json"

// signerChain is the content of signerChainFile.
type signerChain struct {
	ChainID uint64          `json:"chainId"`
	Genesis types.BlockHash `json:"genesisHash"`
}

// Signer is an open signer's directory. It is locked against a second signer.
type Signer struct {
	Key      crypto.PrivateKey // the producer's key
	ChainID  uint64
	Genesis  types.BlockHash // hash of block 0
	Identity p2p.Identity
	Lock     *signstate.State
	files    io.Closer
}

// ErrNotEmpty is returned for a new signer's directory that a signer or node uses already.
var ErrNotEmpty = errors.New("a signer's directory must be new, but this one is already in use")

// InitSigner makes the directory of a signer for the chain of a genesis, with a copy of the producer's key, and returns
// the pin that identifies the signer to nodes. It returns [ErrNotEmpty] for the directory of a signer or a node.
func InitSigner(dir string, genesis types.Genesis, key crypto.PrivateKey) (p2p.Pin, error) {
	for _, name := range []string{signerChainFile, ProtocolKeyFile, SignerLinkFile} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return p2p.Pin{}, fmt.Errorf("%w: %s contains %s", ErrNotEmpty, dir, name)
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
	err = writeKey(filepath.Join(dir, ProtocolKeyFile), key)
	if err == nil {
		lock := filepath.Join(dir, signedName(key.PublicKey(), hash))
		err = signstate.Replace(kv.FS{}, lock, signstate.Block{Hash: hash})
	}
	if err == nil {
		err = kv.FS{}.WriteFile(filepath.Join(dir, signerChainFile), append(content, '\n'))
	}
	return identity.Pin(), err
}

// ErrLockLost is returned for a signer's directory with a missing or damaged sign state, so that its last signed block
// is unknown.
var ErrLockLost = errors.New("the signer's sign state is missing or damaged")

// UnlockSigner resets the sign state of a signer that does not run: no block is recorded as signed. The caller must
// make sure that no node has a block of the key that the chain lacks. UnlockSigner returns the path of the sign state.
func UnlockSigner(dir string) (path string, err error) {
	s, err := readSigner(dir)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, s.files.Close()) }()
	path = s.lockPath(dir)
	return path, signstate.Replace(kv.FS{}, path, signstate.Block{Hash: s.Genesis})
}

// SignerLink reads the key with which a node and its signer authenticate each other. Only its owner may have read
// access. SignerLink makes a missing key if mayMake is set.
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

// OpenSigner opens a signer's directory. The caller must close it. OpenSigner returns [ErrLockLost] if the sign state
// is missing or damaged, because another block may have been signed.
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

// readSigner locks a signer's directory and reads everything but the sign state.
func readSigner(dir string) (_ *Signer, err error) {
	content, err := readBounded(filepath.Join(dir, signerChainFile), 1<<10)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not a signer's directory: create one with `cairn signer init`", dir)
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

// Close releases the directory.
func (s *Signer) Close() error { return errors.Join(s.Lock.Close(), s.files.Close()) }
