package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

const callGas = types.Gas(40_000_000) // gas of a call with many look-ups

// filling is a kind of block that is full by gas.
type filling struct {
	name    string
	gas     types.Gas                           // maximum gas of a transaction
	lookups int                                 // per transaction; 0: as many as the gas allows
	cold    bool                                // begins with no code in memory
	payload func(lookups int) types.Transaction // returns a transaction's target, value and payload
}

// filled holds the measurements of a full block.
type filled struct {
	name                  string
	transactions, lookups int
	gas                   types.Gas
	made, imported        ledger.Timings
	build, receive, adopt time.Duration // times of making it, verifying its signatures and importing it
}

// measureLookups makes and imports full blocks of random look-ups in a large state, with none of its database in the
// page cache.
func measureLookups(ctx context.Context, s settings) (err error) {
	dir := s.state
	if dir == "" {
		if dir, err = os.MkdirTemp(s.directory, "cairn-growth-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	begun := time.Now()
	c, err := openLookupChain(dir, s.lookups)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	fmt.Fprintf(os.Stderr, "a state of %d leaves in %s\n", c.ledger.TreeSize(), time.Since(begun).Round(time.Second))
	fmt.Printf("\nFull blocks of look-ups at random, %d leaves; "+
		"before each the page cache was emptied of the database.\n\n"+
		"| block | transactions | look-ups | Mgas | made, ms | of it execution | tree | disk | signatures, ms "+
		"| imported, ms "+
		"| of it execution | tree | disk | made, ns a gas | imported, ns a gas | imported, µs a look-up |\n"+
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n", c.ledger.TreeSize())
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
	return fmt.Sprintf("| %s | %d | %d | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f "+
		"| %.2f | %.2f | %.2f |",
		b.name, b.transactions, b.lookups, float64(b.gas)/1e6,
		ms(b.build), ms(b.made.Execute), ms(b.made.Tree), ms(b.made.Append),
		ms(b.receive), ms(b.adopt), ms(b.imported.Execute), ms(b.imported.Tree), ms(b.imported.Append),
		perGas(b.build), perGas(b.adopt), 1000*ms(b.adopt)/float64(b.lookups))
}

// fillings returns the kinds of blocks.
func (c *lookupChain) fillings() []filling {
	many := func(name, function string, first, keys uint64) filling {
		return filling{name: name, gas: callGas, payload: func(lookups int) types.Transaction {
			args := lookup{c.random.Uint64(), uint64(lookups), first, keys}
			return types.Transaction{
				Target: types.Account(c.contract), Payload: types.Call{Function: function, Args: args.encode()},
			}
		}}
	}
	stored := uint64(c.stored)
	return []filling{
		{name: "transfers between accounts", gas: params.Prices.IntrinsicTransfer + params.Prices.WitnessKey, lookups: 2, payload: c.transfer},
		many("reads of short values", "read", 0, stored),
		many("reads of long values", "read", longFirst, longValues),
		many("reads of nothing", "read", nothingFirst, 1<<31),
		many("reads of nothing, keys of 256 bytes", "readLong", nothingFirst, 1<<31),
		many("writes", "write", 0, stored),
		many("new keys", "write", 2*nothingFirst, 1<<31),
		{
			name: fmt.Sprintf("calls of %d contracts", lookupTokens), gas: params.Prices.StorageReserve + 200_000,
			lookups: 1, cold: true, payload: c.approve,
		},
	}
}

// transfer returns a transfer to a random account.
func (c *lookupChain) transfer(int) types.Transaction {
	return types.Transaction{Target: c.account(c.random.IntN(c.accounts)), Value: 1, Payload: types.Transfer{}}
}

// approve returns a call of a random token.
func (c *lookupChain) approve(int) types.Transaction {
	return types.Transaction{Target: types.Account(c.tokens[c.random.IntN(len(c.tokens))]), Payload: types.Call{
		Function: "approve",
		Args:     fmt.Appendf(nil, `{"spender":%q,"amount":1}`, c.account(c.random.IntN(c.accounts))),
	}}
}

// measure makes a full block of a kind, and imports it on the same chain. It then restores the chain.
func (c *lookupChain) measure(f filling) (m filled, err error) {
	each, err := c.fit(&f)
	if err != nil {
		return m, err
	}
	payloads := make([]types.Transaction, params.DefaultGasLimit/each)
	for i := range payloads {
		payloads[i] = f.payload(f.lookups)
	}
	b, err := c.sign(payloads, f.gas) // the maximum: storage look-ups require some gas to remain
	if err != nil {
		return m, err
	}
	if err := c.prepare(f); err != nil {
		return m, err
	}
	begun := time.Now()
	made, err := c.seal(b)
	if err != nil {
		return m, err
	}
	m.build = time.Since(begun)
	h, included := made.Header.Header, len(made.Included)
	if included < len(payloads)*9/10 { // short transactions may fill a block's bytes before its gas
		return m, fmt.Errorf("%d of %d transactions were included", included, len(payloads))
	}
	m.name, m.transactions, m.lookups, m.gas, m.made = f.name, included, included*f.lookups, h.GasUsed, made.Timings
	block, err := c.opened.store.Block(h.Height)
	if err == nil {
		err = c.ledger.Rewind(h.Height - 1)
	}
	if err == nil {
		err = c.prepare(f)
	}
	if err == nil {
		err = c.adopt(block.Encode(), &m)
	}
	if err == nil {
		err = c.ledger.Rewind(h.Height - 1)
	}
	return m, err
}

// prepare prepares the chain for making or importing a block of a kind.
func (c *lookupChain) prepare(f filling) error {
	if f.cold {
		if err := c.close(); err != nil {
			return err
		}
		if err := c.open(); err != nil {
			return err
		}
	}
	return c.cool()
}

// adopt imports a block.
func (c *lookupChain) adopt(block []byte, m *filled) error {
	begun := time.Now()
	received, err := ledger.Receive(types.Regtest, block)
	if err != nil {
		return err
	}
	m.receive = time.Since(begun)
	begun = time.Now()
	imported, err := c.ledger.Import(received)
	if err != nil {
		return err
	}
	m.adopt, m.imported = time.Since(begun), imported[0].Timings
	return nil
}

// fit determines the number of look-ups per transaction if it is open, and returns the gas of one transaction.
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
	return min(used+used/100, f.gas), err // others of the kind may use slightly more
}

// used returns the gas that a transaction uses. It then restores the chain.
func (c *lookupChain) used(f *filling, lookups int) (types.Gas, error) {
	b, err := c.sign([]types.Transaction{f.payload(lookups)}, f.gas)
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
		return 0, fmt.Errorf("the transaction that measures the gas failed: %+v", receipts)
	}
	return h.GasUsed, c.ledger.Rewind(h.Height - 1)
}
