package ledger

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/internal/testkit/cputime"
	"github.com/cairn-chain/cairn/types"
)

// tokenBench is a chain on disk with the reference token, of which all senders have some.
type tokenBench struct {
	*Ledger
	b      *testing.B
	token  types.ContractID
	nonces [benchmarkSenders]uint64
}

func newTokenBench(b *testing.B) *tokenBench {
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	db, err := kv.Open(b.TempDir(), kv.Options{})
	check(err)
	store, err := chain.Open(db, chain.Options{Schedule: params.Prices.Digest()})
	check(err)
	engine, err := wasm.New(wasm.Options{})
	check(err)
	b.Cleanup(func() { check(errors.Join(store.Close(), db.Close(), engine.Close())) })
	g := testGenesis(b)
	g.Parameters.GasLimit = 1 << 36
	for i := range benchmarkSenders {
		g.Allocations = append(g.Allocations, types.Allocation{
			Account: benchmarkKey(b, i).PublicKey(), Balance: 1_000 * types.CoinUnits,
		})
	}
	slices.SortFunc(g.Allocations, func(a, b types.Allocation) int { return a.Account.Compare(b.Account) })
	l, err := Open(store, &g, nil, engine)
	check(err)
	t := &tokenBench{Ledger: l, b: b, token: types.NewContractID(benchmarkKey(b, 0).PublicKey(), 0)}
	t.include(1_001, t.sign(1, func(int) (int, types.Payload) {
		return 0, types.Deploy{
			Name:     "bench",
			Code:     contracts.Token(),
			InitArgs: []byte(`{"name":"Bench","symbol":"BNC","decimals":0,"initialSupply":1000000000000}`),
		}
	}))
	t.include(
		1_002, t.sign(benchmarkSenders-1, func(i int) (int, types.Payload) { return 0, t.transfer(i+1, 1_000_000_000) }),
	)
	return t
}

// transfer is a payment to a sender.
func (t *tokenBench) transfer(to int, amount uint64) types.Payload {
	return types.Call{
		Function: "transfer",
		Args:     fmt.Appendf(nil, `{"to":%q,"amount":%d}`, types.Account(benchmarkKey(t.b, to).PublicKey()), amount),
	}
}

// sign makes n signed transactions. The function of chooses the sender and the payload of each.
func (t *tokenBench) sign(n int, of func(i int) (sender int, payload types.Payload)) []*types.VerifiedTx {
	signed := make([]types.SignedTransaction, n)
	for i := range signed {
		sender, payload := of(i)
		key := benchmarkKey(t.b, sender)
		target := types.Account{}
		if _, calls := payload.(types.Call); calls {
			target = types.Account(t.token)
		}
		tx, err := types.Sign(types.Transaction{
			Target:               target,
			ChainID:              7,
			Sender:               key.PublicKey(),
			Nonce:                t.nonces[sender],
			GasLimit:             60_000_000,
			MaxFeePerGas:         100,
			MaxPriorityFeePerGas: 1,
			Payload:              payload,
		}, key, [32]byte{})
		if err != nil {
			t.b.Fatal(err)
		}
		signed[i] = tx
		t.nonces[sender]++
	}
	var verified []*types.VerifiedTx
	for part := range slices.Chunk(signed, 512) {
		verified = append(verified, types.VerifyWitnesses(types.Regtest, types.NewTxs(part...))...)
	}
	return verified
}

// include makes a block of transactions, none of which may fail.
func (t *tokenBench) include(time uint64, txs []*types.VerifiedTx) Block {
	producer := testKey(t.b, "producer")
	batch := list(txs)
	block, err := t.Build(Batch{Time: time, Transactions: &batch},
		func(h types.BlockHash) (types.Signature, error) { return producer.Sign(h[:], [32]byte{}) })
	if err != nil || len(block.Included) != len(txs) {
		t.b.Fatal(len(txs), err)
	}
	return block
}

// BenchmarkTokenTransfers makes blocks of transfers of the reference token between holders, on a disk with syncs. It
// measures execution, state root and commit. Signatures are verified before, as in the pool.
func BenchmarkTokenTransfers(b *testing.B) {
	for _, n := range []int{1, 100, 5_000} {
		b.Run(fmt.Sprintf("transfers=%d", n), func(b *testing.B) {
			t := newTokenBench(b)
			before := t.Tip().Header.Header.Height
			txs := t.sign(n, func(i int) (int, types.Payload) {
				return i % benchmarkSenders, t.transfer((i+1+i/benchmarkSenders)%benchmarkSenders, 1)
			})
			var execute, change, store float64
			processor := cputime.Start(b)
			for b.Loop() {
				block := t.include(2_000, txs)
				b.StopTimer()
				processor.Pause()
				for _, receipt := range receiptsOf(b, t.store, before+1) {
					if receipt.Status != types.StatusSuccess {
						b.Fatalf("a transfer failed: %s", receipt.Output)
					}
				}
				if err := t.Rewind(before); err != nil {
					b.Fatal(err)
				}
				execute += float64(block.Timings.Execute)
				change += float64(block.Timings.Tree)
				store += float64(block.Timings.Append)
				processor.Resume()
				b.StartTimer()
			}
			processor.Report(b.N*n, time.Microsecond, "cpu-µs/transfer")
			per := float64(b.N * n)
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/per/1000, "µs/transfer")
			b.ReportMetric(execute/per/1000, "execute-µs/transfer")
			b.ReportMetric(change/per/1000, "tree-µs/transfer")
			b.ReportMetric(store/per/1000, "append-µs/transfer")
		})
	}
}

func receiptsOf(b *testing.B, store *chain.Store, h types.Height) []types.Receipt {
	receipts, err := store.Receipts(h)
	if err != nil {
		b.Fatal(err)
	}
	return receipts
}
