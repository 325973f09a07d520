package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/members"
)

// member is the directory of a cluster member, with a copy of its undamaged state.
type member struct {
	target
	name, saved string
}

// identity is the file by whose inode a member recognizes its directory: a copy is refused.
const identity = "member.id"

// restore restores a member's directory. Its identity is the same file as before.
func (m *member) restore() error {
	if err := errors.Join(os.RemoveAll(m.dir), os.RemoveAll(m.log)); err != nil {
		return err
	}
	if err := copyDir(m.dir, m.saved); err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(m.saved, identity))
	if err != nil {
		return err
	}
	kept, file := m.saved+".id", filepath.Join(m.dir, identity)
	if err := errors.Join(os.Remove(file), os.Chmod(kept, 0o600), os.Link(kept, file)); err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o600) // in place, so that the inode stays
}

// keep saves the current state of a member's directory.
func (m *member) keep() error {
	return errors.Join(copyDir(m.saved, m.dir), os.Link(filepath.Join(m.dir, identity), m.saved+".id"))
}

// newMember returns a member whose link has a free port.
func (w *world) newMember(name string) (m *member, address string, err error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, "", err
	}
	address = free.Addr().String()
	m = &member{
		name: name, saved: filepath.Join(w.path("saved"), name),
		target: target{
			dir: filepath.Join(w.path("members"), name), log: w.path(name + ".log"),
			flags: []string{"--cluster-addr", address, "--prove", "off"}, known: &w.cluster, others: &w.cluster,
		},
	}
	w.members = append(w.members, m)
	return m, address, free.Close()
}

// prepareCluster creates a cluster of three with pending transactions, and saves its directories after one member was
// stopped and two were killed.
func (w *world) prepareCluster(ctx context.Context) error {
	first, peer, err := w.newMember("a")
	if err != nil {
		return err
	}
	var made struct{ Pin string }
	if err := w.cairn(ctx, nil, w.initArgs("members/a")...); err != nil {
		return err
	}
	if err := w.cairn(ctx, &made, "cluster", "init", "--data-dir", first.dir, "--name", "a", "--address", peer); err != nil {
		return err
	}
	if err := w.with(ctx, first.target, "100ms", func(leader *running) (err error) {
		if w.cluster.paid, err = pay(ctx, leader.client, paid, true); err != nil {
			return err
		}
		for _, name := range []string{"b", "c"} {
			r, err := w.join(ctx, leader, name, peer, made.Pin)
			if err != nil {
				return err
			}
			defer r.process.Stop() //nolint:errcheck // what it left is what counts
		}
		return nil
	}); err != nil {
		return err
	}
	return w.leaveCluster(ctx)
}

// join adds a member to a leader's cluster, and returns once it is a voter.
func (w *world) join(ctx context.Context, leader *running, name, peer, peerPin string) (*running, error) {
	m, address, err := w.newMember(name)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(m.dir, 0o700); err != nil {
		return nil, err
	}
	for _, file := range []string{"genesis.json", "protocol.key"} {
		content, err := os.ReadFile(filepath.Join(leader.dir, file))
		if err := errors.Join(err, os.WriteFile(filepath.Join(m.dir, file), content, 0o600)); err != nil {
			return nil, err
		}
	}
	var made struct{ Pin string }
	if err := w.cairn(ctx, &made, "cluster", "join", "--data-dir", m.dir, "--name", name, "--address", address,
		"--peer", peer, "--peer-pin", peerPin); err != nil {
		return nil, err
	}
	if err := w.cairn(ctx, nil, "cluster", "add", name, "--address", address, "--pin", made.Pin, "--admin", leader.admin,
		"--admin-token-file", filepath.Join(leader.dir, "admin.token")); err != nil {
		return nil, err
	}
	r, err := w.run(m.target, "100ms")
	if err != nil {
		return nil, err
	}
	asked := members.Client{Node: admin.Client{URL: leader.admin, TokenFile: filepath.Join(leader.dir, "admin.token")}}
	return r, r.process.Await(ctx, func(ctx context.Context) (bool, error) {
		status, err := asked.Status(ctx)
		for _, p := range status.Members {
			if err == nil && p.Name == name && p.Voter {
				return true, nil
			}
		}
		return false, nil
	})
}

// leaveCluster gives all members transactions that no block will include, and ends them.
func (w *world) leaveCluster(ctx context.Context) error {
	var all []*running
	for _, m := range w.members {
		r, err := w.run(m.target, "1h")
		if err != nil {
			return err
		}
		defer r.process.Kill()
		all = append(all, r)
	}
	for _, r := range all {
		if !w.serves(ctx, r) {
			return fmt.Errorf("a member does not serve: %s", r.told())
		}
		defer r.client.Close()
	}
	sending, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		var err error
		if w.cluster.pending, err = pay(sending, all[0].client, pending, false); err == nil {
			break
		}
		select { // there may be no leader yet
		case <-time.After(time.Second):
		case <-sending.Done():
			return err
		}
	}
	if err := errors.Join(w.cluster.note(ctx, all[0].client), all[0].process.Stop()); err != nil {
		return err
	}
	for i, m := range w.members {
		all[i].process.Kill()
		if err := m.keep(); err != nil {
			return err
		}
	}
	return nil
}
