package node

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/storage/signstate"
	"github.com/cairn-chain/cairn/types"
)

// network is a new network's producer, which makes blocks on request and is restarted repeatedly.
type network struct {
	Config
	role.Production
	role.Following
	dir string
	key crypto.PrivateKey // the producer's
}

func newNetwork(t *testing.T) network {
	t.Helper()
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	dir := filepath.Join(t.TempDir(), "chain")
	genesis, err := datadir.InitNetwork(dir, datadir.NewNetwork{
		Network: types.Regtest, ChainID: 7, Time: 1_700_000_000_000, Key: key, Admin: key,
	})
	check(t, err)
	genesis.Parameters.Notice = 0
	return network{
		dir:        dir,
		key:        key,
		Production: role.Production{Key: role.LocalKey(key), BlockTime: sequencer.Manual},
		Config: Config{
			Chain:   datadir.Chain{Genesis: &genesis},
			Serving: Serving{RPCAddr: "127.0.0.1:0", AdminAddr: "127.0.0.1:0"},
			Log:     slog.New(slog.DiscardHandler),
		},
	}
}

// role returns the role of a primary with a key, which may follow if it has upstreams, or of a replica.
func (c network) role() role.Config {
	switch {
	case c.Key == nil:
		return role.Follow{Following: c.Following, Mode: api.ModeReplica}
	case len(c.URLs) == 0:
		return role.Solo{Production: c.Production}
	}
	return role.Turns{Production: c.Production, Following: c.Following, Mode: api.ModePrimary}
}

// open makes a node.
func (c network) open(t *testing.T) (*Node, error) {
	t.Helper()
	dir, err := datadir.Open(c.dir, datadir.Options{})
	check(t, err)
	c.Config.Role = c.role()
	return New(dir, c.Config)
}

// maker is a role with a producer's key.
type maker interface {
	role.Role
	Mine(ctx context.Context, count uint64) error
	SetNextBlockTime(unix uint64) error
	Status() sequencer.Status
}

// makerOf is the role of a node with a producer's key.
func makerOf(n *Node) maker { return n.role.(maker) }

// run runs a node until end is called.
func (c network) run(t *testing.T) (n *Node, end func()) {
	t.Helper()
	n, err := c.open(t)
	check(t, err)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return n, sync.OnceFunc(func() {
		t.Helper()
		stop()
		check(t, <-ended)
	})
}

// made produces the given number of blocks and returns the newest.
func (c network) made(t *testing.T, blocks uint64) types.SignedHeader {
	t.Helper()
	n, end := c.run(t)
	defer end()
	check(t, makerOf(n).Mine(t.Context(), blocks))
	return n.store.Head()
}

// following returns a replica of a node, in its own directory.
func (c network) following(t *testing.T, of *Node) network {
	t.Helper()
	c.dir, c.Key = t.TempDir(), nil
	c.URLs = []string{of.RPCURL()}
	return c
}

// copyOf copies a directory.
func copyOf(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	check(t, os.CopyFS(to, os.DirFS(dir)))
	return to
}

// replace replaces a directory by a copy.
func replace(t *testing.T, dir, by string) {
	t.Helper()
	check(t, os.RemoveAll(dir))
	check(t, os.CopyFS(dir, os.DirFS(by)))
}

func (c network) lockPath(t *testing.T, in string) string {
	t.Helper()
	hash, err := datadir.GenesisHash(*c.Chain.Genesis)
	check(t, err)
	key := c.Key.PublicKey()
	return filepath.Join(in, fmt.Sprintf("signed-%x-%x", key[:4], hash[:8]))
}

// held returns the block in the sign state of the key in the directory.
func (c network) held(t *testing.T) signstate.Block {
	t.Helper()
	dir, err := datadir.OpenChain(c.dir, datadir.Options{})
	check(t, err)
	lock, err := dir.KeyLock(c.Key.PublicKey(), c.LockDir)
	check(t, err)
	check(t, lock.Close())
	check(t, dir.Close())
	return lock.Last()
}

// refused is the error of a node that does not start because blocks are lost.
func (c network) refused(t *testing.T) string {
	t.Helper()
	n, err := c.open(t)
	if err == nil {
		check(t, n.Close())
	}
	if !errors.Is(err, datadir.ErrBlocksLost) {
		t.Fatalf("it starts, or says %v, want %v", err, datadir.ErrBlocksLost)
	}
	return err.Error()
}

