package ledger

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

// BenchmarkImport receives and imports a chain of small blocks into a store on disk, like a node that begins at
// genesis. It reports the processor time and the elapsed time per block, and the number of blocks imported together.
func BenchmarkImport(b *testing.B) {
	const blocks, together = 4_096, 256 // the number that a replica requests at a time
	for _, transfers := range []int{0, 1, 4, 32} {
		b.Run(fmt.Sprintf("transfers=%d", transfers), func(b *testing.B) {
			encoded, genesis := benchmarkChain(b, blocks, transfers)
			meter := cputime.Start(b)
			runs, took := 0, time.Duration(0)
			for b.Loop() {
				meter.Pause()
				l, closeLedger := benchmarkReplica(b, genesis)
				begun := time.Now()
				meter.Resume()
				for begin := 0; begin < len(encoded); begin += together {
					received, err := ReceiveAll(types.Regtest, encoded[begin:min(begin+together, len(encoded))])
					for err == nil && len(received) > 0 {
						var imported []Block
						imported, err = l.Import(received...)
						received = received[len(imported):]
						runs++
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				took += time.Since(begun)
				meter.Pause()
				closeLedger()
				meter.Resume()
			}
			meter.Report(b.N*blocks, time.Microsecond, "cpu-µs/block")
			per := float64(b.N * blocks)
			b.ReportMetric(float64(took.Microseconds())/per, "µs/block")
			b.ReportMetric(per/float64(runs), "blocks/run")
		})
	}
}

// benchmarkChain returns the given number of encoded blocks, each with the given number of transfers, and their
// genesis.
func benchmarkChain(b *testing.B, blocks, transfers int) ([][]byte, *types.Genesis) {
	l := benchmarkLedger(b)
	genesis := l.Store().Genesis()
	producer := testKey(b, "producer")
	txs := list(benchmarkTransfers(b, blocks*transfers, benchmarkAccounts-benchmarkSenders))
	encoded := make([][]byte, blocks)
	for i := range encoded {
		batch := txs[i*transfers : (i+1)*transfers]
		block, err := l.Build(Batch{Time: uint64(2_000 + i), Transactions: &batch}, func(
			h types.BlockHash,
		) (types.Signature, error) {
			return producer.Sign(h[:], [32]byte{})
		})
		if err != nil || len(block.Included) != transfers {
			b.Fatal(len(block.Included), err)
		}
		stored, err := l.Store().EncodedBlock(block.Header.Header.Height)
		if err != nil {
			b.Fatal(err)
		}
		encoded[i] = stored.Bytes
	}
	return encoded, &genesis
}

// benchmarkReplica returns a ledger on disk with only the genesis, and a function that closes it.
func benchmarkReplica(b *testing.B, genesis *types.Genesis) (*Ledger, func()) {
	db, err := kv.Open(filepath.Join(b.TempDir(), "db"), kv.Options{})
	if err != nil {
		b.Fatal(err)
	}
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	if err != nil {
		b.Fatal(err)
	}
	l, err := Open(store, genesis, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	return l, func() {
		if err := errors.Join(store.Close(), db.Close()); err != nil {
			b.Fatal(err)
		}
	}
}
