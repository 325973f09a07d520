package chain

import (
	"bytes"

	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/types"
)

// blocks checks every stored block and all rows derived from it.
func (c *checker) blocks() error {
	var before *types.Header
	if c.report.Oldest > 0 {
		genesis, err := readHeader(c.view.snapshot, 0)
		if err := c.note(inBlock(0), err); err != nil {
			return err
		}
		c.genesisHeader(genesis)
		hash := genesis.Header.Hash()
		if err := c.expect(0, tableHashes.key(hash[:]), encodeHeight(0)); err != nil {
			return err
		}
		if c.report.Oldest == 1 {
			before = &genesis.Header
		}
	}
	for h := c.report.Oldest; h <= c.report.Head; h++ {
		header, err := readHeader(c.view.snapshot, h)
		if err != nil {
			before = nil
			c.rows[h-c.report.Oldest] = 0 // the rows to expect are unknown
			if err := c.note(inBlock(h), err); err != nil {
				return err
			}
			continue
		}
		c.header(h, header, before)
		before = &header.Header
		if err := c.body(h, header.Header); err != nil {
			return err
		}
		if err := c.step(1); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) genesisHeader(signed types.SignedHeader) {
	h := signed.Header
	if signed.Seal != (types.Seal{}) {
		c.add(inBlock(0), "it is sealed")
	}
	if h.Height != 0 || h.Parent != c.genesis.Digest() {
		c.add(inBlock(0), "its header, with height %d and parent %s, does not belong to the genesis %s",
			h.Height, h.Parent,
			c.genesis.Digest())
	}
}

// header checks a header by itself and against the previous one, which is nil if unknown.
func (c *checker) header(h types.Height, signed types.SignedHeader, before *types.Header) {
	header := signed.Header
	if header.Height != h {
		c.add(inBlock(h), "its header has height %d", header.Height)
	}
	if header.ChainID != c.genesis.ChainID {
		c.add(inBlock(h), "its header has chain id %d, but the genesis has %d", header.ChainID, c.genesis.ChainID)
	}
	if h == 0 {
		c.genesisHeader(signed)
		return
	}
	if before != nil && header.Parent != before.Hash() {
		c.add(inBlock(h), "its parent is %s, but the previous block is %s", header.Parent, before.Hash())
	}
	if before != nil && header.Timestamp < before.Timestamp {
		c.add(inBlock(h), "its time, %d, is before its parent's, %d", header.Timestamp, before.Timestamp)
	}
	if !signed.VerifySeal() {
		c.add(inBlock(h), "its seal is not its producer's")
	}
}

// body checks the data that the header commits to, and the rows derived from it.
func (c *checker) body(h types.Height, header types.Header) error {
	index, err := readIndexed(c.view.snapshot, h)
	if err == nil {
		c.lists(h, header, index)
		if !c.view.stateless {
			c.moved(index)
			c.brought(index)
			if err := c.note(inBlock(h), c.revealed(index)); err != nil {
				return err
			}
		}
		if err := c.failures(index); err != nil {
			return err
		}
		err = index.rows(func(key, value []byte) error { return c.expect(h, key, value) })
	}
	accesses, accessesErr := readAccesses(c.view.snapshot, h)
	if accessesErr == nil {
		c.report.Accesses += uint64(len(accesses))
		for i := 1; i < len(accesses); i++ {
			if bytes.Compare(accesses[i-1].Key, accesses[i].Key) >= 0 {
				c.add(inBlock(h), "access %d does not ascend", i)
			}
		}
		accessesErr = c.history(h, accesses)
		switch {
		case err != nil, accessesErr != nil:
		case c.view.stateless:
			accessesErr = c.usedCodes(index, accesses)
		default:
			accessesErr = c.deployed(h, accesses)
		}
	}
	if err == nil && accessesErr == nil {
		accessesErr = c.sizes(h, index, accesses)
	}
	if err != nil || accessesErr != nil {
		c.rows[h-c.report.Oldest] = 0 // the rows to expect are unknown
	}
	if err := c.note(inBlock(h), err); err != nil {
		return err
	}
	return c.note(inBlock(h), accessesErr)
}

// sizes checks the row with the sizes of a block's lists.
func (c *checker) sizes(h types.Height, index indexed, accesses []types.Access) error {
	entry := Entry{Result: exec.Result{Transactions: index.txs, Accesses: accesses}}
	said, err := readSizes(c.view.snapshot, h)
	if is := entry.sizes(); err == nil && said != is {
		c.add(inBlock(h), "its lists have the sizes %v, but the row says %v", is, said)
	}
	return err
}

// lists checks transactions and receipts against the header.
func (c *checker) lists(h types.Height, header types.Header, index indexed) {
	c.report.Transactions += uint64(len(index.txs))
	var gas types.Gas
	for _, receipt := range index.receipts {
		gas += receipt.GasUsed
	}
	if root := lists.TransactionsRoot(index.txs); root != header.TransactionsRoot {
		c.add(inBlock(h), "its transactions have the root %s, but its header says %s", root, header.TransactionsRoot)
	}
	if root := lists.ReceiptsRoot(index.receipts); root != header.ReceiptsRoot {
		c.add(inBlock(h), "its receipts have the root %s, but its header says %s", root, header.ReceiptsRoot)
	}
	if gas != header.GasUsed {
		c.add(inBlock(h), "its receipts used %d gas, but its header says %d", gas, header.GasUsed)
	}
}

// history checks that reading the state at a block gives the values in its accesses, and that its history rows hold the
// values before it.
func (c *checker) history(h types.Height, accesses []types.Access) error {
	after := State{view: c.view, height: h}
	for _, a := range c.view.kept(accesses) {
		switch {
		case h == 0 && len(a.Old) > 0:
			c.add(inBlock(h), "state key %x had a value before", a.Key)
		case h > 0 && a.Changed():
			if err := c.expect(h, historyRow(a.Key, h), a.Old); err != nil {
				return err
			}
		}
		value, err := after.Get(a.Key)
		if err != nil {
			return err
		}
		if !bytes.Equal(value, a.New) {
			c.add(inBlock(h), "state key %x has the value %x after it, but its accesses say %x", a.Key, value, a.New)
		}
	}
	return nil
}
