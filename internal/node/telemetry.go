package node

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/jsonrpc"
)

// openTelemetry makes the telemetry of the node. The chain must be open.
func (n *Node) openTelemetry() (err error) {
	config := telemetry.Config{
		Build: n.config.Build,
		Codes: []int{
			jsonrpc.CodeParse, jsonrpc.CodeInvalidRequest, jsonrpc.CodeMethodNotFound, jsonrpc.CodeInvalidParams,
			jsonrpc.CodeInternal,
		},
		Phases: role.Phases(), Log: n.config.Log,
		Traces: telemetry.Traces{
			Endpoint: n.config.Traces.Endpoint, Every: n.config.Traces.Every, ChainID: n.store.Genesis().ChainID,
		},
	}
	for _, d := range api.Declarations() {
		config.Methods = append(config.Methods, d.Name)
		for _, e := range d.Errors {
			config.Codes = append(config.Codes, e.Code)
		}
	}
	if n.telemetry, err = telemetry.New(config); err != nil {
		return err
	}
	n.opened("the collector of traces", n.closeTelemetry)
	return nil
}

// registerMetrics registers the metrics of the node's parts. The role registers its own.
func (n *Node) registerMetrics() {
	t := n.telemetry
	telemetry.Register(t, n.ledger.Tip, tipMetrics()...)
	telemetry.Register(t, func() *Node { return n }, nodeMetrics()...)
	telemetry.Register(t, func() *Node { return n }, proofMetrics()...)
	telemetry.Register(t, n.role.Pool().Stats, poolMetrics()...)
	telemetry.Register(t, n.engineStats, engineMetrics()...)
	telemetry.Register(t, n.views.Stats, viewMetrics()...)
	telemetry.Register(t, n.rpc.Stats, rpc.Metrics()...)
	telemetry.Register(t, n.dir.Metrics, storeMetrics()...)
	telemetry.Register(t, n.front.Stats, front.Metrics()...)
	telemetry.Register(t, n.admission.Stats, admission.Metrics()...)
	telemetry.Register(t, n.push.Stats, push.Metrics()...)
	if n.dir.Path() != "" {
		telemetry.Register(t, n.disk, diskMetrics()...)
	}
}

// closeTelemetry sends the last traces. A failure of the collector is only logged.
func (n *Node) closeTelemetry() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := n.telemetry.Close(ctx); err != nil {
		n.config.Log.Warn("traces are lost", "error", err)
	}
	return nil
}

func tipMetrics() []telemetry.Metric[*ledger.Tip] {
	type tip = *ledger.Tip
	return []telemetry.Metric[tip]{
		telemetry.Gauge("head_height", "Height of the newest block.",
			func(t tip) uint64 { return uint64(t.Header.Header.Height) }),
		telemetry.Gauge("head_time_seconds", "Timestamp of the newest block, in Unix seconds.",
			func(t tip) float64 { return float64(t.Header.Header.Timestamp) / 1000 }),
		telemetry.Gauge("head_gas_used", "Gas used by the newest block.",
			func(t tip) uint64 { return uint64(t.Header.Header.GasUsed) }),
		telemetry.Gauge("gas_limit", "Gas limit of the next block.",
			func(t tip) uint64 { return uint64(t.Parameters.GasLimit) }),
		telemetry.Gauge("base_fee", "Base fee of the next block, in units per gas.",
			func(t tip) uint64 { return uint64(t.Env.BaseFee) }),
		telemetry.Gauge("upgrade_unknown",
			"1 while the chain announces or has a version of the protocol that this node does not know.",
			func(t tip) int {
				return oneIf(t.Parameters.Upgrade != nil && !params.Known(t.Parameters.Upgrade.Version))
			}),
		telemetry.Gauge("upgrade_time_seconds",
			"Time of the upgrade that the chain announces or has, in Unix seconds; 0 without one.",
			func(t tip) float64 {
				if u := t.Parameters.Upgrade; u != nil {
					return float64(u.From) / 1000
				}
				return 0
			}),
	}
}

