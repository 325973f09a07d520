package datadir

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// ErrExists is returned for a directory that holds a network already.
var ErrExists = errors.New("the directory already contains a network")

// NewNetwork is the input of [InitNetwork].
type NewNetwork struct {
	Network     types.Network
	ChainID     uint64
	Time        uint64 // in milliseconds since 1970
	Key         crypto.PrivateKey
	Admin       crypto.PrivateKey  // changes the parameters
	Allocations []types.Allocation // in any order; an admin without an allocation gets some coins
	Settings    string             // the text of cairn.toml
}

// The range of random chain ids. It is above the numbers that people choose by hand, and far below those that
// JavaScript would round.
const (
	leastRandomChainID = 1 << 32
	randomChainIDs     = 1<<48 - leastRandomChainID
)

// RandomChainID returns a chain id that no other network has. Transactions that are signed for one chain are valid on
// any other with the same id.
func RandomChainID() uint64 {
	n, _ := rand.Int(rand.Reader, big.NewInt(randomChainIDs)) // never fails (crypto/rand)
	return leastRandomChainID + n.Uint64()
}

// Genesis returns the network's genesis. The admin always has coins, so it can change the parameters.
func (n NewNetwork) Genesis() (types.Genesis, error) {
	admin := types.Account(n.Admin.PublicKey())
	allocations := append([]types.Allocation{}, n.Allocations...)
	funded := false
	for _, a := range allocations {
		funded = funded || a.Account == admin
	}
	if !funded {
		allocations = append(allocations, types.Allocation{Account: admin, Balance: adminBalance})
	}
	sortAllocations(allocations)
	parameters := params.Default(n.Key.PublicKey())
	parameters.Admin = admin
	g := types.Genesis{
		ChainID:     n.ChainID,
		Network:     n.Network,
		Time:        n.Time,
		BaseFee:     params.DefaultMinBaseFee,
		Parameters:  parameters,
		Allocations: allocations,
	}
	return g, exec.CheckGenesis(g)
}

// InitNetwork writes a network's genesis, the keys of its producer and its admin, and settings into dir, which becomes a
// node's data directory. It returns [ErrExists] and writes nothing if the directory holds one of the files or a
// database.
func InitNetwork(dir string, n NewNetwork) (types.Genesis, error) {
	g, err := n.Genesis()
	if err != nil {
		return types.Genesis{}, err
	}
	for _, name := range []string{GenesisFile, ProtocolKeyFile, AdminKeyFile, SettingsFile, databaseDir} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return types.Genesis{}, fmt.Errorf("%w: %s contains %s", ErrExists, dir, name)
		}
	}
	files := kv.FS{}
	if err := files.MakeDir(dir, 0o700); err != nil {
		return types.Genesis{}, err
	}
	rendering, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return types.Genesis{}, err
	}
	err = writeKey(filepath.Join(dir, ProtocolKeyFile), n.Key)
	if err == nil {
		err = writeKey(filepath.Join(dir, AdminKeyFile), n.Admin)
	}
	if err == nil {
		err = files.WriteFile(filepath.Join(dir, SettingsFile), []byte(n.Settings))
	}
	if err == nil { // last: a genesis file marks the directory as complete and synced
		err = files.WriteFile(filepath.Join(dir, GenesisFile), append(rendering, '\n'))
	}
	return g, err
}

// writeKey writes a private key in the form that [ReadProtocolKey] reads, into a file that must not exist.
func writeKey(path string, key crypto.PrivateKey) error {
	secret := key.Bytes()
	return writeNew(path, []byte(hex.EncodeToString(secret[:])+"\n"), 0o600)
}

// writeNew writes a file that must not exist, and syncs it.
func writeNew(path string, content []byte, mode os.FileMode) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err = file.Write(content); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close())
}

// maxGenesisFile bounds a genesis file: 2^24 allocations in their JSON rendering, of some 150 bytes each.
const maxGenesisFile = 4 << 30

