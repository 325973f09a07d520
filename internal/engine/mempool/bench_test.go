package mempool

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// signedTransfers returns n transfers, with the next nonces of each account in turn.
func signedTransfers(n, accounts int) [][]byte {
	encoded := make([][]byte, n)
	for i := range encoded {
		encoded[i] = transfer(i%accounts, uint64(i/accounts), 100, 5)
	}
	return encoded
}

// BenchmarkAdd adds real transfers, a batch at a time, from 16 callers at once, with a journal. It reports the time per
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

// BenchmarkBest takes a block's worth of transactions from a pool of 6,400.
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

// BenchmarkVerify measures the signatures' part of BenchmarkAdd, in the largest batches.
func BenchmarkVerify(b *testing.B) {
	txs := make([]*types.Tx, batchSize)
	for i, encoded := range signedTransfers(batchSize, 16) {
		txs[i] = decoded(b, encoded)
	}
	for b.Loop() {
		verifyAll(txs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batchSize), "ns/tx")
}

// stubbedVerify replaces verifyAll by results known beforehand, so that a benchmark shows the pool alone.
func stubbedVerify(b *testing.B, encoded [][]byte) verifyFunc {
	known := make(map[types.TxID]*types.VerifiedTx, len(encoded))
	for part := range slices.Chunk(encoded, batchSize) {
		txs := make([]*types.Tx, len(part))
		for i := range part {
			txs[i] = decoded(b, part[i])
		}
		for _, tx := range verifyAll(txs) {
			known[tx.ID()] = tx
		}
	}
	return func(txs []*types.Tx) []*types.VerifiedTx {
		verified := make([]*types.VerifiedTx, len(txs))
		for i := range txs {
			verified[i] = known[txs[i].ID()]
		}
		return verified
	}
}

// BenchmarkPool adds 20,000 transfers of 64 senders, 100 at a time and without the cost of signatures. It takes them
// all from Best, and resets the pool after their block. The reported time is per transaction.
func BenchmarkPool(b *testing.B) {
	const n, size, senders = 20_000, 100, 64
	encoded := signedTransfers(n, senders)
	verify := stubbedVerify(b, encoded)
	var adding, ordering, resetting time.Duration
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		c := newChain()
		p, err := newPool(Options{Journal: b.TempDir() + "/journal"}, c.head(), verify)
		if err != nil {
			b.Fatal(err)
		}
		records := make(map[int]state.Account)
		for i := range senders {
			records[i] = state.Account{Balance: rich / 2, Nonce: uint64((n - i + senders - 1) / senders)}
		}
		b.StartTimer()
		start := time.Now()
		for part := range slices.Chunk(encoded, size) {
			for _, r := range p.AddMany(b.Context(), part, "test") {
				if r.Err != nil {
					b.Fatal(r.Err)
				}
			}
		}
		adding += time.Since(start)
		start = time.Now()
		best := p.Best(testBaseFee)
		for range n {
			if best.Next() == nil {
				b.Fatal("too few")
			}
		}
		ordering += time.Since(start)
		accesses := c.block(records)
		start = time.Now()
		if err := p.Reset(c.head(), accesses); err != nil {
			b.Fatal(err)
		}
		resetting += time.Since(start)
		b.StopTimer()
		if p.Stats().Count != 0 {
			b.Fatal("the block included all")
		}
		if err := p.Close(); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	per := float64(b.N * n)
	b.ReportMetric(float64(adding)/per, "add-ns/tx")
	b.ReportMetric(float64(ordering)/per, "best-ns/tx")
	b.ReportMetric(float64(resetting)/per, "reset-ns/tx")
}

// BenchmarkReplace replaces the first transaction of a run of 1,024 under the pool's lock. One replacement leaves the
// floors of the others alone, and one changes all of them. "settle" revalidates the run instead.
func BenchmarkReplace(b *testing.B) {
	p := openPool(b, newChain(), Options{})
	for _, r := range p.AddMany(b.Context(), signedTransfers(1024, 1), "test") {
		if r.Err != nil {
			b.Fatal(r.Err)
		}
	}
	s := p.index.senders[account(0)]
	another := func() *entry {
		e := *s.run[0]
		return &e
	}
	alike, lower := []*entry{another(), another()}, []*entry{another(), another()}
	lower[0].tx = verifyAll([]*types.Tx{decoded(b, transfer(0, 0, 90, 4))})[0]
	for _, bench := range []struct {
		name    string
		entries []*entry
	}{{"alike", alike}, {"lower", lower}} {
		b.Run(bench.name, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				p.replace(s, bench.entries[i%2], s.run[0])
			}
		})
		b.Run(bench.name+"/settle", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				s.run = slices.Clone(s.run)
				s.run[0] = bench.entries[i%2]
				p.settle(s)
			}
		})
	}
}

func decoded(b *testing.B, encoded []byte) *types.Tx {
	tx, err := types.DecodeTx(encoded)
	if err != nil {
		b.Fatal(err)
	}
	return tx
}

// BenchmarkEvictionOrder changes one of 200,000 senders with one transaction each, and asks which goes first at another
// base fee. That is the additional time under the lock of an insertion into a full pool after a block.
func BenchmarkEvictionOrder(b *testing.B) {
	p := openPool(b, newChain(), Options{})
	verified := verifyAll([]*types.Tx{decoded(b, transfer(0, 0, 100, 5)), decoded(b, transfer(0, 0, 90, 7))})
	for i := range uint64(200_000) {
		var a types.Account
		binary.LittleEndian.PutUint64(a[:], i)
		s := newSender(a, state.Account{})
		tx := verified[i%2]
		s.run = []*entry{{
			tx: tx, sender: s, sequence: i, floor: feeCaps{types.Amount(100 + i*i%977), types.Amount(i * 31 % 89)},
		}}
		p.index.senders[a] = s
		p.index.order.update(s)
	}
	for i := types.Amount(0); b.Loop(); i++ {
		s := p.index.order.longestUnder(i % 200)
		if s == nil {
			s = p.index.order.lowestTip(i % 200)
		}
		s.run[0].floor.maxPriority = i * 31 % 89
		p.index.order.update(s)
	}
	for _, s := range p.index.senders {
		s.run = nil
		p.index.order.update(s)
	}
	clear(p.index.senders)
}
