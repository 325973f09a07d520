package datadir

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/internal/upstream"
	"github.com/cairn-chain/cairn/types"
)

// ErrNotPromoted is returned for a directory that must not become the next producer's.
var ErrNotPromoted = errors.New("cannot promote this directory")

// askTime bounds the wait for a replica's head.
const askTime = 20 * time.Second

// Replica is the answer of a replica.
type Replica struct {
	URL  string       `json:"url"`
	Head types.Height `json:"head"` // height of its newest block
	Told types.Height `json:"told"` // height of the newest block that it has heard of, which may be lost
}

// Compare asks each replica for its head and compares it with the chain here. It returns [ErrNotPromoted] if a replica
// does not answer, makes blocks, is on another chain, or has a block that this directory lacks or has differently.
func (d *Dir) Compare(ctx context.Context, replicas Upstreams) ([]Replica, error) {
	nodes, err := replicas.nodes()
	if err != nil {
		return nil, err
	}
	answers := make([]Replica, len(nodes))
	var errs []error
	for i, n := range nodes {
		var err error
		if answers[i], err = d.compareWith(ctx, n); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", n.Name(), err))
		}
		n.Close()
	}
	if len(errs) > 0 {
		return nil, fmt.Errorf("%w: %w", ErrNotPromoted, errors.Join(errs...))
	}
	return answers, nil
}

// compareWith compares the chain here with one replica's.
func (d *Dir) compareWith(ctx context.Context, n *upstream.Node) (Replica, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	here := d.store.Head().Header
	genesis, err := d.store.Header(0)
	if err != nil {
		return Replica{}, err
	}
	probe, err := n.Probe(ctx, here.Height)
	if err != nil {
		return Replica{}, fmt.Errorf("it does not answer (omit it if it is gone for good): %w", err)
	}
	r := Replica{n.Name(), probe.Head, probe.Primary}
	switch {
	case probe.Genesis != genesis.Header.Hash():
		return r, fmt.Errorf("it belongs to another chain, with the genesis hash %s", probe.Genesis)
	case probe.Producing != nil:
		return r, fmt.Errorf("it already produces blocks, with the key %s", probe.Producing)
	case probe.Head > here.Height:
		return r,
			fmt.Errorf("it has block %d, but this directory ends at block %d: promote that node instead, or run this "+
				"one with --upstream URL of that node until it has all the blocks", probe.Head, here.Height)
	}
	return r, d.sameAt(ctx, n, probe)
}

// sameAt compares the replica's newest block with the block here of the same height.
func (d *Dir) sameAt(ctx context.Context, n *upstream.Node, probe replica.Probe) error {
	theirs := probe.Header
	if theirs == nil {
		var err error
		if theirs, err = n.Header(ctx, probe.Head); err != nil {
			return err
		}
	}
	ours, err := d.store.Header(probe.Head)
	switch {
	case errors.Is(err, chain.ErrPruned): // the replica is too far behind to compare
		return nil
	case err != nil:
		return err
	case theirs == nil || theirs.Header.Hash() != ours.Header.Hash():
		return fmt.Errorf(
			"it has a different block %d than this directory: find out which of the two the chain's users have", probe.Head,
		)
	}
	return nil
}

// Promote allows a key to make blocks after the directory's head, even if another node has signed with it. It replaces
// the key's sign state, in directory in or, if that is empty, in this directory. The caller must make sure that no
// other node uses the key. Promote returns [ErrNotPromoted] if key is not the producer's, or [ErrBlocksLost].
func (d *Dir) Promote(key types.PublicKey, in string) error {
	if d.options.Chain.Stateless || d.store.Empty() {
		return fmt.Errorf("%w: it is stateless, and producing blocks needs the state", ErrNotPromoted)
	}
	if err := d.produces(key); err != nil {
		return err
	}
	lock, err := d.KeyLock(key, in)
	if err != nil {
		return err
	}
	if err := errors.Join(cmp.Or(lock.Missing(), lock.Replaced()), lock.Close()); err != nil {
		return err
	}
	return signstate.Replace(kv.FS{}, lock.Path(), signstate.BlockOf(d.store.Head().Header))
}

// produces returns an error unless key is the producer's in force after the head.
func (d *Dir) produces(key types.PublicKey) error {
	producer, err := d.producer()
	if err == nil && producer != key {
		err = fmt.Errorf("%w: %w", ErrNotPromoted, emergency.OtherProducer(producer, key, "command"))
	}
	return err
}
