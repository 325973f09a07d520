// Command snapshot measures the cost of a snapshot of a state: creating, checking and importing it, and a start from
// it. It prints a Markdown table to standard output.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
	"github.com/cairn-chain/cairn/workshop/internal/program"
)

const (
	keysPerBlock = 200_000
	valueBytes   = 32 // of a storage value
	treasury     = 1 << 60
)

func main() {
	accounts := flag.Int("accounts", 1_000_000, "accounts in the state")
	entries := flag.Int("storage", 1_000_000, "storage entries in the state")
	dir := flag.String("dir", os.TempDir(), "parent directory of the chains and the snapshot")
	keep := flag.Bool("keep", false, "keep the files, in the directory that the last line names")
	flag.Parse()
	program.Main("snapshot", func(ctx context.Context) error { return measure(ctx, *dir, *accounts, *entries, *keep) })
}

func measure(ctx context.Context, parent string, accounts, entries int, keep bool) (err error) {
	dir, err := os.MkdirTemp(parent, "cairn-snapshot-")
	if err != nil {
		return err
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	genesis, err := grow(from, accounts, entries)
	if err != nil {
		return err
	}
	var clock lapClock
	clock.lap()
	m, err := create(ctx, from)
	created := clock.lap()
	if err != nil {
		return err
	}
	path, trust := datadir.SnapshotPath(from, m.Height), datadir.SnapshotTrust{Genesis: genesis}
	_, err = datadir.VerifySnapshot(ctx, path, trust, func(uint64, uint64) {})
	verify := clock.lap()
	if err != nil {
		return err
	}
	err = fill(ctx, to, path, trust)
	imported := clock.lap()
	if err != nil {
		return err
	}
	root, err := start(to)
	started := clock.lap()
	if err == nil && root != m.StateRoot {
		err = fmt.Errorf("the root is %s after the import, it was %s", root, m.StateRoot)
	}
	if err != nil {
		return err
	}
	size, err := sizeOf(filepath.Join(to, "db"))
	if err != nil {
		return err
	}
	fmt.Printf("| accounts | storage entries | chunks | snapshot, MiB | create, s | verify, s | import, s | start, s | "+
		"database after the import, MiB |\n"+
		"|---|---|---|---|---|---|---|---|---|\n| %d | %d | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f |\n", m.Accounts,
		m.StorageEntries, m.ChunkCount,
		mebibytes(m.SizeBytes), created.Seconds(), verify.Seconds(), imported.Seconds(), started.Seconds(), mebibytes(size))
	if keep {
		fmt.Println(dir)
	}
	return nil
}

// create creates a snapshot of the chain in a directory.
func create(ctx context.Context, dir string) (m datadir.Snapshot, err error) {
	d, err := datadir.OpenChain(dir, datadir.Options{})
	if err != nil {
		return m, err
	}
	m, err = d.CreateSnapshot(ctx)
	return m, errors.Join(err, d.Close())
}

// fill imports a snapshot into a directory.
func fill(ctx context.Context, dir, snapshot string, trust datadir.SnapshotTrust) error {
	d, err := datadir.Open(dir, datadir.Options{})
	if err != nil {
		return err
	}
	_, err = d.ImportSnapshot(ctx, snapshot, trust, func(uint64, uint64) {})
	return errors.Join(err, d.Close())
}

func mebibytes(n uint64) float64 { return float64(n) / (1 << 20) }

// lapClock measures the time since its last use.
type lapClock struct{ last time.Time }

func (c *lapClock) lap() time.Duration {
	now := time.Now()
	took := now.Sub(c.last)
	c.last = now
	return took
}

func sizeOf(dir string) (size uint64, err error) {
	files, err := os.ReadDir(dir)
	for _, file := range files {
		info, infoErr := file.Info()
		if infoErr != nil {
			return 0, infoErr
		}
		size += uint64(info.Size())
	}
	return size, err
}

// start opens the chain of a data directory, which rebuilds the state tree, and returns its root.
func start(dir string) (root types.StateRoot, err error) {
	err = withStore(dir, func(store *chain.Store) error {
		l, err := ledger.Open(store, nil, nil, nil)
		if err == nil {
			root = l.Tip().Header.Header.StateRoot
		}
		return err
	})
	return root, err
}

func withStore(dir string, f func(*chain.Store) error) (err error) {
	db, err := kv.Open(filepath.Join(dir, "db"), kv.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return f(store)
}

// grow makes a chain in a data directory with a number of state keys, bypassing the execution, and returns its genesis
// hash. Only the parts that a snapshot checks are valid: state, tree, supply and signatures.
func grow(dir string, accounts, entries int) (types.BlockHash, error) {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte("snapshot")))
	if err != nil {
		return types.BlockHash{}, err
	}
	g, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 4242, Time: 1, Key: key, Admin: key, Allocations: []types.Allocation{{
			Account: key.PublicKey(), Balance: treasury,
		}},
	})
	if err != nil {
		return types.BlockHash{}, err
	}
	hash, err := datadir.GenesisHash(g)
	if err != nil {
		return hash, err
	}
	return hash, withStore(dir, func(store *chain.Store) error {
		if _, err := ledger.Open(store, &g, nil, nil); err != nil {
			return err
		}
		t, err := ledger.LoadTree(store)
		if err != nil {
			return err
		}
		b := builder{store, t, key, treasury}
		for made := 0; made < accounts+entries; made += keysPerBlock {
			if err := b.append(made, min(made+keysPerBlock, accounts+entries), accounts); err != nil {
				return err
			}
		}
		return nil
	})
}

type builder struct {
	store *chain.Store
	tree  *tree.Tree
	key   crypto.PrivateKey
	left  types.Amount // remaining funds of the treasury
}

// append makes a block with the keys from … to. Those below accounts are accounts, the others storage.
func (b *builder) append(from, to, accounts int) error {
	before := state.Account{Balance: b.left}
	var accesses []types.Access
	for i := from; i < to; i++ {
		name := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(i)))
		if i < accounts {
			balance := 1 + types.Amount(binary.LittleEndian.Uint32(name[:]))
			b.left -= balance
			accesses = append(accesses, types.Access{Key: state.AccountKey(name), New: state.Account{Balance: balance}.Encode(name)})
			continue
		}
		value := sha256.Sum256(name[:])
		contract := types.ContractID{byte(i)} // one of 256
		accesses = append(accesses, types.Access{Key: state.StorageKey(contract, name[:]), New: value[:valueBytes]})
	}
	treasury := types.Account(b.key.PublicKey())
	if after := (state.Account{Balance: b.left}); !after.Equal(treasury, before) {
		accesses = append(accesses, types.Access{
			Key: state.AccountKey(treasury), Old: before.Encode(treasury), New: after.Encode(treasury),
		})
	}
	slices.SortFunc(accesses, func(x, y types.Access) int { return bytes.Compare(x.Key, y.Key) })
	change, err := b.tree.Prepare(accesses, parallel.Run)
	if err != nil {
		return err
	}
	h := b.store.Head().Header
	h.Parent, h.Height, h.Timestamp, h.StateRoot = b.store.HeadHash(), h.Height+1, h.Timestamp+1, change.Root()
	hash := h.Hash()
	signature, err := b.key.Sign(hash[:], [32]byte{})
	if err != nil {
		return err
	}
	result := exec.Result{Header: h, Accesses: accesses}
	if err := b.store.Append(chain.Entry{Result: result, Seal: types.Seal{Signature: signature}, Leaves: change.Leaves()}); err != nil {
		return err
	}
	b.tree.Commit(change, parallel.Run)
	return nil
}
