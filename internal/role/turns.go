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

// Turns is a node that has a producer's key and an upstream: it makes blocks while the chain's parameters name its key,
// and follows while they name another. The change is a transaction (docs/protocol.md, "Parameters"), and the old
// producer cannot sign a block after it. So two nodes that both look only at their own chain never make blocks of one
// height.
type Turns struct {
	Production
	Following
	Mode api.Mode // a primary makes blocks without its upstreams if these say nothing, and is not ready while it must not
}

// turnInterval is the time between two looks at whether the node's turn is over.
const turnInterval = 50 * time.Millisecond

// silence is how long a primary waits for an upstream to tell what there is, before it makes blocks without.
const silence = 5 * time.Second

// returning is how long a node follows whose key was in force when it began to. Another one may have made blocks with
// that key meanwhile, which its upstreams know of once they have found that one.
const returning = replica.LongestBackoff + 2*time.Second

// Open implements [Config].
func (c Turns) Open(parts Parts) (Role, error) {
	t := &turns{solo: &solo{base: &base{Parts: parts}, config: c.Production}}
	t.follow = &follow{base: t.base, config: c.Following, mode: c.Mode, elsewhere: t.elsewhere}
	err := t.open(true)
	if err == nil {
		t.Importer = watched{t.Importer, t.solo}
		err = t.follow.open(t.heardOfProducer)
	}
	return opened(t, err)
}

// turns is a [Turns] that is open.
type turns struct {
	*solo
	follow   *follow
	produces atomic.Bool // whether it is solo's turn; at first it hears from its upstreams what there is
}

// now is the role whose turn it is.
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
				t.tellOfElsewhere()
				continue
			}
		}
		t.produces.Store(produces)
		if produces && t.Unproven {
			t.Log.Warn("nobody proves the blocks that this node makes: it runs with --prove off")
		}
		t.Log.Warn("the producer has changed", "height", t.Store.Head().Header.Height, "this node produces", produces)
	}
}

// turn is what the node does now, and when it is over.
func (t *turns) turn() (run func(context.Context) error, over func() bool) {
	if t.produces.Load() {
		return t.Solo.Run, func() bool { return t.Status().State == sequencer.Holding }
	}
	begun, inForce := time.Now(), t.Status().State == sequencer.Producing
	return t.follow.Run, func() bool {
		if t.Status().State != sequencer.Producing || t.follow.replica.Halt() != nil {
			return false
		}
		// While blocks are missing here the parameters are those of an earlier time: this key may have signed the next ones.
		status := t.follow.replica.Status()
		alone := t.follow.mode == api.ModePrimary && min(status.Silence, time.Since(begun)) > silence
		return status.Synced && !(inForce && time.Since(begun) < returning) || alone
	}
}

// RunUntil runs until ctx ends or over tells so.
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

// AddMany takes transactions where the node makes blocks, or is about to, and hands on what comes while it follows.
func (t *turns) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	switch state := t.Status().State; {
	case state != sequencer.Producing && !t.produces.Load():
		return t.follow.AddMany(ctx, encoded, source)
	case state == sequencer.Holding: // it has handed over just now, and hands on what it takes
		return t.pool.AddMany(ctx, encoded, source)
	}
	return t.solo.AddMany(ctx, encoded, source)
}

// Close implements [Role].
func (t *turns) Close() error {
	t.follow.closeReplica()
	return t.solo.Close()
}
