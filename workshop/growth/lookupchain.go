package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/cairn-chain/cairn/contracts"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/wasm"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

const (
	lookupTokens = 900     // contracts with distinct codes: as many as a block may load
	longValues   = 100_000 // values of longBytes in the storage of the look-up contract
	longBytes    = 1_000   // more than is kept in memory
	longFirst    = 1 << 40 // their first key
	nothingFirst = 1 << 50 // first of the keys without a value

	machineDir = "machine"    // directory of the machine code
	builtFile  = "built.json" // written when the state is complete
)

// lookupChain is a chain whose state is half accounts and half the storage of one contract.
type lookupChain struct {
	*grown
	contract types.ContractID   // the look-up contract
	tokens   []types.ContractID // contracts with codes like the reference token's
	stored   int                // short values of the contract, with keys from 0
	opened   *opened
	engine   *wasm.Engine
	ledger   *ledger.Ledger
	random   *rand.Rand
}

// built is the content of builtFile.
type built struct {
	Leaves, Accounts int
	Contract         types.ContractID
	Height           types.Height
}

// openLookupChain opens the chain with a number of leaves in a directory, creating it if necessary.
func openLookupChain(dir string, leaves int) (*lookupChain, error) {
	g, err := newGrown(dir)
	if err != nil {
		return nil, err
	}
	c := &lookupChain{grown: g, random: rand.New(rand.NewPCG(5, 6)), stored: leaves / 2}
	for i := range lookupTokens {
		c.tokens = append(c.tokens, types.ContractID(account(-10-i)))
	}
	var b built
	text, err := os.ReadFile(filepath.Join(dir, builtFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		b, err = c.build(leaves)
	case err == nil:
		if err = json.Unmarshal(text, &b); err == nil && b.Leaves != leaves {
			err = fmt.Errorf("%s has a state of %d leaves", dir, b.Leaves)
		}
	}
	if err != nil {
		return nil, err
	}
	c.contract, c.accounts = b.Contract, b.Accounts
	if err := c.open(); err != nil {
		return nil, err
	}
	if err := c.ledger.Rewind(b.Height); err != nil { // drop blocks of an interrupted run
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

// build builds the state.
func (c *lookupChain) build(leaves int) (b built, err error) {
	if err = c.open(); err != nil {
		return b, err
	}
	if err = c.deploy(); err == nil {
		err = c.plant(leaves)
	}
	if err = errors.Join(err, c.close()); err != nil {
		return b, err
	}
	if err = c.open(); err != nil {
		return b, err
	}
	b = built{Leaves: leaves, Accounts: c.accounts, Contract: c.contract, Height: c.opened.store.Head().Header.Height}
	err = c.compile()
	if err = errors.Join(err, c.close()); err != nil {
		return b, err
	}
	text, err := json.Marshal(b)
	if err != nil {
		return b, err
	}
	return b, os.WriteFile(filepath.Join(c.dir, builtFile), text, 0o600)
}

// open reopens the chain, with no code in memory.
func (c *lookupChain) open() (err error) {
	c.engine, err = wasm.New(wasm.Options{Dir: filepath.Join(c.dir, machineDir)})
	if err != nil {
		return err
	}
	if c.opened, err = c.grown.open(); err != nil {
		return errors.Join(err, c.engine.Close())
	}
	if c.ledger, err = c.grown.ledger(c.opened, c.engine); err != nil {
		return errors.Join(err, c.close())
	}
	return nil
}

func (c *lookupChain) close() error { return errors.Join(c.opened.close(), c.engine.Close()) }

// cool waits until the database has finished its background work, and evicts all files from the page cache.
func (c *lookupChain) cool() error {
	c.opened.settle()
	runtime.GC()
	return evict(c.dir)
}

// deploy deploys the look-up contract with a transaction.
func (c *lookupChain) deploy() error {
	b, err := c.sign([]types.Transaction{{Payload: types.Deploy{Code: lookupContract()}}}, callGas)
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
		c.contract = *receipts[0].Contract
	}
	return err
}

// plant writes the tokens, values and accounts while bypassing the execution. The ledger must be reopened afterwards.
func (c *lookupChain) plant(leaves int) error {
	t, err := ledger.LoadTree(c.opened.store)
	if err != nil {
		return err
	}
	if err := c.plantTokens(t); err != nil {
		return err
	}
	short := func(i int) (uint64, []byte) {
		return uint64(i), binary.LittleEndian.AppendUint64(make([]byte, 8), uint64(i))
	}
	if err := c.plantValues(t, c.stored, newAccounts/2, short); err != nil {
		return err
	}
	long := func(i int) (uint64, []byte) {
		return longFirst + uint64(i), binary.LittleEndian.AppendUint64(make([]byte, longBytes-8), uint64(i)+1)
	}
	if err := c.plantValues(t, longValues, newAccounts/20, long); err != nil { // fewer per block, as their rows are long
		return err
	}
	err = c.grow(c.opened, t, leaves)
	c.opened.settle()
	return err
}

// plantTokens writes contracts whose codes differ from the reference token in one string.
func (c *lookupChain) plantTokens(t *tree.Tree) error {
	e := exec.Result{Codes: map[types.CodeHash][]byte{}}
	for i, id := range c.tokens {
		text := []byte("/lib.rs")
		code := bytes.Replace(contracts.Token(), text, fmt.Appendf(nil, "/%06d", i), 1)
		if bytes.Equal(code, contracts.Token()) {
			return fmt.Errorf("the reference token lacks %q", text)
		}
		hash := types.CodeHash(sha256.Sum256(code))
		e.Codes[hash] = code
		record := state.Contract{CodeHash: hash, Deployer: c.keys[0].PublicKey()}
		e.Accesses = append(e.Accesses, types.Access{Key: state.ContractKey(id), New: record.Encode()})
	}
	sortByKey(e.Accesses)
	_, err := c.opened.append(t, e)
	return err
}

// plantValues writes count values of the look-up contract, in blocks of the given number.
func (c *lookupChain) plantValues(t *tree.Tree, count, block int, entry func(i int) (key uint64, value []byte)) error {
	for first := 0; first < count; first += block {
		writes := make([]types.Access, min(block, count-first))
		for i := range writes {
			key, value := entry(first + i)
			stored := state.StorageKey(c.contract, binary.LittleEndian.AppendUint64(nil, key))
			writes[i] = types.Access{Key: stored, New: value}
		}
		sortByKey(writes)
		if _, err := c.opened.appendWrites(t, writes); err != nil {
			return err
		}
	}
	return nil
}

// compile compiles the machine code of all tokens, as their deploys would.
func (c *lookupChain) compile() error {
	for i := range c.tokens {
		value, err := c.value(state.ContractKey(c.tokens[i]))
		if err != nil {
			return err
		}
		record, err := state.DecodeContract(value)
		if err != nil {
			return err
		}
		module, err := c.engine.Module(record.CodeHash, func() ([]byte, error) {
			return c.opened.store.Code(record.CodeHash)
		})
		if err == nil {
			err = c.engine.Compile(record.CodeHash, module)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// value reads a value of the head state.
func (c *lookupChain) value(key []byte) ([]byte, error) {
	view, err := c.opened.store.HeadState()
	if err != nil {
		return nil, err
	}
	value, err := view.Get(key)
	return value, errors.Join(err, view.Close())
}

// seal makes a block.
func (c *lookupChain) seal(b *batch) (ledger.Block, error) {
	return c.ledger.Build(ledger.Batch{Time: c.ledger.Tip().Header.Header.Timestamp + 1, Transactions: b},
		func(hash types.BlockHash) (types.Signature, error) { return c.producer.Sign(hash[:], [32]byte{}) })
}

// sign returns transactions with the targets, values and payloads of those given, signed by the senders in turn.
func (c *lookupChain) sign(given []types.Transaction, gas types.Gas) (*batch, error) {
	nonces := make([]uint64, min(len(given), senders))
	for i := range nonces {
		value, err := c.value(state.AccountKey(c.keys[i].PublicKey()))
		if err != nil {
			return nil, err
		}
		record, err := state.DecodeAccount(c.keys[i].PublicKey(), value)
		if err != nil {
			return nil, err
		}
		nonces[i] = record.Nonce
	}
	txs, errs := make([]types.SignedTransaction, len(given)), make([]error, len(given))
	parallel.Run(len(given), func(i int) {
		key := c.keys[i%senders]
		txs[i], errs[i] = types.Sign(types.Transaction{
			Target:       given[i].Target,
			Value:        given[i].Value,
			ChainID:      chainID,
			Sender:       key.PublicKey(),
			Nonce:        nonces[i%senders] + uint64(i/senders),
			GasLimit:     gas,
			MaxFeePerGas: 1_000,
			Payload:      given[i].Payload,
		}, key, [32]byte{})
	})
	b := &batch{}
	for part := range slices.Chunk(txs, 512) {
		b.txs = append(b.txs, types.VerifyWitnesses(types.Regtest, types.NewTxs(part...))...)
	}
	return b, errors.Join(errs...)
}