// A node does not continue with a database that lacks the last signed block, an older copy or one that lost its end,
// without an operator's consent; nor with the whole directory if the lock is elsewhere.
func TestOlderCopyIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ elsewhere, whole bool }{
		"the database, the lock in the data directory": {false, false},
		"the database, the lock elsewhere":             {true, false},
		"the whole directory, the lock elsewhere":      {true, true},
	} {
		t.Run(name, func(t *testing.T) {
			config := newNetwork(t)
			in := config.dir
			if c.elsewhere {
				config.LockDir = t.TempDir()
				in = config.LockDir
			}
			config.made(t, 3)
			copied, older := config.dir, copyOf(t, config.dir)
			if !c.whole {
				copied, older = filepath.Join(copied, "db"), filepath.Join(older, "db")
			}
			signed := config.made(t, 1)
			config.made(t, 0) // restarted
			replace(t, copied, older)
			said := config.refused(t)
			for _, part := range []string{
				"block 4, " + signed.Header.Hash().String(), "ends at block 3", "--upstream", config.lockPath(t, in),
			} {
				if !strings.Contains(said, part) {
					t.Errorf("it says %q, without %q", said, part)
				}
			}
			check(t, os.Remove(config.lockPath(t, in)))
			config.promote(t)
			if head := config.made(t, 1); head.Header.Height != 4 {
				t.Errorf("told to go on it has block %d, want 4", head.Header.Height)
			}
		})
	}
}

// If the key signed another block at a height of the chain, the chain is refused, even with an upstream.
func TestOtherChainOfTheSameKeyIsRefused(t *testing.T) {
	config := newNetwork(t)
	config.LockDir = t.TempDir()
	empty := copyOf(t, config.dir)
	config.made(t, 2)
	replace(t, config.dir, empty)
	other := config
	other.LockDir = t.TempDir()
	n, end := other.run(t)
	check(t, makerOf(n).SetNextBlockTime(1_800_000_000))
	check(t, makerOf(n).Mine(t.Context(), 3))
	end()
	for _, upstreams := range [][]string{nil, {"http://127.0.0.1:1"}} {
		config.URLs = upstreams
		if said := config.refused(t); !strings.Contains(said, "block 2, ") || !strings.Contains(said, "another one") {
			t.Errorf("it says %q", said)
		}
	}
}

// A producer whose database lost blocks gets them from a replica, and makes the next one after them. If the replica
// lacks some, the producer makes none.
func TestLostBlocksComeFromAReplica(t *testing.T) {
	for name, had := range map[string]types.Height{"all": 5, "not the last": 4} {
		t.Run(name, func(t *testing.T) {
			config := newNetwork(t)
			db := filepath.Join(config.dir, "db")
			config.made(t, 3)
			older := copyOf(t, db)
			primary, end := config.run(t)
			following := config.following(t, primary)
			replica, endReplica := following.run(t)
			defer func() { endReplica() }()
			check(t, makerOf(primary).Mine(t.Context(), uint64(had)-3))
			check(t, replica.store.WaitHeight(t.Context(), had))
			if had < 5 {
				endReplica() // it does not receive later blocks
			}
			check(t, makerOf(primary).Mine(t.Context(), 5-uint64(had)))
			signed := primary.store.Head()
			end()
			replace(t, db, older)
			if had < 5 {
				following.URLs = []string{"http://127.0.0.1:1"}
				replica, endReplica = following.run(t)
			}
			config.URLs = []string{replica.RPCURL()}
			again, end := config.run(t)
			defer end()
			check(t, again.store.WaitHeight(t.Context(), had))
			if had < 5 {
				if status := makerOf(again).Status(); status.State != sequencer.Holding ||
					!strings.Contains(status.Reason, signed.Header.Hash().String()) {
					t.Errorf("got %+v", status)
				}
				return
			}
			check(t, makerOf(again).Mine(t.Context(), 1)) // it waits for its turn
			header, err := again.store.Header(5)
			if err != nil || header != signed || again.store.Head().Header.Height != 6 {
				t.Errorf("block 5 is %s (%v), the head %d", header.Header.Hash(), err, again.store.Head().Header.Height)
			}
		})
	}
}

// A chain that continues has its head in the sign state from the start on, even if the last block had not been
// recorded.
func TestLockIsRaisedAtTheStart(t *testing.T) {
	config := newNetwork(t)
	config.made(t, 2)
	lock := config.lockPath(t, config.dir)
	before, err := os.ReadFile(lock)
	check(t, err)
	head := config.made(t, 1)
	check(t, os.WriteFile(lock, before, 0o600)) // as a crash between block and lock leaves it
	n, err := config.open(t)
	check(t, err)
	check(t, n.Close())
	if last := config.held(t); last.Height != 3 || last.Hash != head.Header.Hash() {
		t.Errorf("it holds %+v", last)
	}
}

// promote states for a directory that no other node has its key any more.
func (c network) promote(t *testing.T) {
	t.Helper()
	dir, err := datadir.OpenChain(c.dir, datadir.Options{})
	check(t, err)
	check(t, dir.Promote(c.Key.PublicKey(), c.LockDir))
	check(t, dir.Close())
}

