package node

import (
	"fmt"
	"math"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

// Follow is how a node follows another.
type Follow struct {
	datadir.Upstreams
	Refuse bool   // refuse transactions; else they are handed on
	MaxLag uint64 // blocks behind beyond which the node is not ready
}

// maxSilence is how long a node may hear nothing from its upstreams until it is not ready.
const maxSilence = 30 * time.Second

// newReplica makes what follows the chain.
func (n *Node) newReplica() (*replica.Replica, error) {
	sources, err := n.config.Follow.Sources()
	if err != nil {
		return nil, err
	}
	return replica.New(replica.Config{
		Importer:   n.importer,
		Sources:    sources,
		HaltFile:   n.dir.HaltFile(),
		Log:        n.config.Log,
		OnBlocks:   n.imported(),
		OnProducer: n.heardOfProducer,
	})
}

// imported tells the pool, and what observes the node, of blocks that were imported.
func (n *Node) imported() func([]ledger.Block) error {
	observe := observeBlocks(n.telemetry, func() time.Duration { return 0 })
	return func(blocks []ledger.Block) error {
		head := mempool.HeadOf(n.ledger)
		if err := n.pool.Reset(head, ledger.Accesses(blocks)...); err != nil {
			return fmt.Errorf("mempool after block %d: %w", head.Height, err)
		}
		for _, b := range blocks {
			observe(b)
		}
		return nil
	}
}

// follower is what a node that follows another knows of itself.
type follower struct {
	*replica.Replica
	elsewhere string // why it makes no blocks though it has the producer's key; else empty
	producer  bool   // whether it is there to make blocks
	maxLag    uint64
}

// PeerCount is the number of upstreams in use.
func (f follower) PeerCount() (count uint64) {
	for _, u := range f.Status().Upstreams {
		if u.InUse {
			count++
		}
	}
	return count
}

// condition is what the node does about new blocks. It is ready while it is near enough to those that it follows.
func (f follower) condition(status replica.Status) condition {
	behind := status.InContact && status.Behind() > f.maxLag
	halted := status.State == replica.StateHalted
	c := condition{syncStates[status.State], status.Reason, !halted && status.Silence <= maxSilence && !behind}
	switch {
	case f.elsewhere != "" && !halted:
		c = condition{api.StateHolding, f.elsewhere, c.ready && !f.producer}
	case behind && c.reason == "":
		c.reason = fmt.Sprintf("%d blocks behind, at most %d are allowed", status.Behind(), f.maxLag)
	}
	return c
}

// syncStates are a replica's states in the words of the RPC interface.
var syncStates = map[replica.State]api.SyncState{
	replica.StateSyncing:   api.StateSyncing,
	replica.StateFollowing: api.StateFollowing,
	replica.StateHolding:   api.StateHolding,
	replica.StateHalted:    api.StateHalted,
}

// Halted is the cause of a halt.
func (f follower) Halted() string {
	if h := f.Halt(); h != nil {
		return h.Reason
	}
	return ""
}

// SyncStatus is the status as clients see it.
func (f follower) SyncStatus() api.SyncStatus {
	s := f.Status()
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
	c := f.condition(s)
	if status.State = c.state; c.reason != "" {
		status.Reason = &c.reason
	}
	if s.ETAKnown {
		seconds := uint64(math.Ceil(s.ETA.Seconds()))
		status.ETASecs = &seconds
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

// followMetrics are those of a node that follows another.
func followMetrics() []telemetry.Metric[replica.Status] {
	type status = replica.Status
	return []telemetry.Metric[status]{
		telemetry.KnownGauge("sync_blocks_behind", "Blocks that are missing here; absent while no upstream says.", func(
			s status,
		) (uint64, bool) {
			return s.Behind(), s.InContact
		}),
		telemetry.KnownGauge(
			"sync_primary_height",
			"Height of the newest block that an upstream told of; absent while none did.",
			func(s status) (uint64, bool) { return uint64(s.Primary), s.Told },
		),
		telemetry.Gauge("sync_synced", "1 while there is no newer block elsewhere.", func(s status) int {
			return oneIf(s.Synced)
		}),
		telemetry.Gauge("sync_blocks_per_second", "Blocks imported a second, over the last 20 s.", func(s status) float64 {
			return s.Rate
		}),
		telemetry.KnownGauge("sync_silence_seconds", "Time since an upstream answered; absent while none did.", func(
			s status,
		) (float64, bool) {
			return s.Silence.Seconds(), s.Told
		}),
		telemetry.Gauges("sync_upstream_in_use", "1 for the upstream that blocks come from.", "upstream", func(
			s status,
		) map[string]int {
			inUse := make(map[string]int, len(s.Upstreams))
			for _, u := range s.Upstreams {
				inUse[u.URL] = oneIf(u.InUse)
			}
			return inUse
		}),
		telemetry.Counters("sync_upstream_faults_total", "Times that an upstream was left, by cause.", "cause", func(
			s status,
		) map[string]uint64 {
			faults := make(map[string]uint64)
			for _, u := range s.Upstreams {
				for cause, count := range u.Faults {
					faults[string(cause)] += count
				}
			}
			return faults
		}),
	}
}

// SyncStatus tells how far the node is, and whether it follows another.
func (n *Node) SyncStatus() (status api.SyncStatus, follows bool) {
	return n.rpc.Feed().SyncStatus(), !n.produces.Load()
}
