package node

import (
	"github.com/cairn-chain/cairn/internal/engine/mempool"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
)

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