func nodeMetrics() []telemetry.Metric[*Node] {
	return []telemetry.Metric[*Node]{
		telemetry.Counter("store_dropped_total", "Proofs and witnesses that were dropped because the disk had damaged them.",
			func(n *Node) uint64 { return n.store.Dropped() }),
		telemetry.Counter("engine_faults_total",
			"Calls of contracts that the engine failed on, in blocks and in views, and blocks with a wrong result.",
			func(n *Node) uint64 { return n.book.Stats().Faults }),
		telemetry.Gauge("quarantined_codes",
			"Codes that this node does not run, because its engine failed on them or ran them wrongly.",
			func(n *Node) int { return n.book.Stats().Quarantined }),
		telemetry.Gauge("waiting_parties", "Senders and codes whose transactions wait, because one overran its time.",
			func(n *Node) int { return n.book.Stats().Waiting }),
		telemetry.Gauge("tree_leaves", "Entries of the state tree.", func(n *Node) int { return n.ledger.TreeSize() }),
	}
}

func storeMetrics() []telemetry.Metric[kv.Metrics] {
	type metrics = kv.Metrics
	return []telemetry.Metric[metrics]{
		telemetry.Gauge("store_damaged_files", "Files of the database in which a read found damage.",
			func(m metrics) int { return m.DamagedFiles }),
		telemetry.Gauge("store_disk_bytes", "Size of the database's files.", func(m metrics) uint64 { return m.DiskBytes }),
		telemetry.Gauge("store_memtable_bytes", "Size of the tables that are written to, in memory.",
			func(m metrics) uint64 { return m.MemTableBytes }),
		telemetry.Gauge("store_cache_bytes", "Size of the database's cache in use.",
			func(m metrics) int64 { return m.CacheBytes }),
		telemetry.Counter("store_cache_hits_total", "Blocks of files found in the cache.",
			func(m metrics) int64 { return m.CacheHits }),
		telemetry.Counter("store_cache_misses_total", "Blocks of files that had to be read.",
			func(m metrics) int64 { return m.CacheMisses }),
		telemetry.Counter("store_compactions_total", "Compactions.", func(m metrics) int64 { return m.Compactions }),
		telemetry.Gauge("store_compaction_debt_bytes", "Estimate of what is to be compacted.",
			func(m metrics) uint64 { return m.CompactionDebtBytes }),
		telemetry.Gauge("store_wal_bytes", "Size of the log: written, but not in a table yet.",
			func(m metrics) uint64 { return m.WALBytes }),
		telemetry.Counter("store_flushes_total", "Tables written out of memory.", func(m metrics) int64 { return m.Flushes }),
		telemetry.Counter("store_write_stalls_total", "Times that writing waited for flushes or compactions.",
			func(m metrics) int64 { return m.WriteStalls }),
		telemetry.Counter("store_syncs_total", "Batches that were waited for until they were on disk.",
			func(m metrics) int64 { return m.Syncs }),
		telemetry.Counter("store_sync_seconds_total", "Time from handing those over to their being on disk.",
			func(m metrics) float64 { return m.SyncTime.Seconds() }),
		telemetry.Gauge("store_read_amplification", "Levels of the database that a read may have to ask.",
			func(m metrics) int { return m.ReadAmplification }),
	}
}

// diskSpace is the size and the free space of the data directory's file system.
type diskSpace struct {
	size, free uint64
	known      bool
}

func (n *Node) disk() diskSpace {
	size, free, err := machine.Disk(n.dir.Path())
	if err != nil {
		n.config.Log.Debug("the size of the disk is not known", "error", err)
	}
	return diskSpace{size, free, err == nil}
}

func diskMetrics() []telemetry.Metric[diskSpace] {
	return []telemetry.Metric[diskSpace]{
		telemetry.KnownGauge("disk_size_bytes",
			"Size of the data directory's file system; absent where it is not known.",
			func(d diskSpace) (uint64, bool) { return d.size, d.known }),
		telemetry.KnownGauge("disk_free_bytes",
			"Space left on the data directory's file system for the node's user; absent where it is not known.",
			func(d diskSpace) (uint64, bool) { return d.free, d.known }),
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}
