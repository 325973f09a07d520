package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/quarantine"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/jsonrpc"
	"github.com/cairn-chain/cairn/types"
)

// A node that has a producer's key and an upstream takes turns: it makes blocks while the chain's parameters name its
// key, and follows while they name another. The change is a transaction (docs/protocol.md, "Parameters"), and the old
// producer cannot sign a block after it. So two nodes that both look only at their own chain never make blocks of one
// height.

// roleInterval is the time between two looks at whether the node's turn is over.
const roleInterval = 50 * time.Millisecond

// silence is how long a primary waits for an upstream to tell what there is, before it makes blocks without.
const silence = 5 * time.Second

// returning is how long a node follows whose key was in force when it began to. Another one may have made blocks with
// that key meanwhile, which its upstreams know of once they have found that one.
const returning = replica.LongestBackoff + 2*time.Second

// newEngine makes what gives the chain its blocks: a sequencer where there is a key, a replica where there is an
// upstream.
func (n *Node) newEngine() (err error) {
	if n.member != nil {
		return n.newMember()
	}
	if len(n.config.Follow.URLs) > 0 {
		if n.replica, err = n.newReplica(); err != nil {
			return err
		}
		n.forwarder = replica.NewForwarder(n.replica, n.pool)
		telemetry.Register(n.telemetry, n.replica.Status, followMetrics()...)
	}
	if n.config.Key != nil {
		n.sequencer = sequencer.New(n.maker, n.pool, n.book, n.config.Key, systemClock{}, n.config.BlockTime)
		n.sequencer.OnBlock = observeBlocks(n.telemetry, n.sequencer.BlockTime)
		n.sequencer.OnLeftOut, n.sequencer.OnDebug, n.sequencer.Note = n.observeLeftOut, n.config.OnDebug, n.note
		if n.config.Development != nil {
			n.sequencer.Continue()
		}
		if n.keyLock != nil {
			n.sequencer.LockWith(n.keyLock.State)
		}
		if n.signer != nil {
			n.sequencer.AskSigner(n.dir.Unsigned(), n.config.Log)
		}
	}
	n.produces.Store(n.replica == nil) // with an upstream it first hears from that what there is
	if n.replica == nil {
		if status := n.sequencer.Status(); status.State != sequencer.Producing {
			n.config.Log.Warn("this node makes no blocks", "reason", status.Reason)
		}
	}
	return nil
}

// runEngine makes or imports blocks until ctx ends.
func (n *Node) runEngine(ctx context.Context) error {
	switch {
	case n.member != nil:
		return n.member.run(ctx)
	case n.replica == nil:
		return n.sequencer.Run(ctx)
	case n.sequencer == nil:
		return n.follow(ctx)
	}
	for {
		run, over := n.turn()
		err := runUntil(ctx, run, over)
		if err != nil || ctx.Err() != nil {
			return err
		}
		produces := !n.produces.Load()
		if produces {
			if err := n.raiseKeyLock(); err != nil {
				return err
			}
			if n.elsewhere() != "" {
				n.tellOfElsewhere()
				continue
			}
		}
		n.produces.Store(produces)
		if produces && n.config.Proofs.Off {
			n.config.Log.Warn("nobody proves the blocks that this node makes: it runs with --prove off")
		}
		n.config.Log.Warn("the producer has changed", "height", n.store.Head().Header.Height, "this node produces", produces)
	}
}

// turn is what the node does now, and when it is over.
func (n *Node) turn() (run func(context.Context) error, over func() bool) {
	if n.produces.Load() {
		return n.sequencer.Run, func() bool { return n.sequencer.Status().State == sequencer.Holding }
	}
	begun, inForce := time.Now(), n.sequencer.Status().State == sequencer.Producing
	return n.follow, func() bool {
		if n.sequencer.Status().State != sequencer.Producing || n.replica.Halt() != nil {
			return false
		}
		// While blocks are missing here the parameters are those of an earlier time: this key may have signed the next ones.
		status := n.replica.Status()
		alone := n.config.Mode == api.ModePrimary && min(status.Silence, time.Since(begun)) > silence
		return status.Synced && !(inForce && time.Since(begun) < returning) || alone
	}
}

// follow imports blocks until ctx ends, and sends what waits for one to the node that makes them.
func (n *Node) follow(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return n.replica.Run(ctx) })
	group.Go(func() error { return n.forwarder.Resend(ctx) })
	return group.Wait()
}

