package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A stateless store has the rows of blocks, the codes that these created and called, and of the state the parameters
// alone, which judge the next block. It has no lists of contracts and no token holders: what it keeps is bounded by the
// retention.

// parametersKey is the state key that a stateless store keeps.
var parametersKey = state.ParametersKey()

// Stateless reports whether the store keeps no state but the parameters: every other key is [ErrNoState]. A store is
// what it was begun as.
func (s *Store) Stateless() bool {
	v := s.view.Load()
	return v != nil && v.stateless
}

// kept are the accesses whose keys have rows of state.
func (v *view) kept(accesses []types.Access) []types.Access {
	if !v.stateless {
		return accesses
	}
	for i := range accesses {
		if bytes.Equal(accesses[i].Key, parametersKey) {
			return accesses[i : i+1]
		}
	}
	return nil
}

// listedCodes are the codes of the contracts in a block's list of accesses: all that the block used are among them.
func listedCodes(accesses []types.Access) ([]types.CodeHash, error) {
	var codes []types.CodeHash
	for _, a := range accesses {
		record := a.New
		if len(record) == 0 {
			record = a.Old
		}
		if len(record) == 0 || len(a.Key) == 0 || state.Domain(a.Key[0]) != state.DomainContract {
			continue
		}
		contract, err := state.DecodeContract(record)
		if err != nil {
			return nil, fmt.Errorf("%w: contract %x: %w", ErrCorrupt, a.Key[1:], err)
		}
		codes = append(codes, contract.CodeHash)
	}
	return codes, nil
}

// unusedCodes gives the keys of those of the codes that no block after h used, in a stateless store.
func (v *view) unusedCodes(h types.Height, codes []types.CodeHash, do func(key []byte)) error {
	for _, hash := range codes {
		row, err := v.snapshot.Get(tableCodeSizes.key(hash[:]))
		if errors.Is(err, kv.ErrNotFound) { // it was listed only
			continue
		}
		if err != nil {
			return err
		}
		known, err := decodeCodeSize(row)
		if err != nil {
			return err
		}
		if known.since <= h {
			do(tableCodes.key(hash[:]))
			do(tableCodeSizes.key(hash[:]))
		}
	}
	return nil
}

// usedCodes notes which codes the block is the last to have used, in a stateless store.
func (c *checker) usedCodes(h types.Height, accesses []types.Access) error {
	codes, err := listedCodes(accesses)
	for _, hash := range codes {
		if use := c.codes[hash]; use != nil && use.since == h {
			use.used = true
		}
	}
	return err
}

// codesOfBlocks checks that each code has a size and a block that is kept, in a stateless store.
func (c *checker) codesOfBlocks() error {
	for hash, use := range c.codes {
		switch {
		case !use.sized:
			c.add(allTables[tableCodes], "code %s has no size", hash)
		case !use.used:
			c.add(allTables[tableCodes], "code %s is said to be used by block %d", hash, use.since)
		}
	}
	return nil
}

// noState checks that a stateless store has no rows of state but the parameters'.
func (c *checker) noState() error {
	for _, t := range []table{tableState, tableLeaves, tableHistory, tableDeploys, tableHolders, tableRanks, tableCounts} {
		lower, upper := t.bounds()
		err := kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
			if t == tableState && bytes.Equal(key[1:], parametersKey) {
				c.report.StateKeys++
			} else if t != tableHistory || !bytes.HasPrefix(key, historyPrefix(parametersKey)) {
				c.add(allTables[t], "a row in a store without state, under %x", key)
			}
			return c.ctx.Err()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
