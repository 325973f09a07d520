package chain

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// Index and history rows are checked in both directions. Each row that a block should have is looked up. All rows are
// counted by the height that they name, which reveals blocks with surplus rows. Only then are the tables searched for
// those rows.

// maxSearched bounds the number of blocks whose surplus rows are searched for.
const maxSearched = 16

func tablesInOrder() []table { return slices.Sorted(maps.Keys(allTables)) }

// indexTables are the tables whose rows name a height.
var indexTables = []table{tableHashes, tableIDs, tableAccounts, tableEvents, tableHistory}

// heightOfRow returns the height that an index or history row names.
func heightOfRow(key, value []byte) (types.Height, error) {
	switch t := table(key[0]); t {
	case tableAccounts, tableEvents, tableHistory:
		return heightAtEnd(key)
	case tableIDs:
		p, err := decodePosition(value)
		return p.Height, err
	default:
		return decodeHeight(value)
	}
}

// countRows counts the index and history rows of every stored block.
func (c *checker) countRows() error {
	for _, t := range indexTables {
		lower, upper := t.bounds()
		err := kv.Scan(c.view.snapshot, lower, upper, func(key, value []byte) error {
			h, err := heightOfRow(key, value)
			if long := keyLengths[t]; err == nil && long > 0 && len(key) != long {
				err = fmt.Errorf("%w: key %x has %d bytes, not %d", ErrCorrupt, key, len(key), long)
			}
			switch {
			case err != nil:
				return c.note(allTables[t], err)
			case c.kept(h):
				c.rows[h-c.report.Oldest]++
			case c.view.halfPruned && h+1 == c.report.Oldest: // being pruned
			case t == tableHashes && h == 0: // block 0's, which is kept
				return c.rowOfGenesis(key)
			default:
				c.add(allTables[t], "a row of block %d, which is pruned, under %x", h, key)
			}
			return nil
		})
		if err := errors.Join(err, c.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// keyLengths holds the lengths of keys that heightOfRow does not check.
var keyLengths = map[table]int{tableHashes: 33, tableIDs: 33}

func (c *checker) kept(h types.Height) bool { return h >= c.report.Oldest && h <= c.report.Head }

func (c *checker) rowOfGenesis(key []byte) error {
	header, err := readHeader(c.view.snapshot, 0)
	if err != nil {
		return c.note(inBlock(0), err)
	}
	if hash := header.Header.Hash(); !bytes.Equal(key, tableHashes.key(hash[:])) {
		c.add(allTables[tableHashes], "a row of block 0 under %x, whose hash is %s", key, hash)
	}
	return nil
}

// expect looks up a row that block h should have.
func (c *checker) expect(h types.Height, key, value []byte) error {
	row, err := c.view.snapshot.Get(key)
	if errors.Is(err, kv.ErrNotFound) {
		c.add(inBlock(h), "no row in the table of %s under %x", allTables[table(key[0])], key)
		return nil
	}
	if err != nil {
		return err
	}
	if !bytes.Equal(row, value) {
		c.add(inBlock(h), "in the table of %s, under %x, is %x instead of %x", allTables[table(key[0])], key, row, value)
	}
	if counted, err := heightOfRow(key, row); err == nil && c.kept(counted) {
		c.rows[counted-c.report.Oldest]--
	}
	return nil
}

// surplusRows reports the surplus rows of blocks.
func (c *checker) surplusRows() error {
	expected := make(map[types.Height]map[string]bool)
	for i, surplus := range c.rows {
		if surplus > 0 && len(expected) < maxSearched {
			h := c.report.Oldest + types.Height(i)
			keys, err := c.keysOfRows(h)
			if err != nil {
				return err
			}
			expected[h] = keys
		}
	}
	if len(expected) == 0 {
		return nil
	}
	for _, t := range indexTables {
		lower, upper := t.bounds()
		err := kv.Scan(c.view.snapshot, lower, upper, func(key, value []byte) error {
			h, err := heightOfRow(key, value)
			if keys, searched := expected[h]; err == nil && searched && !keys[string(key)] {
				c.add(inBlock(h), "a row too many in the table of %s, under %x", allTables[t], key)
			}
			return nil
		})
		if err := errors.Join(err, c.ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// keysOfRows returns the keys of the index and history rows that a block should have.
func (c *checker) keysOfRows(h types.Height) (map[string]bool, error) {
	keys := make(map[string]bool)
	index, err := readIndexed(c.view.snapshot, h)
	if err != nil {
		return nil, err
	}
	accesses, err := readAccesses(c.view.snapshot, h)
	if err != nil {
		return nil, err
	}
	note := func(key, _ []byte) error { keys[string(key)] = true; return nil }
	if err := index.rows(note); err != nil {
		return nil, err
	}
	if h > 0 {
		for _, w := range c.view.kept(types.Writes(accesses)) {
			keys[string(historyRow(w.Key, h))] = true
		}
	}
	return keys, nil
}