// holds fails the test unless a node holds because another one used its key.
func holds(t *testing.T, n *Node) {
	t.Helper()
	const want = "another node signed block"
	if status := makerOf(n).Status(); status.State != sequencer.Holding || !strings.Contains(status.Reason, want) {
		t.Errorf("the sequencer: %+v, not %q", status, want)
	}
	if state, reason := n.role.State(); state != "holding" || !strings.Contains(reason, want) {
		t.Errorf("it tells %s, %q", state, reason)
	}
	if ready, reason := n.ready(); ready || !strings.Contains(reason, want) {
		t.Errorf("ready %t, %q", ready, reason)
	}
}

// A node that finds blocks signed with its key that it did not make produces none until an operator confirms, and says
// why: at once, after a restart, and after a restart without the upstream that had them.
func TestKeyUsedElsewhereHolds(t *testing.T) {
	for name, blocks := range map[string]uint64{
		"followed":                  2,
		"followed, one":             1, // as many as a crash could have kept out of the sign state
		"followed, from a replica":  1, // the other node does not report that it makes blocks
		"none, the copy makes them": 0,
		"in its database":           3,
	} {
		t.Run(name, func(t *testing.T) {
			config := newNetwork(t)
			config.made(t, 3)
			copied := config
			copied.dir = copyOf(t, config.dir)
			switch name {
			case "in its database":
				copied.made(t, blocks)
				replace(t, filepath.Join(config.dir, "db"), filepath.Join(copied.dir, "db"))
			default:
				second, end := copied.run(t)
				check(t, makerOf(second).Mine(t.Context(), blocks))
				following := config
				following.URLs = []string{second.RPCURL()}
				if name == "followed, from a replica" {
					replica, endReplica := config.following(t, second).run(t)
					defer endReplica()
					check(t, replica.store.WaitHeight(t.Context(), 3+types.Height(blocks)))
					following.URLs = []string{replica.RPCURL()}
				}
				n, endFollowing := following.run(t)
				if blocks == 0 {
					for n.role.Following().SyncStatus().PrimaryHeight == nil {
						runtime.Gosched() // until the node learns of the other one
					}
				}
				check(t, n.store.WaitHeight(t.Context(), 3+types.Height(blocks)))
				holds(t, n)
				endFollowing()
				end()
			}
			n, end := config.run(t)
			defer end()
			holds(t, n)
			if err := makerOf(n).Mine(t.Context(), 1); !errors.Is(err, sequencer.ErrNotProducing) {
				t.Errorf("asked for a block it says %v, want %v", err, sequencer.ErrNotProducing)
			}
			head := n.store.Head().Header.Height
			end()
			config.promote(t)
			if made := config.made(t, 1); made.Header.Height != head+1 {
				t.Errorf("told to go on it has block %d after %d", made.Header.Height, head)
			}
		})
	}
}

// A node whose key signed blocks of its chain and has no sign state does not start, and no conflicting signer is
// reported. With or without an upstream it works again after a promotion.
func TestMissingLockIsNotGoneOnWithout(t *testing.T) {
	for _, upstreams := range [][]string{nil, {"http://127.0.0.1:1"}} {
		config := newNetwork(t)
		config.made(t, 3)
		lock := config.lockPath(t, config.dir)
		check(t, os.Remove(lock))
		following := config
		following.URLs = upstreams
		for range 2 { // the first start makes no block
			_, err := following.open(t)
			if !errors.Is(err, datadir.ErrUnrecorded) || !strings.HasPrefix(err.Error(), "the key's sign state (double-sign "+
				"protection) is missing") || strings.Contains(err.Error(), "another node") {
				t.Fatalf("upstreams %q: it says %v", upstreams, err)
			}
		}
		config.promote(t)
		if made := config.made(t, 1); made.Header.Height != 4 {
			t.Errorf("told to go on it has block %d after 3", made.Header.Height)
		}
	}
}

// A key that has signed nothing on a chain begins with the chain's present head: production is handed over to it.
func TestNewKeyNeedsNoLock(t *testing.T) {
	config := newNetwork(t)
	config.made(t, 3)
	key, err := crypto.GenerateKey(rand.Reader)
	check(t, err)
	config.Key = role.LocalKey(key)
	n, err := config.open(t)
	check(t, err)
	check(t, n.Close())
	if last := config.held(t); last.Height != 3 {
		t.Errorf("its lock holds block %d, want the head, 3", last.Height)
	}
}

// A development chain may be reverted at will, so no lock is taken.
func TestDevelopmentChainHasNoLock(t *testing.T) {
	dir := t.TempDir()
	_, end := runDevelopment(t, dir)
	end()
	if found, err := filepath.Glob(filepath.Join(dir, "signed-*")); err != nil || len(found) > 0 {
		t.Errorf("got %v, error %v", found, err)
	}
}
