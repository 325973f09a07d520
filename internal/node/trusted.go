package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// Trusted is a block whose hash is known from a place that is trusted.
type Trusted = replica.Trusted

// StartAt begins the chain of a data directory at a trusted block, for a node without state. Where the directory has a
// chain already it does nothing, unless that has another block of the height. It returns [ErrLocked] for a directory that a
// node runs on.
func StartAt(ctx context.Context, config Config, trusted Trusted) (err error) {
	lock, err := kv.Lock(config.DataDir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	db, err := config.openDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, err := config.openStore(db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	if !store.Empty() {
		return hasTrusted(store, trusted)
	}
	engine, err := config.openEngine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	sources, err := config.Follow.sources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		defer s.Close()
	}
	begin := func(s ledger.Start, fetch ledger.FetchCode) error {
		return ledger.StartStateless(store, *config.Genesis, config.Override, engine, config.Proofs.Bits, trusted.Hash, s, fetch)
	}
	if err := replica.StartAt(ctx, sources, trusted, config.Log, begin); err != nil {
		return err
	}
	config.Log.Info("beginning at a trusted block", "height", trusted.Height, "block", trusted.Hash)
	return nil
}

// hasTrusted refuses a chain that has another block than the trusted one.
func hasTrusted(store *chain.Store, trusted Trusted) error {
	header, err := store.Header(trusted.Height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		return nil
	}
	if err != nil {
		return err
	}
	if hash := header.Header.Hash(); hash != trusted.Hash {
		return fmt.Errorf("the chain in this data directory has the block %s of height %d, not the trusted %s: start anew in an empty one", hash, trusted.Height, trusted.Hash)
	}
	return nil
}
