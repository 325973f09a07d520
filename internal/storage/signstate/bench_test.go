package signstate

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// BenchmarkHold measures the time to record a block, in addition to the block's own synced batch of 1 MiB, alternately
// in one run. It reports both; most of the time is waiting for the disk.
func BenchmarkHold(b *testing.B) {
	dir := b.TempDir()
	db, err := kv.Open(filepath.Join(dir, "db"), kv.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	l, err := Open(kv.FS{}, filepath.Join(dir, "signed"), genesis)
	if err != nil {
		b.Fatal(err)
	}
	value := make([]byte, 1<<20)
	h := types.Header{}
	var committing, holding time.Duration
	for b.Loop() {
		batch := db.NewBatch(2 << 20)
		batch.Set([]byte("block"), value)
		begun := time.Now()
		if err := db.Commit(batch, true); err != nil {
			b.Fatal(err)
		}
		between := time.Now()
		h = types.Header{Height: h.Height + 1, Parent: l.Last().Hash}
		if err := l.Record(h); err != nil {
			b.Fatal(err)
		}
		committing, holding = committing+between.Sub(begun), holding+time.Since(between)
	}
	b.ReportMetric(float64(committing.Microseconds())/float64(b.N), "µs-batch/op")
	b.ReportMetric(float64(holding.Microseconds())/float64(b.N), "µs-hold/op")
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
}
