package ledger

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

const benchmarkSenders, benchmarkAccounts = 400, 100_000

// benchmarkKey is the key of the i-th sender.
func benchmarkKey(b *testing.B, i int) crypto.PrivateKey { return testKey(b, fmt.Sprint("sender ", i)) }

// benchmarkLedger returns an in-memory chain with rich senders and as many other accounts, whose blocks have room for
// all.
func benchmarkLedger(b *testing.B) *Ledger {
	store, db := openStore(b, kv.NewCrashDisk())
	b.Cleanup(func() { closeStore(b, store, db) })
	g := testGenesis(b)
	g.Parameters.GasLimit = 1 << 34
	for i := range benchmarkAccounts {
		a := types.Allocation{Account: benchmarkRecipient(i), Balance: 1}
		if i < benchmarkSenders {
			a = types.Allocation{Account: benchmarkKey(b, i).PublicKey(), Balance: 1_000 * types.CoinUnits}
		}
		g.Allocations = append(g.Allocations, a)
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	l, err := Open(store, &g, nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	return l
}

func benchmarkRecipient(i int) (a types.Account) {
	binary.LittleEndian.PutUint64(a[:], uint64(i)*0x9e3779b97f4a7c15)
	return a
}

// benchmarkTransfers are n transfers from each sender in turn to the accounts in turn.
func benchmarkTransfers(b *testing.B, n, accounts int) []*types.VerifiedTx {
	signed := make([]types.SignedTransaction, n)
	parallel.Run(n, func(i int) {
		key := benchmarkKey(b, i%benchmarkSenders)
		tx, err := types.Sign(types.Transaction{
			ChainID:              7,
			Sender:               key.PublicKey(),
			Nonce:                uint64(i / benchmarkSenders),
			GasLimit:             120_000,
			MaxFeePerGas:         100,
			MaxPriorityFeePerGas: 1,
			Target:               benchmarkRecipient(benchmarkSenders + i%accounts), Value: 1, Payload: types.Transfer{},
		}, key, [32]byte{})
		if err != nil {
			panic(err)
		}
		signed[i] = tx
	})
	var verified []*types.VerifiedTx
	for part := range slices.Chunk(signed, 512) {
		verified = append(verified, types.VerifyWitnesses(types.Regtest, types.NewTxs(part...))...)
	}
	return verified
}

// BenchmarkBuild makes a block of transfers on a store in memory. The metrics are the phases' time for one transaction.
func BenchmarkBuild(b *testing.B) {
	l := benchmarkLedger(b)
	producer := testKey(b, "producer")
	seal := func(h types.BlockHash) (types.Signature, error) { return producer.Sign(h[:], [32]byte{}) }
	for _, accounts := range []int{benchmarkSenders, benchmarkAccounts - benchmarkSenders} {
		for _, n := range []int{10_000, 40_000} {
			b.Run(fmt.Sprintf("recipients=%d/transfers=%d", accounts, n), func(b *testing.B) {
				txs := benchmarkTransfers(b, n, accounts)
				var execute, change, store float64
				b.ReportAllocs()
				for b.Loop() {
					batch := list(txs)
					block, err := l.Build(Batch{Time: 2_000, Transactions: &batch}, seal)
					if err != nil || len(block.Included) != n {
						b.Fatal(len(block.Included), err)
					}
					b.StopTimer()
					if err := l.Rewind(0); err != nil {
						b.Fatal(err)
					}
					execute += float64(block.Timings.Execute)
					change += float64(block.Timings.Tree)
					store += float64(block.Timings.Append)
					b.StartTimer()
				}
				per := float64(b.N * n)
				b.ReportMetric(execute/per, "execute-ns/tx")
				b.ReportMetric(change/per, "tree-ns/tx")
				b.ReportMetric(store/per, "append-ns/tx")
			})
		}
	}
}