// runUntil runs until ctx ends or over tells so.
func runUntil(ctx context.Context, run func(context.Context) error, over func() bool) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer end()
		return run(ctx)
	})
	group.Go(func() error {
		defer end()
		ticker := time.NewTicker(roleInterval)
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

// sends is where the transactions go that clients send.
func (n *Node) sends() rpc.Sender {
	s := sender{node: n}
	if n.member != nil {
		return n.member.service
	}
	switch {
	case n.replica == nil:
	case n.config.Follow.Refuse:
		s.following = replica.NewRefuser(n.replica)
	default:
		s.following = n.forwarder
	}
	return s
}

// sender takes what clients send: where it goes depends on whether the node makes the blocks at the moment.
type sender struct {
	node      *Node
	following rpc.Sender // of a node that follows another at times; else nil
}

// AddMany takes transactions where the node makes blocks, or is about to. Where no block can have them they are
// refused: what is acknowledged would wait in vain.
func (s sender) AddMany(ctx context.Context, encoded [][]byte, source string) []mempool.Result {
	if s.node.sequencer == nil {
		return s.following.AddMany(ctx, encoded, source)
	}
	produces, state := s.node.produces.Load(), s.node.sequencer.Status().State
	switch {
	case state == sequencer.Producing:
	case !produces:
		return s.following.AddMany(ctx, encoded, source)
	case state == sequencer.Halted:
		return refused(encoded,
			jsonrpc.NewError(api.CodeHalted, api.ErrHalted.Message, "reason", api.ErrHalted.Data["reason"],
				"cause", replica.UnknownVersion, "height", s.node.store.Head().Header.Height))
	case s.following == nil: // another node produces, and which is not known here
		return refused(encoded, api.ErrReadOnly)
	}
	// With an upstream a producer that has handed over just now hands on what it takes.
	return s.node.pool.AddMany(ctx, encoded, source)
}

// refused refuses all transactions.
func refused(encoded [][]byte, err error) []mempool.Result {
	results := make([]mempool.Result, len(encoded))
	for i := range results {
		results[i].Err = err
	}
	return results
}

// admit is the pool's [mempool.Options].Admit.
func (n *Node) admit(tx *types.Transaction) error {
	err := n.book.Check(tx.Sender, func() (types.CodeHash, error) { return sequencer.CodeOf(n.ledger, tx.Payload) })
	if errors.Is(err, quarantine.ErrQuarantined) || errors.As(err, new(*quarantine.WaitError)) {
		return fmt.Errorf("%w: %w", mempool.ErrSetAside, err)
	}
	return err
}

// self is what the node knows of itself.
type self struct{ *Node }

// Mode is what the node is now: who was a primary and handed over is a replica.
func (s self) Mode() api.Mode {
	switch {
	case s.member != nil:
		return s.member.Mode()
	case s.produces.Load():
		return api.ModePrimary
	case s.config.Mode == api.ModePrimary:
		return api.ModeReplica
	default:
		return s.config.Mode
	}
}

// follower is what the node knows of itself while it follows.
func (s self) follower() follower {
	return follower{s.replica, s.elsewhere(), s.config.Mode == api.ModePrimary, s.config.Follow.MaxLag}
}

// PeerCount is the number of upstreams in use. Those that follow this node are counted where they ask for blocks.
func (s self) PeerCount() uint64 {
	if s.member != nil {
		return s.member.PeerCount()
	}
	if s.produces.Load() {
		return 0
	}
	return s.follower().PeerCount()
}

// State is what the node does about new blocks, and why not.
func (s self) State() (api.SyncState, string) {
	c := s.condition()
	return c.state, c.reason
}

// condition is what a node does about new blocks, whether it may be sent traffic, and why it does not or may not.
// Status and readiness are told by it alone.
type condition struct {
	state  api.SyncState
	reason string
	ready  bool
}

func (n *Node) condition() condition {
	if n.member != nil {
		return n.member.condition()
	}
	if !n.produces.Load() {
		f := self{n}.follower()
		return f.condition(f.Status())
	}
	status := n.sequencer.Status()
	c := condition{api.SyncState(status.State), status.Reason, status.State == sequencer.Producing}
	switch elsewhere, unsigned := n.elsewhere(), n.unsigned(); {
	case !c.ready:
	case elsewhere != "" && n.config.Mode == api.ModePrimary:
		c.reason, c.ready = elsewhere, false
	case unsigned != "":
		c = condition{api.StateHolding, unsigned, false}
	case n.pool.Failing() != nil: // the log says why
		c.reason, c.ready = "transactions are refused: the mempool's journal cannot be written", false
	}
	return c
}

// Following is what the node knows of those that it follows, nil while it makes the blocks itself.
func (s self) Following() rpc.Following {
	if s.member != nil && !s.member.service.Status().Leads {
		return s.member
	}
	if s.member != nil || s.produces.Load() {
		return nil
	}
	return s.follower()
}

// Cluster is what the node knows of its cluster.
func (s self) Cluster() *api.Cluster {
	if s.member == nil {
		return nil
	}
	return s.member.Cluster()
}

// ProducerKey is the key with which the node makes blocks when its turn comes.
func (s self) ProducerKey() (types.PublicKey, bool) {
	if s.config.Key == nil {
		return types.PublicKey{}, false
	}
	return s.config.Key.PublicKey(), true
}
