package node

import (
	"context"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/admission"
	"github.com/cairn-chain/cairn/internal/server/front"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/push"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/signer"
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
		n.config.Log.Warn("cannot export the last traces", "error", err)
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
			"1 while the chain announces or uses a protocol version that this node does not support.",
			func(t tip) int {
				return oneIf(t.Parameters.Upgrade != nil && !params.Known(t.Parameters.Upgrade.Version))
			}),
		telemetry.Gauge("upgrade_time_seconds",
			"Time of the announced or active protocol upgrade, in Unix seconds; 0 if there is none.",
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
		telemetry.Counter("store_dropped_total", "Proofs and witnesses dropped because of disk corruption.",
			func(n *Node) uint64 { return n.store.Dropped() }),
		telemetry.Counter("engine_faults_total",
			"Engine failures: contract calls, in blocks and views, on which the engine failed, and blocks with a "+
				"wrong result.",
			func(n *Node) uint64 { return n.book.Stats().Faults }),
		telemetry.Gauge("quarantined_codes",
			"Contract codes in quarantine, on which the engine failed or gave a wrong result.",
			func(n *Node) int { return n.book.Stats().Quarantined }),
		telemetry.Gauge("waiting_parties", "Senders and codes whose transactions are delayed, because one exceeded "+
			"its time limit.",
			func(n *Node) int { return n.book.Stats().Waiting }),
		telemetry.Gauge("tree_leaves", "Entries of the state tree.", func(n *Node) int { return n.ledger.TreeSize() }),
	}
}

