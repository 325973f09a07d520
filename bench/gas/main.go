// Command gas measures what a gas of each operation costs: it fills a block with a contract that does little else, and
// divides the processor time of making the block by the gas of its schedule. It prints a Markdown table; 1 ns a gas or
// less is what the schedule promises for the reference machine (docs/protocol.md, "Gas schedule").
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/storage/chain"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

func main() {
	gas := flag.Uint64("gas", 200_000_000, "gas of each measured block, up to a block's limit")
	runs := flag.Int("runs", 3, "how often each measurement is made; the least time counts")
	part := flag.String("part", "", "only modules, operations or cold")
	flag.Parse()
	if err := measureAll(types.Gas(*gas), *runs, *part); err != nil {
		fmt.Fprintln(os.Stderr, "gas:", err)
		os.Exit(1)
	}
}

func measureAll(gas types.Gas, runs int, part string) error {
	speed, err := calibrate(runs)
	if err != nil {
		return err
	}
	fmt.Printf("A multiplication with an addition that waits for the one before: %.2f ns.\n", float64(speed)/100e6)
	t := &table{out: os.Stdout, runs: runs}
	for _, section := range []struct {
		name, title string
		measure     func(*table) error
	}{
		{"modules", "Deploys, and calls of modules that are loaded from disk", compileBombs},
		{"operations", "Operations", func(t *table) error { return operations(t, gas) }},
		{"cold", "Blocks of calls whose contracts fell out of memory", func(t *table) error { return coldBlocks(t, gas/10) }},
	} {
		if part != "" && part != section.name {
			continue
		}
		t.begin(section.title)
		if err := section.measure(t); err != nil {
			return err
		}
		t.end()
	}
	return nil
}

// operations measures blocks of contracts that do little else than one thing.
func operations(t *table, gas types.Gas) (err error) {
	m, err := newMeter(wasm.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.close()) }()
	for _, c := range cases() {
		used, took, err := m.measure(c, gas, t.runs)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		t.row(c.name, used, took)
	}
	return nil
}

const chainID = 4242

// meter is a chain in memory of one user, whose blocks are measured.
type meter struct {
	engine         *wasm.Engine
	db             *kv.DB
	store          *chain.Store
	ledger         *ledger.Ledger
	user, producer crypto.PrivateKey
	nonce          uint64
}

func newMeter(options wasm.Options) (*meter, error) {
	m := &meter{}
	var err error
	for name, key := range map[string]*crypto.PrivateKey{"user": &m.user, "producer": &m.producer} {
		if *key, err = crypto.NewPrivateKey(sha256.Sum256([]byte(name))); err != nil {
			return nil, err
		}
	}
	if m.engine, err = wasm.New(options); err != nil {
		return nil, err
	}
	if m.db, err = kv.Open("db", kv.Options{FS: kv.NewCrashDisk().FS()}); err != nil {
		return nil, err
	}
	if m.store, err = chain.Open(m.db, chain.Options{Schedule: params.Schedule1.Digest()}); err != nil {
		return nil, err
	}
	g := types.Genesis{
		ChainID: chainID, Network: types.Regtest, Time: 1, BaseFee: 10, Parameters: params.Default(m.producer.PublicKey()),
		Allocations: []types.Allocation{{Account: m.user.PublicKey(), Balance: 1_000_000_000 * types.CoinUnits}},
	}
	m.ledger, err = ledger.Open(m.store, &g, nil, m.engine)
	return m, err
}

func (m *meter) close() error { return errors.Join(m.store.Close(), m.db.Close(), m.engine.Close()) }

// measure deploys a case's contract and calls it, so that it is compiled and its memory is there. Then it measures the
// least time of some blocks of as many calls as have about so much gas together.
func (m *meter) measure(c measured, gas types.Gas, runs int) (used types.Gas, took time.Duration, err error) {
	deployed, _, err := m.block(params.DefaultGasLimit, 1, types.Deploy{Code: c.code})
	if err != nil {
		return 0, 0, err
	}
	id := deployed[0].Contract
	if id == nil {
		return 0, 0, errors.New("the contract is not deployed")
	}
	call := types.Call{Contract: *id, Function: c.function, Args: append(id[:], id[:]...)}
	first, _, err := m.block(gas, 1, call)
	if err != nil {
		return 0, 0, err
	}
	calls := int(gas / first[0].GasUsed)
	took = math.MaxInt64
	for range runs {
		runtime.GC()
		receipts, t, err := m.block(first[0].GasUsed+first[0].GasUsed/8, calls, call)
		if err != nil {
			return 0, 0, err
		}
		used, took = 0, min(took, t)
		for _, r := range receipts {
			used += r.GasUsed
		}
	}
	return used, took, nil
}

// block makes a block of n transactions, whose payloads come in turn, and gives its receipts and the processor time of all threads.
func (m *meter) block(gas types.Gas, n int, payloads ...types.Payload) ([]types.Receipt, time.Duration, error) {
	signed := make([]types.SignedTransaction, n)
	for i := range signed {
		var err error
		if signed[i], err = types.Sign(types.Transaction{
			Version: types.TransactionVersion, ChainID: chainID, Sender: m.user.PublicKey(), Nonce: m.nonce, GasLimit: gas,
			MaxFeePerGas: params.DefaultMaxBaseFee, Payload: payloads[i%len(payloads)],
		}, m.user, [32]byte{}); err != nil {
			return nil, 0, err
		}
		m.nonce++
	}
	batch := batch(types.VerifySignatures(signed))
	var block ledger.Block
	took, err := processorTime(func() (err error) {
		block, err = m.ledger.Build(ledger.Batch{Time: m.ledger.Tip().Header.Header.Timestamp + 1, Transactions: &batch},
			func(h types.BlockHash) (types.Signature, error) { return m.producer.Sign(h[:], [32]byte{}) })
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	receipts, err := m.store.Receipts(block.Header.Header.Height)
	if err == nil && len(receipts) != n {
		err = fmt.Errorf("%d of %d transactions were included", len(receipts), n)
	}
	return receipts, took, err
}

// batch is the transactions of a block.
type batch []*types.VerifiedTx

func (b *batch) Next() *types.VerifiedTx {
	if len(*b) == 0 {
		return nil
	}
	tx := (*b)[0]
	*b = (*b)[1:]
	return tx
}

func (*batch) SkipSender() {}
