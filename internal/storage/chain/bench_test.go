package chain

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// benchmarkChain fills the blocks with transfers between accounts drawn from a given number.
type benchmarkChain struct {
	*toyChain
	accounts int
	seed     uint64
}

func (c *benchmarkChain) account() types.Account {
	c.seed++
	n := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, c.seed))
	return sha256.Sum256(fmt.Appendf(nil, "bench %d", binary.LittleEndian.Uint64(n[:])%uint64(c.accounts)))
}

// transfers appends a block of n transfers to the chain.
func (c *benchmarkChain) transfers(t tester, n int) Entry {
	o := state.NewOverlay(c.head().state)
	txs, receipts := make([]types.SignedTransaction, n), make([]types.Receipt, n)
	for i := range n {
		from, to := c.account(), c.account()
		for _, a := range []types.Account{from, to} {
			record, err := o.Account(a)
			must(t, err)
			record.Nonce++
			must(t, o.SetAccount(a, record))
		}
		txs[i] = types.SignedTransaction{
			Transaction: types.Transaction{
				Sender: from, Target: to, Nonce: c.seed, GasLimit: 10_000, MaxFeePerGas: 10, Payload: types.Transfer{},
			},
			Witness: types.WitnessKey{},
		}
		receipts[i] = types.Receipt{Status: types.StatusSuccess, GasUsed: 10_000}
	}
	return c.seal(t, o, txs, receipts, nil)
}

// tokenTransfers appends a block of n calls to the chain, each of which moves units of one token: an account's nonce,
// two entries of storage and a Transfer event.
func (c *benchmarkChain) tokenTransfers(t tester, n int) Entry {
	o := state.NewOverlay(c.head().state)
	token := types.ContractID{0xC0}
	txs, receipts := make([]types.SignedTransaction, n), make([]types.Receipt, n)
	for i := range n {
		from, to := c.account(), c.account()
		record, err := o.Account(from)
		must(t, err)
		record.Nonce++
		must(t, o.SetAccount(from, record))
		for _, a := range []types.Account{from, to} {
			must(t, o.Set(
				state.StorageKey(token, append([]byte("\x07balance"), a[:]...)), binary.LittleEndian.AppendUint64(nil, c.seed),
			))
		}
		amount := [32]byte{31: byte(1 + i%100)}
		data := fmt.Appendf(nil, `{"from":%q,"to":%q,"amount":"%d"}`, from, to, amount[31])
		txs[i] = types.SignedTransaction{
			Transaction: types.Transaction{
				Sender: from, Target: types.Account(token), Nonce: c.seed, GasLimit: 200_000, MaxFeePerGas: 10,
				Payload: types.Call{Function: "transfer", Args: data},
			},
			Witness: types.WitnessKey{},
		}
		receipts[i] = types.Receipt{
			Status: types.StatusSuccess, GasUsed: 150_000, Output: []byte("true"),
			Logs: []types.Log{{Contract: token, Name: "Transfer", Topics: [][32]byte{from, to, amount}, Data: data}},
		}
	}
	return c.seal(t, o, txs, receipts, nil)
}

// BenchmarkAppend appends blocks of 10,000 transfers among 100,000 accounts, of coins and of a token, on a disk.
func BenchmarkAppend(b *testing.B) {
	for name, block := range map[string]func(*benchmarkChain, tester, int) Entry{
		"coins": (*benchmarkChain).transfers, "token": (*benchmarkChain).tokenTransfers,
	} {
		b.Run(name, func(b *testing.B) { benchmarkAppend(b, block) })
	}
}

func benchmarkAppend(b *testing.B, block func(*benchmarkChain, tester, int) Entry) {
	db, err := kv.Open(b.TempDir(), kv.Options{})
	must(b, err)
	s, err := Open(db, Options{})
	must(b, err)
	c := &benchmarkChain{toyChain: newToyChain(b), accounts: 100_000}
	must(b, s.Init(c.genesis, c.blocks[0].Entry))
	for b.Loop() {
		b.StopTimer()
		e := block(c, b, 10_000)
		c.blocks[len(c.blocks)-2].state = nil // the model needs no past
		b.StartTimer()
		must(b, s.Append(e))
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/10_000, "µs/tx")
	b.ReportMetric(float64(db.Metrics().DiskBytes)/float64(b.N)/10_000, "disk-bytes/tx")
	must(b, s.Close())
	must(b, db.Close())
}

// BenchmarkGet reads accounts at the head and at earlier blocks.
func BenchmarkGet(b *testing.B) {
	db, err := kv.Open(b.TempDir(), kv.Options{})
	must(b, err)
	s, err := Open(db, Options{})
	must(b, err)
	c := &benchmarkChain{toyChain: newToyChain(b), accounts: 100_000}
	must(b, s.Init(c.genesis, c.blocks[0].Entry))
	for range 10 {
		must(b, s.Append(c.transfers(b, 10_000)))
	}
	for _, h := range []types.Height{10, 5} {
		b.Run(fmt.Sprintf("height %d of 10", h), func(b *testing.B) {
			for b.Loop() {
				st, err := s.StateAt(h)
				must(b, err)
				if _, err := st.Get(state.AccountKey(c.account())); err != nil {
					b.Fatal(err)
				}
				must(b, st.Close())
			}
		})
	}
	must(b, s.Close())
	must(b, db.Close())
}
