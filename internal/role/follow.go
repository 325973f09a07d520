package role

import (
	"context"
	"fmt"
	"math"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/types"
)

// Following configures how a node follows others.
type Following struct {
	datadir.Upstreams
	Refuse bool   // refuse transactions instead of handing them on
	MaxLag uint64 // blocks behind beyond which the node is not ready
}

// Follow is the configuration of a node that follows another and makes no blocks.
type Follow struct {
	Following
	Mode api.Mode // [api.ModeReplica] or [api.ModeArchive]
}

// Open implements [Config].
func (c Follow) Open(parts Parts) (Role, error) {
	f := &follow{base: &base{Parts: parts}, config: c.Following, mode: c.Mode, elsewhere: func() string { return "" }}
	if !f.config.Refuse && !parts.Dir.Options().Chain.Stateless { // without a state it cannot keep transactions
		f.Mempool.Journal = parts.Dir.Journal()
	}
	err := f.openPool()
	if err == nil {
		err = f.open(nil)
	}
	return opened(f, err)
}

// maxSilence is the time without an answer from its upstreams after which a node is not ready.
const maxSilence = 30 * time.Second

// follow is an open [Follow], or the following part of [Turns].
type follow struct {
	*base
	rpc.Sender // hands transactions on, or refuses them
	config     Following
	mode       api.Mode
	elsewhere  func() string // reason to make no blocks despite the producer's key, or ""
	replica    *replica.Replica
	forwarder  *replica.Forwarder
}

// open opens the replica and the forwarder. onProducer is documented at [replica.Config].
func (f *follow) open(onProducer func(types.PublicKey, types.Height) error) error {
	sources, err := f.config.Sources()
	if err != nil {
		return err
	}
	f.replica, err = replica.New(replica.Config{
		Importer:   f.Importer,
		Sources:    sources,
		HaltFile:   f.Dir.HaltFile(),
		Log:        f.Log,
		OnBlocks:   f.imported(),
		OnProducer: onProducer,
	})
	if err != nil {
		return err
	}
	f.forwarder = replica.NewForwarder(f.replica, f.pool)
	f.Sender = f.forwarder
	if f.config.Refuse {
		f.Sender = replica.NewRefuser(f.replica)
	}
	telemetry.Register(f.Telemetry, f.replica.Status, followMetrics()...)
	return nil
}

// imported returns a function that updates the pool and the telemetry after the import of blocks.
func (f *follow) imported() func([]ledger.Block) error {
	observe := observeBlocks(f.Telemetry, func() time.Duration { return 0 })
	return func(blocks []ledger.Block) error {
		head := mempool.HeadOf(f.Ledger)
		if err := f.pool.Reset(head, ledger.Accesses(blocks)...); err != nil {
			return fmt.Errorf("mempool after block %d: %w", head.Height, err)
		}
		for _, b := range blocks {
			observe(b)
		}
		return nil
	}
}

// Run imports blocks, with their proofs if they are relayed, and sends pending transactions again to the node that
// makes the blocks.
func (f *follow) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return f.replica.Run(ctx) })
	group.Go(func() error { return f.forwarder.Resend(ctx) })
	if f.Relay {
		group.Go(func() error { return f.relay(ctx) })
	}
	return group.Wait()
}

// relay fetches proofs from upstreams until ctx ends.
func (f *follow) relay(ctx context.Context) error {
	defer f.Proofs.Await(nil)
	group, relaying := errgroup.WithContext(ctx)
	group.Go(func() error { return f.replica.RelayProofs(relaying, f.Proofs) })
	group.Go(func() error { return f.replica.RelayRanges(relaying, f.Proofs) })
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // it was asked to end
}

// Close implements [Role].
func (f *follow) Close() error {
	f.closeReplica()
	return f.close()
}

func (f *follow) closeReplica() {
	if f.replica != nil {
		f.replica.Close()
	}
}

func (f *follow) State() (api.SyncState, string) { return f.Condition().state() }
func (f *follow) Following() rpc.Following       { return f }
func (f *follow) Follows() bool                  { return true }
func (f *follow) Condition() Condition           { return f.condition(f.replica.Status()) }
func (f *follow) Facts() []Fact                  { return append(f.Condition().facts(), f.upstreamFact()) }
func (f *follow) Primary() string                { return f.replica.Primary() }

// Mode implements [rpc.Node]. A former primary that has handed over is a replica.
func (f *follow) Mode() api.Mode {
	if f.mode == api.ModePrimary {
		return api.ModeReplica
	}
	return f.mode
}

// PeerCount returns the number of upstreams in use.
func (f *follow) PeerCount() (count uint64) {
	for _, u := range f.replica.Status().Upstreams {
		if u.InUse {
			count++
		}
	}
	return count
}

// condition returns the condition for a replica's status. The node is ready while it is close enough to its upstreams.
func (f *follow) condition(status replica.Status) Condition {
	behind := status.InContact && status.Behind() > f.config.MaxLag
	halted := status.State == replica.StateHalted
	c := Condition{syncStates[status.State], status.Reason, !halted && status.Silence <= maxSilence && !behind}
	switch elsewhere := f.elsewhere(); {
	case elsewhere != "" && !halted:
		c = Condition{api.StateHolding, elsewhere, c.Ready && f.mode != api.ModePrimary}
	case behind && c.Reason == "":
		c.Reason = fmt.Sprintf("%d blocks behind (maximum for readiness: %d)", status.Behind(), f.config.MaxLag)
	}
	return c
}

// syncStates maps a replica's states to the API's.
var syncStates = map[replica.State]api.SyncState{
	replica.StateSyncing:   api.StateSyncing,
	replica.StateFollowing: api.StateFollowing,
	replica.StateHolding:   api.StateHolding,
	replica.StateHalted:    api.StateHalted,
}

// Halted returns the reason of a halt, or "".
func (f *follow) Halted() string {
	if h := f.replica.Halt(); h != nil {
		return h.Reason
	}
	return ""
}

// SyncStatus implements [rpc.Following].
func (f *follow) SyncStatus() api.SyncStatus {
	s := f.replica.Status()
	c := f.condition(s)
	status := api.SyncStatus{
		Synced:               s.Synced,
		LocalHeight:          s.Local,
		SyncRateBlocksPerSec: api.Ratio(uint64(1000*s.Rate), 1000),
		Upstreams:            make([]api.Upstream, len(s.Upstreams)),
	}
	if s.Told {
		status.PrimaryHeight = &s.Primary
	}
	if s.InContact {
		status.BlocksBehind = new(s.Behind())
	}
	if status.State = c.State; c.Reason != "" {
		status.Reason = &c.Reason
	}
	if s.ETAKnown {
		status.ETASecs = new(uint64(math.Ceil(s.ETA.Seconds())))
	}
	for i, u := range s.Upstreams {
		status.Upstreams[i] = api.Upstream{URL: u.URL, InUse: u.InUse}
		if u.Told {
			status.Upstreams[i].Height = new(u.Height)
		}
		if u.Fault != "" {
			status.Upstreams[i].Fault = new(string(u.Fault))
		}
	}
	return status
}
