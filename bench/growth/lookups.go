package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

const (
	lookupContracts = 1_000                 // with the same code
	longValues      = 100_000               // of longBytes, in the storage of the first contract
	longBytes       = 1_000                 // more than is kept in memory
	longFirst       = 1 << 40               // their keys
	nothingFirst    = 1 << 50               // keys that have no value
	callGas         = types.Gas(40_000_000) // of a call that looks many keys up
)

// lookupChain is a chain whose state is half accounts and half the storage of a contract.
type lookupChain struct {
	*grown
	contracts []types.ContractID
	stored    int // short values of the first contract, under the keys from 0 on
	opened    *opened
	engine    *wasm.Engine
	ledger    *ledger.Ledger
	random    *rand.Rand
}

// filling is a kind of block that is full in gas.
type filling struct {
	name    string
	gas     types.Gas                       // of a transaction, at most
	lookups int                             // of a transaction; 0: as many as the gas allows
	payload func(lookups int) types.Payload // of a transaction
}

// filled is what a full block took.
type filled struct {
	name                  string
	transactions, lookups int
	gas                   types.Gas
	made, imported        ledger.Timings
	build, receive, adopt time.Duration // making it, verifying its signatures, importing it
}

// measureLookups makes and imports full blocks of look-ups at random in a large state, of whose database nothing is in the
// page cache.
func measureLookups(ctx context.Context, s settings) (err error) {
	dir, err := os.MkdirTemp(s.directory, "cairn-growth-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c, err := newLookupChain(filepath.Join(dir, "chain"), s.lookups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	fmt.Printf("\nFull blocks of look-ups at random, %d leaves; before each the page cache was emptied of the database.\n\n"+
		"| block | transactions | look-ups | Mgas | made, ms | of it execution | tree | disk | signatures, ms | imported, ms | of it execution | tree | disk | "+
		"made, ns a gas | imported, ns a gas | imported, µs a look-up |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", c.ledger.TreeSize())
	for _, f := range c.fillings() {
		if err := ctx.Err(); err != nil {
			return err
		}
		fmt.Fprintln(os.Stderr, f.name)
		b, err := c.measure(f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Println(b.row())
	}
	return nil
}

func (b filled) row() string {
	perGas := func(d time.Duration) float64 { return float64(d) / float64(b.gas) }
	ms := milliseconds
	return fmt.Sprintf("| %s | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.2f | %.2f | %.2f |",
		b.name, b.transactions, b.lookups, float64(b.gas)/1e6, ms(b.build), ms(b.made.Execute), ms(b.made.Tree), ms(b.made.Append),
		ms(b.receive), ms(b.adopt), ms(b.imported.Execute), ms(b.imported.Tree), ms(b.imported.Append),
		perGas(b.build), perGas(b.adopt), 1000*ms(b.adopt)/float64(b.lookups))
}

// newLookupChain makes a chain with so many leaves.
func newLookupChain(dir string, leaves int) (*lookupChain, error) {
	g, err := newGrown(dir)
	if err != nil {
		return nil, err
	}
	c := &lookupChain{grown: g, random: rand.New(rand.NewPCG(5, 6)), stored: leaves / 2}
	if c.engine, err = wasm.New(wasm.Options{}); err != nil {
		return nil, err
	}
	if err = c.open(); err == nil {
		err = c.deploy()
	}
	if err != nil {
		return nil, err
	}
	// Past the execution: the ledger is opened anew then.
	t, err := ledger.LoadTree(c.opened.store)
	if err == nil {
		err = c.fill(t, leaves)
	}
	if err == nil {
		c.opened.settle()
		err = c.opened.close()
	}
	if err != nil {
		return nil, err
	}
	return c, c.open()
}

func (c *lookupChain) open() (err error) {
	if c.opened, err = c.grown.open(); err != nil {
		return err
	}
	c.ledger, err = c.grown.ledger(c.opened, c.engine)
	return err
}

func (c *lookupChain) close() error { return errors.Join(c.opened.close(), c.engine.Close()) }

// deploy deploys the contract with a transaction.
func (c *lookupChain) deploy() error {
	b, err := c.sign([]types.Payload{types.Deploy{Code: lookupContract()}}, callGas)
	if err != nil {
		return err
	}
	if _, err := c.seal(b); err != nil {
		return err
	}
	receipts, err := c.opened.store.Receipts(c.opened.store.Head().Header.Height)
	if err == nil && receipts[0].Contract == nil {
		err = fmt.Errorf("the deploy failed: %s", receipts[0].Output)
	}
	if err == nil {
		c.contracts = append(c.contracts, *receipts[0].Contract)
	}
	return err
}

// fill writes the other contracts, the values and the accounts.
func (c *lookupChain) fill(t *tree.Tree, leaves int) error {
	record, err := c.value(state.ContractKey(c.contracts[0]))
	if err != nil {
		return err
	}
	var writes []types.Access
	for i := range lookupContracts - 1 {
		id := types.ContractID(account(-10 - i))
		c.contracts = append(c.contracts, id)
		writes = append(writes, types.Access{Key: state.ContractKey(id), New: record})
	}
	flush := func() error {
		sortByKey(writes)
		_, err := c.opened.appendWrites(t, writes)
		writes = writes[:0]
		return err
	}
	put := func(key uint64, value []byte) error {
		writes = append(writes, types.Access{Key: state.StorageKey(c.contracts[0], binary.LittleEndian.AppendUint64(nil, key)), New: value})
		if len(writes) < newAccounts/2 {
			return nil
		}
		return flush()
	}
	for i := range c.stored {
		if err := put(uint64(i), binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(i))); err != nil {
			return err
		}
	}
	if err := flush(); err != nil {
		return err
	}
	for i := range longValues {
		value := make([]byte, longBytes)
		binary.LittleEndian.PutUint64(value, uint64(i)+1)
		if err := put(longFirst+uint64(i), value); err != nil {
			return err
		}
		if len(writes) == newAccounts/20 { // long values are long rows
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	return c.grow(c.opened, t, leaves)
}

// value reads the state at the head.
func (c *lookupChain) value(key []byte) ([]byte, error) {
	view, err := c.opened.store.HeadState()
	if err != nil {
		return nil, err
	}
	value, err := view.Get(key)
	return value, errors.Join(err, view.Close())
}

// fillings are the kinds of blocks.
func (c *lookupChain) fillings() []filling {
	call := func(id types.ContractID, function string, lookups int, first, keys uint64) types.Payload {
		return types.Call{Contract: id, Function: function, Args: lookup{c.random.Uint64(), uint64(lookups), first, keys}.encode()}
	}
	many := func(name, function string, first, keys uint64) filling {
		return filling{name: name, gas: callGas, payload: func(lookups int) types.Payload {
			return call(c.contracts[0], function, lookups, first, keys)
		}}
	}
	stored := uint64(c.stored)
	return []filling{
		{"transfers between accounts", params.Schedule1.IntrinsicTransfer, 2, func(int) types.Payload {
			return types.Transfer{To: account(c.random.IntN(c.accounts)), Amount: 1}
		}},
		many("reads of short values", "read", 0, stored),
		many("reads of long values", "read", longFirst, longValues),
		many("reads of nothing", "read", nothingFirst, 1<<31),
		many("writes", "write", 0, stored),
		many("new keys", "write", 2*nothingFirst, 1<<31),
		{fmt.Sprintf("calls of %d contracts", lookupContracts), 100_000, 1, func(lookups int) types.Payload {
			return call(c.contracts[c.random.IntN(lookupContracts)], "read", lookups, nothingFirst, 1<<31)
		}},
	}
}

// measure makes full blocks of a kind, and imports each where it was made.
func (c *lookupChain) measure(f filling) (m filled, err error) {
	each, err := c.fit(&f)
	if err != nil {
		return m, err
	}
	count := int(params.DefaultGasLimit / each)
	payloads := make([]types.Payload, count)
	for i := range payloads {
		payloads[i] = f.payload(f.lookups)
	}
	b, err := c.sign(payloads, each)
	if err != nil {
		return m, err
	}
	if err := c.cool(); err != nil {
		return m, err
	}
	begun := time.Now()
	made, err := c.seal(b)
	if err != nil {
		return m, err
	}
	took, h, included := time.Since(begun), made.Header.Header, len(made.Included)
	if included < count*9/10 { // short ones may fill a block's bytes before its gas
		return m, fmt.Errorf("%d of %d transactions were included", included, count)
	}
	m = filled{name: f.name, transactions: included, lookups: included * f.lookups, gas: h.GasUsed, made: made.Timings, build: took}
	block, err := c.opened.store.Block(h.Height)
	if err == nil {
		err = c.ledger.Rewind(h.Height - 1)
	}
	if err == nil {
		err = c.cool()
	}
	if err != nil {
		return m, err
	}
	begun = time.Now()
	received, err := ledger.Receive(block.Encode())
	if err != nil {
		return m, err
	}
	m.receive = time.Since(begun)
	begun = time.Now()
	imported, err := c.ledger.Import(received)
	if err != nil {
		return m, err
	}
	m.adopt, m.imported = time.Since(begun), imported[0].Timings
	return m, nil
}

// cool waits until the database has done its work, and takes it out of the page cache.
func (c *lookupChain) cool() error {
	c.opened.settle()
	runtime.GC()
	return evict(filepath.Join(c.dir, databaseDir))
}

// fit finds how many look-ups a transaction makes where that is open, and returns the gas that one takes at most.
func (c *lookupChain) fit(f *filling) (types.Gas, error) {
	if f.lookups == 0 {
		few, err := c.used(f, 10)
		if err != nil {
			return 0, err
		}
		more, err := c.used(f, 110)
		if err != nil {
			return 0, err
		}
		f.lookups = int((f.gas*99/100 - few) / ((more - few) / 100))
	}
	used, err := c.used(f, f.lookups)
	return min(used+used/200, f.gas), err
}

// used is the gas that a transaction takes. The chain is as it was then.
func (c *lookupChain) used(f *filling, lookups int) (types.Gas, error) {
	b, err := c.sign([]types.Payload{f.payload(lookups)}, f.gas)
	if err != nil {
		return 0, err
	}
	block, err := c.seal(b)
	if err != nil {
		return 0, err
	}
	h := block.Header.Header
	receipts, err := c.opened.store.Receipts(h.Height)
	switch {
	case err != nil:
		return 0, err
	case len(receipts) != 1 || receipts[0].Status != types.StatusSuccess:
		return 0, fmt.Errorf("a transaction that is to show its gas: %+v", receipts)
	}
	return h.GasUsed, c.ledger.Rewind(h.Height - 1)
}

// seal makes a block.
func (c *lookupChain) seal(b *batch) (ledger.Block, error) {
	return c.ledger.Build(ledger.Batch{Time: c.ledger.Tip().Header.Header.Timestamp + 1, Transactions: b},
		func(hash types.BlockHash) (types.Signature, error) { return c.producer.Sign(hash[:], [32]byte{}) })
}

// sign makes transactions of payloads, by the senders in turn.
func (c *lookupChain) sign(payloads []types.Payload, gas types.Gas) (*batch, error) {
	nonces := make([]uint64, min(len(payloads), senders))
	for i := range nonces {
		value, err := c.value(state.AccountKey(c.keys[i].PublicKey()))
		if err != nil {
			return nil, err
		}
		record, err := state.DecodeAccount(value)
		if err != nil {
			return nil, err
		}
		nonces[i] = record.Nonce
	}
	txs, errs := make([]types.SignedTransaction, len(payloads)), make([]error, len(payloads))
	parallel.Run(len(payloads), func(i int) {
		key := c.keys[i%senders]
		txs[i], errs[i] = types.Sign(types.Transaction{
			Version: types.TransactionVersion, ChainID: 4242, Sender: key.PublicKey(), Nonce: nonces[i%senders] + uint64(i/senders),
			GasLimit: gas, MaxFeePerGas: 1_000, Payload: payloads[i],
		}, key, [32]byte{})
	})
	b := &batch{}
	for part := range slices.Chunk(txs, 512) {
		b.txs = append(b.txs, types.VerifySignatures(types.NewTxs(part...))...)
	}
	return b, errors.Join(errs...)
}
