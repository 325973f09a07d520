package mempool

import (
	"fmt"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// signedTransfers is n transfers, the nonces of each of the accounts in turn.
func signedTransfers(n, accounts int) [][]byte {
	encoded := make([][]byte, n)
	for i := range encoded {
		encoded[i] = transfer(i%accounts, uint64(i/accounts), 100, 5)
	}
	return encoded
}

// BenchmarkAdd adds real transfers, a batch at a time, from 16 callers at once, with a journal. The time is for one
// transaction.
func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			const callers, perCaller = 16, 400
			encoded := signedTransfers(callers*perCaller, callers)
			for b.Loop() {
				b.StopTimer()
				p := openPool(b, newChain(), Options{Journal: b.TempDir() + "/journal"})
				b.StartTimer()
				var work sync.WaitGroup
				for w := range callers {
					work.Go(func() {
						var own [][]byte
						for i := w; i < len(encoded); i += callers {
							if own = append(own, encoded[i]); len(own) < size {
								continue
							}
							for _, r := range p.AddMany(b.Context(), own, "test") {
								if r.Err != nil {
									b.Error(r.Err)
								}
							}
							own = own[:0]
						}
					})
				}
				work.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(encoded)), "ns/tx")
		})
	}
}

// BenchmarkBest takes a block's worth from a pool of 6,400 transactions.
func BenchmarkBest(b *testing.B) {
	p := openPool(b, newChain(), Options{})
	p.AddMany(b.Context(), signedTransfers(6400, 64), "test")
	for b.Loop() {
		best := p.Best(testBaseFee)
		for range 5000 {
			if best.Next() == nil {
				b.Fatal("too few")
			}
		}
	}
}

// BenchmarkVerify is what of BenchmarkAdd the signatures alone take, in the largest batches.
func BenchmarkVerify(b *testing.B) {
	txs := make([]types.SignedTransaction, batchSize)
	for i, encoded := range signedTransfers(batchSize, 16) {
		tx, err := types.DecodeSignedTransaction(encoded)
		if err != nil {
			b.Fatal(err)
		}
		txs[i] = tx
	}
	for b.Loop() {
		types.VerifySignatures(txs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchSize), "ns/tx")
}
