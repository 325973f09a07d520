package role

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/rpc"
)

// Turns is the configuration of a node with a producer's key and an upstream. It makes blocks while the chain's
// parameters name its key, and follows while they name another. The change is a transaction (docs/protocol.md,
// "Parameters"), and the old producer cannot sign a block after it. So two nodes never make blocks of the same height,
// even if each checks only its own chain.
type Turns struct {
	Production
	Following
	Mode api.Mode // a primary also makes blocks if its upstreams are silent, and is not ready while it may make none
}

// turnInterval is the time between two checks for the end of the node's turn.
const turnInterval = 50 * time.Millisecond

// silence is the time without an answer from its upstreams after which a primary makes blocks without them.
const silence = 5 * time.Second

// returning is the minimum time that a node follows if its key was in force when it began to follow. Another node may
// have made blocks with that key meanwhile. The upstreams know of them only after they have found that node.
const returning = replica.LongestBackoff + 2*time.Second

// Open implements [Config].
func (c Turns) Open(parts Parts) (Role, error) {
	t := &turns{solo: &solo{base: &base{Parts: parts}, config: c.Production}}
	t.follow = &follow{base: t.base, config: c.Following, mode: c.Mode, elsewhere: t.elsewhere}
	err := t.open(true)
	if err == nil {
		t.Importer = watched{t.Importer, t.solo}
		err = t.follow.open(t.checkConflict)
	}
	return opened(t, err)
}

// turns is an open [Turns].
type turns struct {
	*solo
	follow   *follow
	produces atomic.Bool // whether it is solo's turn; at the start the node first asks its upstreams
}

// now returns the role whose turn it is.
func (t *turns) now() Role {
	if t.produces.Load() {
		return t.solo
	}
	return t.follow
}

func (t *turns) Mode() api.Mode                 { return t.now().Mode() }
func (t *turns) PeerCount() uint64              { return t.now().PeerCount() }
func (t *turns) State() (api.SyncState, string) { return t.now().State() }
func (t *turns) Condition() Condition           { return t.now().Condition() }
func (t *turns) Facts() []Fact                  { return t.now().Facts() }
func (t *turns) Following() rpc.Following       { return t.now().Following() }
func (t *turns) Follows() bool                  { return t.now().Follows() }
func (t *turns) interval() time.Duration        { return t.now().interval() }

// Run implements [Role].
func (t *turns) Run(ctx context.Context) error {
	for {
		run, over := t.turn()
		err := RunUntil(ctx, run, over)
		if err != nil || ctx.Err() != nil {
			return err
		}
		produces := !t.produces.Load()
		if produces {
			if err := t.raise(); err != nil {
				return err
			}
			if t.elsewhere() != "" {
				t.logConflict()
				continue
			}
		}
		t.produces.Store(produces)
		if produces && t.Unproven {
			t.Log.Warn("the blocks of this node are not proven: it runs with --prove off")
		}
		t.Log.Warn("handover: the producer has changed", "height", t.Store.Head().Header.Height, "this node produces", produces)
	}
}

// turn returns the function to run now, and the function that reports its end.
func (t *turns) turn() (run func(context.Context) error, over func() bool) {
	if t.produces.Load() {
		return t.Solo.Run, func() bool { return t.Status().State == sequencer.Holding }
	}
	begun, inForce := time.Now(), t.Status().State == sequencer.Producing
	return t.follow.Run, func() bool {
		if t.Status().State != sequencer.Producing || t.follow.replica.Halt() != nil {
			return false
		}
		// While blocks are missing, the parameters are out of date: this key may have signed the missing blocks.
		status := t.follow.replica.Status()
		alone := t.follow.mode == api.ModePrimary && min(status.Silence, time.Since(begun)) > silence
		return status.Synced && !(inForce && time.Since(begun) < returning) || alone
	}
}

// RunUntil calls run with a context that ends when ctx ends or over returns true.
func RunUntil(ctx context.Context, run func(context.Context) error, over func() bool) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer end()
		return run(ctx)
	})
	group.Go(func() error {
		defer end()
		ticker := time.NewTicker(turnInterval)
		defer ticker.Stop()
		for !over() {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return nil
			}
		}
		return nil
	})
	return group.Wait()
}

// AddMany adds transactions to the pool while the node makes blocks or is about to, and hands them on while it follows.
func (t *turns) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	switch state := t.Status().State; {
	case state != sequencer.Producing && !t.produces.Load():
		return t.follow.AddMany(ctx, encoded, source)
	case state == sequencer.Holding: // it has just handed over, and hands on the transactions in its pool
		return t.pool.AddMany(ctx, encoded, source)
	}
	return t.solo.AddMany(ctx, encoded, source)
}

// Close implements [Role].
func (t *turns) Close() error {
	t.follow.closeReplica()
	return t.solo.Close()
}
