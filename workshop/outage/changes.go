package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// quickBlocks is the shortest block time, for making a chain long quickly.
const quickBlocks = "10ms"

// lengthen makes the first blocks with a single producer, as many as a member that joins from far behind lacks.
func (w *world) lengthen(ctx context.Context, m *member) error {
	blocks := 3
	if strings.Contains(w.parts, "changes") {
		blocks = max(blocks, w.behind)
	}
	if err := w.startEvery(ctx, m, quickBlocks); err != nil {
		return err
	}
	err := w.awaitHeight(ctx, m, blocks)
	return errors.Join(err, m.stop())
}

func (w *world) awaitHeight(ctx context.Context, m *member, height int) error {
	for {
		head, err := m.client.BlockNumber(ctx)
		if err != nil || int(head) >= height {
			return err
		}
		if err := wait(ctx, 10*pause); err != nil {
			return err
		}
	}
}

// changes replaces a lost disk, restarts all members, and adds a member from far behind, all under load.
func (w *world) changes(ctx context.Context) error {
	err := w.under(ctx, w.load, w.rate, w.batch, func(ctx context.Context) error {
		for _, do := range []func(context.Context) error{w.replace, w.roll, w.grow} {
			if err := wait(ctx, settleTime); err != nil {
				return err
			}
			if err := do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(err, w.check(ctx))
}

// silence prints the longest gaps since a time.
func (w *world) silence(what string, since time.Time) {
	w.print("| %s; took, longest gap of blocks, of acknowledgements, s | %.1f, %.2f, %.2f |",
		what, time.Since(since).Seconds(), w.watcher.gap(since).Seconds(), w.load.gap(since).Seconds())
}

// replace destroys the disk of a follower, and replaces it by a new member.
func (w *world) replace(ctx context.Context) error {
	leader, err := w.leader(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(w.all(), func(m *member) bool { return m != leader })
	begun, lost := time.Now(), w.all()[i]
	lost.kill()
	w.drop(lost)
	if err := os.RemoveAll(lost.dir); err != nil {
		return err
	}
	if err := w.remove(leader, lost); err != nil {
		return err
	}
	if _, err := w.join(ctx); err != nil {
		return err
	}
	w.silence("a follower's disk is lost and replaced (target 2)", begun)
	return nil
}

// roll stops and starts each member, including the leader.
func (w *world) roll(ctx context.Context) error {
	leader, err := w.leader(ctx)
	if err != nil {
		return err
	}
	for _, m := range append(slices.DeleteFunc(w.all(), func(m *member) bool { return m == leader }), leader) {
		begun := time.Now()
		if err := m.stop(); err != nil {
			return err
		}
		if err := w.start(ctx, m); err != nil {
			return err
		}
		if err := w.ready(ctx, m); err != nil {
			return err
		}
		if err := wait(ctx, settleTime); err != nil {
			return err
		}
		role := "a follower"
		if m == leader {
			role = "the leader"
		}
		w.silence(role+" is stopped and started again (target 0.3)", begun)
	}
	return nil
}

// grow adds a member with an empty directory, and removes it again.
func (w *world) grow(ctx context.Context) error {
	begun, behind := time.Now(), w.watcher.head()
	m, err := w.join(ctx)
	if err != nil {
		return err
	}
	w.silence(fmt.Sprintf("a member joins that is %d blocks behind", behind), begun)
	leader, err := w.leader(ctx)
	if err != nil {
		return err
	}
	w.drop(m)
	if err := w.remove(leader, m); err != nil {
		return err
	}
	m.kill() // it learns of its removal, and stops by itself
	m.client.Close()
	return nil
}

// promote hands over production to a replica that is not a member and has its own key.
func (w *world) promote(ctx context.Context) error {
	m, err := w.newMember()
	if err != nil {
		return err
	}
	defer m.client.Close()
	for _, member := range w.all() { // so that it forwards pending transactions
		if err := errors.Join(member.stop(), w.start(ctx, member, "--upstream", m.rpc())); err != nil {
			return err
		}
		if err := w.ready(ctx, member); err != nil {
			return err
		}
	}
	leader, err := w.leader(ctx)
	if err != nil {
		return err
	}
	key := keyOf("another producer").Bytes()
	file := filepath.Join(w.dir, "another.key")
	if err := os.WriteFile(file, []byte(hex.EncodeToString(key[:])+"\n"), 0o600); err != nil {
		return err
	}
	genesis := filepath.Join(leader.dir, "genesis.json")
	settings := []string{"--mode", "replica", "--genesis", genesis, "--protocol-key", file}
	for _, upstream := range w.all() {
		settings = append(settings, "--upstream", upstream.rpc())
	}
	if err := w.start(ctx, m, settings...); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.stop()) }()
	if err := w.ready(ctx, m); err != nil {
		return err
	}
	var made struct{ Seconds float64 }
	if err := w.cairn(&made, "promote", "--rpc-url", m.rpc(), "--admin-key", w.adminKey()); err != nil {
		return err
	}
	lost, err := w.load.lost(ctx, m)
	if err != nil {
		return err
	}
	w.print("| production handed from the cluster to a node alone: took, s; acknowledged transfers lost | %.1f; %d |",
		made.Seconds, lost)
	if lost > 0 {
		return fmt.Errorf("the node alone lacks %d transfers that were acknowledged", lost)
	}
	return nil
}
