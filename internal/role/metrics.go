package role

import (
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

// The phases of making a block.
const (
	phaseExecute = "execute"
	phaseTree    = "tree"
	phaseSeal    = "seal"
	phaseAppend  = "append"
)

// Phases returns the phases of making a block in their order.
func Phases() []string { return []string{phaseExecute, phaseTree, phaseSeal, phaseAppend} }

// observeBlocks returns a sequencer.Solo's OnBlock that records metrics and traces.
func observeBlocks(t *telemetry.Telemetry, blockTime func() time.Duration) func(ledger.Block) {
	var last time.Time
	return func(b ledger.Block) {
		timings := b.Timings
		observed := telemetry.Block{
			Height: uint64(b.Header.Header.Height), Transactions: len(b.Included), Gas: uint64(b.Header.Header.GasUsed),
			Start: timings.Start,
			Phases: []telemetry.Phase{
				{Name: phaseExecute, Took: timings.Execute}, {Name: phaseTree, Took: timings.Tree},
				{Name: phaseSeal, Took: timings.Seal}, {Name: phaseAppend, Took: timings.Append},
			},
		}
		if interval := blockTime(); interval > 0 && !last.IsZero() {
			observed.Late = max(0, timings.Start.Sub(last)-interval)
		}
		last = timings.Start
		t.Block(observed)
	}
}

// measured has the inputs of the metrics of every role, in addition to its state.
type measured interface {
	usedElsewhere() bool     // whether another node signed blocks with this node's key
	interval() time.Duration // time between the blocks that this node makes; 0 while it makes none
	unsigned() string
	stopped() map[string]uint64
	telemetry() *telemetry.Telemetry
}

// stopped returns the number of transactions that were stopped during the making of a block, by their fate.
func (b *base) stopped() map[string]uint64 {
	return map[string]uint64{"dropped": b.overdue.dropped.Load(), "deferred": b.overdue.deferred.Load()}
}

// registerMetrics registers the metrics of every role.
func registerMetrics(role Role) {
	telemetry.Register(role.telemetry(), func() Role { return role },
		telemetry.Gauges("node_state", "1 for the node's current state, 0 for the other states.", "state", func(
			r Role,
		) map[string]int {
			states := make(map[string]int)
			for _, s := range []api.SyncState{
				api.StateProducing, api.StateSyncing, api.StateFollowing, api.StateHolding, api.StateHalted,
			} {
				states[string(s)] = 0
			}
			state, _ := r.State()
			states[string(state)] = 1
			return states
		}),
		telemetry.Gauge("key_used_elsewhere", "1 once a conflicting signer was detected: another node signed blocks "+
			"with this node's key (double-sign).",
			func(r Role) int { return oneIf(r.usedElsewhere()) }),
		telemetry.Gauge("block_interval_seconds", "Configured time between blocks; 0 if blocks are made on demand.",
			func(r Role) float64 { return r.interval().Seconds() }),
		telemetry.Counters("block_overdue_total", "Transactions stopped at their time limit, by outcome.", "fate", Role.stopped),
		telemetry.Gauge("signer_failing", "1 while the signer has not signed the last header requested.",
			func(r Role) int { return oneIf(r.unsigned() != "") }),
	)
}

// followMetrics returns the metrics of a node that follows another.
func followMetrics() []telemetry.Metric[replica.Status] {
	type status = replica.Status
	return []telemetry.Metric[status]{
		telemetry.KnownGauge("sync_blocks_behind", "Number of blocks behind the upstreams; absent while unknown.",
			func(s status) (uint64, bool) { return s.Behind(), s.InContact }),
		telemetry.KnownGauge("sync_primary_height",
			"Height of the newest block known from an upstream; absent while unknown.",
			func(s status) (uint64, bool) { return uint64(s.Primary), s.Told }),
		telemetry.Gauge("sync_synced", "1 while the node is synced: it knows of no newer block.",
			func(s status) int { return oneIf(s.Synced) }),
		telemetry.Gauge("sync_blocks_per_second", "Blocks imported per second, over the last 20 s.",
			func(s status) float64 { return s.Rate }),
		telemetry.KnownGauge("sync_silence_seconds", "Time since an upstream last answered; absent before the first "+
			"answer.",
			func(s status) (float64, bool) { return s.Silence.Seconds(), s.Told }),
		telemetry.Gauges("sync_upstream_in_use", "1 for the upstream in use.", "upstream", func(
			s status,
		) map[string]int {
			inUse := make(map[string]int, len(s.Upstreams))
			for _, u := range s.Upstreams {
				inUse[u.URL] = oneIf(u.InUse)
			}
			return inUse
		}),
		telemetry.Counters("sync_upstream_faults_total", "Upstream failovers: times that the node left an upstream, "+
			"by cause.", "cause", func(
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

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
