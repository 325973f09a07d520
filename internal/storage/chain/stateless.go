package chain

import (
	"bytes"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// A stateless store has the rows of blocks, and of the state the parameters alone, which judge the next block. It has
// no codes, no lists of contracts and no token holders: what it keeps is bounded by the retention.

// parametersKey is the state key that a stateless store keeps.
var parametersKey = state.ParametersKey()

// Stateless reports whether the store keeps no state but the parameters: every other key is [ErrNoState]. A store is what
// it was begun as.
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

// noState checks that a stateless store has no rows of state but the parameters'.
func (c *checker) noState() error {
	for _, t := range []table{tableState, tableLeaves, tableHistory, tableCodes, tableCodeSizes, tableDeploys, tableHolders, tableRanks} {
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
