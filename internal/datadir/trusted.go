package datadir

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/chain"
)

// Trusted is a block whose hash comes from a trusted source.
type Trusted = replica.Trusted

// StartAt begins the chain of the directory at a trusted block, for a node without state. If the directory has a chain
// already, StartAt only checks that the chain has no other block of that height. The trusted block's proof must have at
// least the given number of proven bits.
func (d *Dir) StartAt(ctx context.Context, c Chain, trusted Trusted, from Upstreams, bits int) (err error) {
	store, err := d.Store()
	if err != nil {
		return err
	}
	if !store.Empty() {
		return hasTrusted(store, trusted)
	}
	engine, err := d.Engine()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, engine.Close()) }()
	book, err := d.Book()
	if err != nil {
		return err
	}
	sources, err := from.Sources()
	if err != nil {
		return err
	}
	for _, s := range sources {
		defer s.Close()
	}
	begin := func(s ledger.Start) error {
		return ledger.StartStateless(store, *c.Genesis, c.Override, fallback(book, engine), bits, s)
	}
	if err := replica.StartAt(ctx, c.Genesis.Network, sources, trusted, d.options.Log, begin); err != nil {
		return err
	}
	d.options.Log.Info("starting at a trusted block", "height", trusted.Height, "block", trusted.Hash)
	return nil
}

// hasTrusted refuses a chain with a different block at the trusted height.
func hasTrusted(store *chain.Store, trusted Trusted) error {
	header, err := store.Header(trusted.Height)
	if errors.Is(err, chain.ErrNotFound) || errors.Is(err, chain.ErrPruned) {
		return nil
	}
	if err != nil {
		return err
	}
	if hash := header.Header.Hash(); hash != trusted.Hash {
		return fmt.Errorf(
			"the chain in this data directory has block %s at height %d, not the trusted block %s: start in an empty "+
				"directory",
			hash,
			trusted.Height,
			trusted.Hash,
		)
	}
	return nil
}
