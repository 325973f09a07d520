package e2e

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/types"
)

// lostPrimary is a primary with two replicas, through which clients send, and with a copy of its key elsewhere.
type lostPrimary struct {
	*handover
	dir, key string // of the primary, and of the copy of its key
	address  string // of the primary
	dirs     [2]string
	replicas [2]*process
}

func newLostPrimary(t *testing.T) *lostPrimary {
	t.Helper()
	l := &lostPrimary{
		handover: &handover{t: t, load: newLoad(256)},
		address:  freeAddress(t),
		dir:      filepath.Join(t.TempDir(), "primary"),
		key:      filepath.Join(t.TempDir(), "protocol.key"),
	}
	newUser(t).succeeds(nil, append([]string{"init", l.dir}, l.load.allocations()...)...)
	key, err := os.ReadFile(filepath.Join(l.dir, "protocol.key"))
	if err := errors.Join(err, os.WriteFile(l.key, key, 0o600)); err != nil {
		t.Fatal(err)
	}
	l.first = startAt(t, l.address, "node", "--data-dir", l.dir, "--block-time", "200ms")
	for i := range l.replicas {
		l.dirs[i] = filepath.Join(t.TempDir(), "replica")
		l.replicas[i] = start(t, "node", "--data-dir", l.dirs[i], "--mode", "replica",
			"--genesis", filepath.Join(l.dir, "genesis.json"), "--upstream", "http://"+l.address)
		l.awaitSynced(l.replicas[i])
	}
	return l
}

// ahead returns the number of the replica that has the most blocks.
func (l *lostPrimary) ahead() int {
	l.t.Helper()
	var heights [2]types.Height
	for i, r := range l.replicas {
		status, err := l.client(r).SyncStatus(l.t.Context())
		if err != nil {
			l.t.Fatal(err)
		}
		heights[i] = status.LocalHeight
	}
	if heights[1] > heights[0] {
		return 1
	}
	return 0
}

// promoteAhead promotes the replica that has most blocks, and returns its number. It may turn out to be the other one,
// if that was still executing received blocks: then the promotion says so.
func (l *lostPrimary) promoteAhead() int {
	l.t.Helper()
	next := l.ahead()
	for refused := false; ; refused = true {
		if err := l.replicas[next].Stop(); err != nil {
			l.t.Fatal(err)
		}
		promoted := newUser(l.t).run("promote", "--from-dead", "--yes", "--data-dir", l.dirs[next],
			"--protocol-key", l.key, "--replica", l.replicas[1-next].RPC)
		switch {
		case promoted.code == exitDone:
			return next
		case refused || !strings.Contains(promoted.stderr, "it has block"):
			l.t.Fatal(promoted)
		}
		l.replicas[next] = start(l.t, "node", "--data-dir", l.dirs[next], "--mode", "replica",
			"--upstream", "http://"+l.address)
		next = 1 - next
	}
}

// TestPrimaryIsLost loses a primary under load, with its disk. A replica is promoted with a copy of the key, and takes
// the primary's address: there is one chain, and it includes every acknowledged transaction. The old primary returns
// with an older copy and the key, and makes no block. It holds, or it halts if it has a block that it never reported.
func TestPrimaryIsLost(t *testing.T) {
	t.Parallel()
	l := newLostPrimary(t)
	l.load.chainID = chainIDOf(t, l.client(l.first))
	m, err := newModel(t.Context(), l.client(l.first))
	if err != nil {
		t.Fatal(err)
	}
	sending, stop := context.WithCancel(t.Context())
	defer stop()
	sent := make(chan error, loadConnections)
	for i := range loadConnections {
		go func() { sent <- l.load.connection(sending, l.replicas[i%2].RPC, i) }()
	}
	l.awaitLoad(300)
	l.first.Kill() // with acknowledged transactions that are in no block
	older := filepath.Join(t.TempDir(), "older")
	if err := errors.Join(os.CopyFS(older, os.DirFS(l.dir)), os.RemoveAll(l.dir)); err != nil {
		t.Fatal(err)
	}
	stop()
	for range loadConnections {
		if err := <-sent; err != nil {
			t.Error(err)
		}
	}
	next := l.promoteAhead()
	l.first = startAt(t, l.address, "node", "--data-dir", l.dirs[next], "--block-time", "200ms", "--protocol-key", l.key)
	l.next = l.replicas[1-next]

	back := start(t, "node", "--data-dir", older, "--mode", "replica", "--upstream", l.next.RPC,
		"--protocol-key", l.key, "--lock-dir", older)
	l.await(back, "making no block", func(s api.SyncStatus) bool {
		return s.State == api.StateHolding && strings.Contains(*s.Reason, "another node signed block") ||
			s.State == api.StateHalted && strings.Contains(*s.Reason, "signed two blocks of height")
	})
	l.finish(m)
}

// A directory is not promoted while a named replica has more blocks or does not answer.
func TestBehindIsNotPromoted(t *testing.T) {
	t.Parallel()
	l := newLostPrimary(t)
	behind, ahead := l.replicas[0], l.replicas[1]
	if err := behind.Stop(); err != nil {
		t.Fatal(err)
	}
	status, err := l.client(ahead).SyncStatus(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.await(ahead, "further", func(s api.SyncStatus) bool { return s.LocalHeight > status.LocalHeight+1 })
	l.first.Kill()
	promote := []string{"promote", "--from-dead", "--yes", "--data-dir", l.dirs[0], "--protocol-key", l.key, "--replica"}
	if refused := newUser(t).fails(
		exitFailed, append(promote, ahead.RPC)...,
	); !strings.Contains(refused.Message, "it has block") {
		t.Errorf("of one that is ahead it says %q", refused.Message)
	}
	if refused := newUser(t).fails(
		exitUnreachable, append(promote, behind.RPC)...,
	); !strings.Contains(refused.Message, "it does not answer") {
		t.Errorf("of one that is not there it says %q", refused.Message)
	}
	newUser(t).fails(exitUsage, promote[:len(promote)-1]...) // no replica is named
}
