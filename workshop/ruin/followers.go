package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// followers are the kinds of nodes that follow another one. A stateless replica verifies blocks by their proofs.
var followers = []string{"replica", "archive", "stateless"}

// followFlags are the flags of a node that follows another one.
func (w *world) followFlags(kind, upstream string) []string {
	flags := []string{"--mode", kind, "--prove", "off"}
	if kind == "stateless" {
		flags = []string{"--mode", "replica", "--verify", kind}
	}
	return append(flags, "--upstream", upstream, "--genesis-hash", w.alone.hashes[0].String())
}

// prepareFollowers makes a follower of each kind that has all blocks of a primary, and kills it.
func (w *world) prepareFollowers(ctx context.Context, primary *running) error {
	w.followed = w.alone
	w.followed.pending = nil // the primary acknowledged them
	for _, kind := range followers {
		place := target{dir: w.path(kind), log: w.path(kind + ".log"), flags: w.followFlags(kind, primary.rpc)}
		if err := w.follow(ctx, place); err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// follow runs a follower until it has the head, and again, so that it has tables and a log, and kills it.
func (w *world) follow(ctx context.Context, place target) error {
	if err := os.Mkdir(place.dir, 0o700); err != nil {
		return err
	}
	hasHead := func(r *running) error {
		return r.process.Await(ctx, func(ctx context.Context) (bool, error) {
			head, err := r.client.BlockNumber(ctx)
			return head == w.alone.head, err
		})
	}
	if err := w.with(ctx, place, "1s", hasHead); err != nil {
		return err
	}
	r, err := w.run(place, "1s")
	if err != nil {
		return err
	}
	defer r.process.Kill()
	if !w.serves(ctx, r) {
		return fmt.Errorf("it does not serve again: %s", r.told())
	}
	defer r.client.Close()
	return hasHead(r)
}

// tryFollower makes the fault in a follower whose upstream, a primary, is undamaged and continues to make blocks.
func (w *world) tryFollower(ctx context.Context, t *trial, random *rand.Rand) (err error) {
	place := target{dir: w.path("primary"), log: w.path("primary.log"), known: &w.alone}
	if err := copyDir(place.dir, w.path("killed")); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(place.dir), os.RemoveAll(place.log)) }()
	primary, err := w.begin(place)
	if err != nil {
		return err
	}
	defer primary.process.Kill()
	if !w.serves(ctx, primary) {
		return fmt.Errorf("the primary does not serve: %s", primary.told())
	}
	primary.client.Close()
	if err := w.tryCopy(ctx, t, random, target{
		flags: w.followFlags(t.base, primary.rpc), known: &w.followed, others: &w.alone,
	}); err != nil {
		return err
	}
	w.judgeOther(ctx, t, primary)
	return nil
}

// judgeRefetch does what a follower says of its damaged database: with db/ moved away it must fetch the chain again.
func (w *world) judgeRefetch(ctx context.Context, t *trial, place target) error {
	if err := os.Rename(filepath.Join(place.dir, "db"), place.dir+".db"); err != nil {
		return err
	}
	r, err := w.begin(place)
	if err != nil {
		return err
	}
	defer r.process.Kill()
	starting, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if !w.serves(starting, r) {
		t.breaks("it does not start after db/ was moved away: %s", lastError(r.told()))
		return nil
	}
	if _, err := r.client.WaitReceipt(starting, place.others.pending[0]); err != nil {
		t.breaks("it does not fetch the chain again: %v", err)
	}
	w.ask(ctx, t, r)
	t.outcome += ", then fetched the chain again"
	return nil
}