// ReadGenesis reads a genesis file. If the file is empty or invalid, it returns a message of package emergency: dir is
// the directory whose chain needs the genesis, and wanted the hash of that chain's block 0, or nil if it is not known.
func ReadGenesis(path, dir string, wanted *types.BlockHash) (types.Genesis, error) {
	content, err := readBounded(path, maxGenesisFile)
	if err != nil {
		return types.Genesis{}, Explain(path, err)
	}
	g, err := types.ParseGenesisJSON(content)
	if err == nil {
		err = exec.CheckGenesis(g)
	}
	if err == nil {
		return g, nil
	}
	found, hash := fmt.Sprintf("is not one (%v)", err), ""
	if len(bytes.TrimSpace(content)) == 0 {
		found = "is empty"
	}
	if wanted != nil {
		hash = wanted.String()
	}
	return types.Genesis{}, emergency.BadGenesis(path, found, hash, dir, err)
}

// serviceDir has the files that systemd passes to the shipped units as credentials. A credential's name is the unit's
// name and the file's.
const serviceDir = "/etc/cairn"

// credential returns the path of systemd's copy of a file in [serviceDir], which belongs to root. The copy is in
// memory, and only the service can read it.
func credential(path string) (copied string, ok bool) {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if dir == "" || filepath.Dir(filepath.Clean(path)) != serviceDir {
		return path, false
	}
	copied = filepath.Join(dir, filepath.Base(serviceDir)+"_"+filepath.Base(path))
	if _, err := os.Stat(copied); err != nil {
		return path, false
	}
	return copied, true
}

// ReadProtocolKey reads a producer's key: 64 hex digits and a newline. It refuses a file that others may read, unless
// systemd passed it as a credential: there the mode shows the mask of an access list and not the readers.
func ReadProtocolKey(path string) (crypto.PrivateKey, error) {
	path, handed := credential(path)
	info, err := os.Stat(path)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	if !handed && info.Mode().Perm()&0o077 != 0 {
		return crypto.PrivateKey{}, fmt.Errorf("%s is readable by other users: run chmod 600 on it", path)
	}
	if info.Size() > 100 {
		return crypto.PrivateKey{}, fmt.Errorf("%s is not a key: expected 64 hex digits", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return crypto.PrivateKey{}, err
	}
	digits, err := hex.DecodeString(strings.TrimSpace(string(content)))
	if err != nil || len(digits) != 32 {
		return crypto.PrivateKey{}, fmt.Errorf("%s is not a key: expected 64 hex digits", path)
	}
	return crypto.NewPrivateKey([32]byte(digits))
}

// maxParametersFile bounds a file of parameters, which are some lines of JSON.
const maxParametersFile = 64 << 10

// ReadOverride parses an override of the form HEIGHT:FILE. The file holds the parameters as genesis.json does.
// ReadOverride returns nil for an empty text. Errors are emergencies.
func ReadOverride(text string, network types.Network) (*ledger.Override, error) {
	if text == "" {
		return nil, nil
	}
	o, err := readOverride(text, network)
	if err != nil {
		return nil, emergency.BadOverride(text, err)
	}
	return o, nil
}

func readOverride(text string, network types.Network) (*ledger.Override, error) {
	number, path, _ := strings.Cut(text, ":")
	height, err := strconv.ParseUint(number, 10, 64)
	if err != nil || height == 0 || path == "" {
		return nil, fmt.Errorf("an override must be HEIGHT:FILE with a height of at least 1, not %q", text)
	}
	content, err := readBounded(path, maxParametersFile)
	if err != nil {
		return nil, err
	}
	p, err := types.ParseParametersJSON(content, network)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o := &ledger.Override{Height: types.Height(height), Parameters: p}
	return o, o.Check()
}

func readBounded(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return os.ReadFile(path)
}

// GenesisHash returns the hash of block 0, which identifies a chain.
func GenesisHash(g types.Genesis) (types.BlockHash, error) {
	block, err := ledger.GenesisBlock(g)
	return block.Header.Hash(), err
}