func storeMetrics() []telemetry.Metric[kv.Metrics] {
	type metrics = kv.Metrics
	return []telemetry.Metric[metrics]{
		telemetry.Gauge("store_damaged_files", "Database files found damaged while reading.",
			func(m metrics) int { return m.DamagedFiles }),
		telemetry.Gauge("store_disk_bytes", "Size of the database files.", func(m metrics) uint64 { return m.DiskBytes }),
		telemetry.Gauge("store_memtable_bytes", "Size of the memtables.",
			func(m metrics) uint64 { return m.MemTableBytes }),
		telemetry.Gauge("store_cache_bytes", "Used size of the block cache.",
			func(m metrics) int64 { return m.CacheBytes }),
		telemetry.Counter("store_cache_hits_total", "Block cache hits.",
			func(m metrics) int64 { return m.CacheHits }),
		telemetry.Counter("store_cache_misses_total", "Block cache misses.",
			func(m metrics) int64 { return m.CacheMisses }),
		telemetry.Counter("store_compactions_total", "Compactions.", func(m metrics) int64 { return m.Compactions }),
		telemetry.Gauge("store_compaction_debt_bytes", "Estimated bytes awaiting compaction.",
			func(m metrics) uint64 { return m.CompactionDebtBytes }),
		telemetry.Gauge("store_wal_bytes", "Size of the write-ahead log not yet flushed to tables.",
			func(m metrics) uint64 { return m.WALBytes }),
		telemetry.Counter("store_flushes_total", "Memtable flushes.", func(m metrics) int64 { return m.Flushes }),
		telemetry.Counter("store_write_stalls_total", "Write stalls: times that writes waited for flushes or "+
			"compactions.",
			func(m metrics) int64 { return m.WriteStalls }),
		telemetry.Counter("store_syncs_total", "Batches synced to disk.",
			func(m metrics) int64 { return m.Syncs }),
		telemetry.Counter("store_sync_seconds_total", "Time to sync a batch to disk.",
			func(m metrics) float64 { return m.SyncTime.Seconds() }),
		telemetry.Gauge("store_read_amplification", "Read amplification: levels that a read may have to search.",
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
		n.config.Log.Debug("cannot determine the disk size", "error", err)
	}
	return diskSpace{size, free, err == nil}
}

func diskMetrics() []telemetry.Metric[diskSpace] {
	return []telemetry.Metric[diskSpace]{
		telemetry.KnownGauge("disk_size_bytes",
			"Size of the data directory's file system; absent if unknown.",
			func(d diskSpace) (uint64, bool) { return d.size, d.known }),
		telemetry.KnownGauge("disk_free_bytes",
			"Free space on the data directory's file system for the node's user; absent if unknown.",
			func(d diskSpace) (uint64, bool) { return d.free, d.known }),
	}
}

func oneIf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The metrics of the processes that work for a node on other machines. They are beside the node's, so that one test
// checks the alerts and the dashboard against all metrics (deploy).

// SignerDurations returns a function that records the duration of a signer's answer.
func SignerDurations(t *telemetry.Telemetry) func(time.Duration) {
	return t.Histogram("signer_request_duration_seconds", "Time to answer a signing request.")
}

// RegisterSigner registers a signer's metrics, which call read.
func RegisterSigner(t *telemetry.Telemetry, read func() signer.Stats) {
	type stats = signer.Stats
	telemetry.Register(t, read,
		telemetry.Counter("signer_signed_total", "Block headers signed.", func(s stats) uint64 { return s.Signed }),
		telemetry.Counters("signer_refused_total", "Signing requests refused, by reason.", "reason",
			func(s stats) map[string]uint64 { return s.Refused }),
		telemetry.Counter("signer_strangers_total", "Connections refused because the client's pin is unknown.",
			func(s stats) uint64 { return s.Strangers }),
		telemetry.Gauge("signer_nodes", "Connected nodes.", func(s stats) int { return s.Nodes }),
		telemetry.Gauge("signer_height", "Height of the newest signed header.",
			func(s stats) uint64 { return uint64(s.Height) }),
	)
}

// RegisterProver registers the metrics of a prover with an address of its own, which call read.
func RegisterProver(t *telemetry.Telemetry, read func() provers.Stats) {
	type stats = provers.Stats
	telemetry.Register(t, read,
		telemetry.Counter("prover_proofs_total", "Proofs accepted by the node.", func(s stats) uint64 { return s.Proofs }),
		telemetry.Counter("prover_failures_total", "Failures to reach the node, or to make or submit a proof.", func(s stats) uint64 { return s.Failures }),
	)
}

func poolMetrics() []telemetry.Metric[mempool.Stats] {
	type stats = mempool.Stats
	return []telemetry.Metric[stats]{
		telemetry.Gauge("mempool_transactions", "Pending transactions.", func(s stats) int { return s.Count }),
		telemetry.Gauge("mempool_held_transactions", "Pending transactions that are not executable yet, because of a "+
			"nonce gap or the balance.",
			func(s stats) int { return s.Held }),
		telemetry.Gauge("mempool_bytes", "Size of the pending transactions in the mempool.", func(s stats) int { return s.Bytes }),
		telemetry.Gauge("mempool_gas", "Sum of the gas limits of all pending transactions.",
			func(s stats) uint64 { return uint64(s.Gas) }),
		telemetry.Gauge("mempool_oldest_seconds", "Age of the oldest pending transaction, or 0 if there is none.",
			func(s stats) float64 { return s.Oldest.Seconds() }),
		telemetry.Gauge("mempool_pressure", "1 while the mempool is nearly full (back pressure).",
			func(s stats) int { return oneIf(s.BackPressure) }),
		telemetry.Counter("mempool_accepted_total", "Transactions from clients that the mempool accepted.",
			func(s stats) uint64 { return s.Accepted }),
		telemetry.Counters("mempool_refused_total",
			"Transactions from clients that the mempool refused, by reason.", "reason",
			func(s stats) map[string]uint64 { return s.Refused }),
		telemetry.Counters("mempool_no_room_total",
			"Transactions refused because the mempool was full, by class.", "class",
			byClass(func(c mempool.ClassStats) uint64 { return c.Refused })),
		telemetry.Counters("mempool_displaced_total",
			"Pending transactions evicted in favour of others, by class.", "class",
			byClass(func(c mempool.ClassStats) uint64 { return c.Displaced })),
		telemetry.Gauge("mempool_journal_bytes", "Size of the mempool journal.",
			func(s stats) int64 { return s.JournalBytes }),
		telemetry.Gauge("mempool_journal_failed", "1 while the mempool journal cannot be written.",
			func(s stats) int { return oneIf(s.Journal != nil) }),
		telemetry.Counters("signatures_total", "Signature verifications, by result.", "result", func(
			s stats,
		) map[string]uint64 {
			return map[string]uint64{"good": s.SignaturesGood, "bad": s.SignaturesBad}
		}),
		telemetry.Counter("signature_batches_total", "Batches of signature verifications.",
			func(s stats) uint64 { return s.SignatureBatches }),
	}
}

// byClass returns a function that reads a number of each class of pending transactions.
func byClass(number func(mempool.ClassStats) uint64) func(mempool.Stats) map[string]uint64 {
	return func(s mempool.Stats) map[string]uint64 {
		numbers := make(map[string]uint64, len(s.Classes))
		for _, c := range s.Classes {
			numbers[string(c.Class)] = number(c)
		}
		return numbers
	}
}
