package chain

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// checkBatch is the number of state keys that are hashed together.
const checkBatch = 1024

// codeUse records for a stored code the block that is said to have brought it, and the first stored block that did. In a
// stateless store it records the block that is said to have used it last, and whether that block did.
type codeUse struct {
	since, first types.Height
	used, sized  bool
}

// codesThemselves checks codes against their hashes.
func (c *checker) codesThemselves() error {
	where := allTables[tableCodes]
	lower, upper := tableCodes.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		if hash := sha256.Sum256(row); !bytes.Equal(key[1:], hash[:]) {
			c.add(where, "code %x has the hash %x", key[1:], hash)
		} else {
			c.codes[hash] = new(codeUse)
		}
		c.report.Codes++
		return c.ctx.Err()
	})
}

// flatState checks the records of the head's state, that coins are conserved, and that codes are there.
func (c *checker) flatState() error {
	f := flat{checker: c}
	lower, upper := tableState.bounds()
	err := kv.Scan(c.view.snapshot, lower, upper, func(key, value []byte) error {
		c.report.StateKeys++
		if len(key) > 1 {
			c.counted.write(types.Access{Key: key[1:], New: value})
		}
		if err := f.record(key[1:], value); err != nil {
			c.add("state", "key %x: %v", key[1:], err)
		}
		return c.ctx.Err()
	})
	if err != nil {
		return err
	}
	total, err := f.balances.Add(f.supply.Burned)
	if f.overflow || err != nil || total != f.supply.Supply {
		c.add("state", "balances of %d and %d burned are not the supply of %d", f.balances, f.supply.Burned, f.supply.Supply)
	}
	return nil
}

// flat adds up the records of a state.
type flat struct {
	*checker
	supply   state.Supply
	balances types.Amount
	overflow bool
}

// record checks one record by its key's domain.
func (f *flat) record(key, value []byte) (err error) {
	if len(key) == 0 || len(value) == 0 {
		return fmt.Errorf("empty")
	}
	domain := state.Domain(key[0])
	if domain != state.DomainChain && domain != state.DomainStorage && len(key) != 33 {
		return fmt.Errorf("the key has %d bytes, not 33", len(key))
	}
	switch domain {
	case state.DomainChain:
		return f.chainRecord(key, value)
	case state.DomainAccount:
		account, err := state.DecodeAccount(types.Account(key[1:]), value)
		if err != nil {
			return err
		}
		sum, err := f.balances.Add(account.Balance)
		f.balances, f.overflow = sum, f.overflow || err != nil
		return err
	case state.DomainContract:
		contract, err := state.DecodeContract(value)
		if err != nil {
			return err
		}
		f.contracts.add(types.ContractID(key[1:]))
		return f.contract(contract)
	case state.DomainStorage:
		if len(key) < 33 || len(key) > 33+types.MaxStorageKeyBytes || len(value) > types.MaxStorageValueBytes {
			return fmt.Errorf("a storage key of %d bytes, a value of %d", len(key), len(value))
		}
		return nil
	default:
		return fmt.Errorf("unknown domain %d", domain)
	}
}

func (f *flat) chainRecord(key, value []byte) (err error) {
	switch {
	case bytes.Equal(key, state.SupplyKey()):
		f.supply, err = state.DecodeSupply(value)
	case bytes.Equal(key, state.ParametersKey()):
		_, err = types.DecodeParameters(value)
	default:
		err = fmt.Errorf("unknown")
	}
	return err
}

func (f *flat) contract(contract state.Contract) error {
	if f.codes[contract.CodeHash] == nil {
		return fmt.Errorf("its code %s is not stored", contract.CodeHash)
	}
	return nil
}

// leaves checks the leaves' rows against the state, and the root of their tree against the head's.
func (c *checker) leaves() error {
	const parts leafParts = 8
	l := leafChecker{checker: c}
	serial := func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	loaded, err := tree.Load(int(parts), func(part int, leaves []tree.Leaf) ([]tree.Leaf, error) {
		return l.read(leaves, parts, part)
	}, serial)
	if err != nil {
		return err
	}
	if root, said := loaded.Root(), c.view.head.Header.StateRoot; root != said {
		c.add("state", "its tree has the root %s, but the head's header says %s", root, said)
	}
	if err := c.outline(loaded); err != nil || l.matched == c.report.StateKeys {
		return err
	}
	return c.keysWithoutLeaf()
}

// outline checks the outline of the state tree, if the head has one.
func (c *checker) outline(t *tree.Tree) error {
	o, err := c.view.outline()
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err == nil && (o.Leaves != t.Len() || !slices.Equal(o.Digests, t.Outline(int(partsOf(len(o.Digests)))))) {
		c.add("state", "the outline belongs to a different tree")
	}
	return c.note("state", err)
}

// leafChecker reads the leaves' rows in batches and recomputes the leaves.
type leafChecker struct {
	*checker
	it      *kv.Iter
	started bool
	matched uint64 // rows at the path of their key that has a value
}

// read appends the leaves of a part to leaves, for tree.Load.
func (l *leafChecker) read(leaves []tree.Leaf, parts leafParts, part int) ([]tree.Leaf, error) {
	var err error
	if l.it, err = l.view.snapshot.NewIter(parts.bounds(part)); err != nil {
		return nil, err
	}
	l.started = false
	for more := true; more && err == nil; {
		leaves, more, err = l.fill(leaves)
	}
	return leaves, errors.Join(err, l.it.Close())
}

// fill reads and checks the next batch of rows, appends their leaves to ready, and reports whether there were any.
func (l *leafChecker) fill(ready []tree.Leaf) ([]tree.Leaf, bool, error) {
	var (
		stored       []leafRow
		paths        []poseidon.Digest
		keys, values [][]byte
		read         int
	)
	for ; read < checkBatch && l.advance(); read++ {
		path, err := parseDigest(l.it.Key()[1:])
		row, rowErr := decodeLeafRow(bytes.Clone(l.it.Value()))
		if err := errors.Join(err, rowErr); err != nil {
			l.add(allTables[tableLeaves], "row %x: %v", l.it.Key(), err)
			continue
		}
		value, err := l.view.snapshot.Get(tableState.key(row.key))
		if errors.Is(err, kv.ErrNotFound) {
			l.add(allTables[tableLeaves], "row %x is for state key %x, which has no value", l.it.Key(), row.key)
			continue
		}
		if err != nil {
			return nil, false, err
		}
		stored, paths = append(stored, row), append(paths, path)
		keys, values = append(keys, row.key), append(values, value)
	}
	right := tree.Paths(keys)
	for i, leaf := range newLeaves(paths, values) {
		ready = append(ready, tree.Leaf{Path: paths[i], Digest: leaf.leaf})
		switch name := paths[i].Bytes(); {
		case paths[i] != right[i]:
			l.add(allTables[tableLeaves], "row %x is for state key %x, whose path is %x", name, keys[i], right[i].Bytes())
			continue
		case leaf.leaf != stored[i].leaf:
			l.add(allTables[tableLeaves], "row %x: its leaf digest does not match its path and value", name)
		}
		l.matched++
	}
	if err := l.it.Err(); err != nil || read == 0 {
		return ready, false, err
	}
	return ready, true, l.step(read)
}

func (l *leafChecker) advance() bool {
	if !l.started {
		l.started = true
		return l.it.First()
	}
	return l.it.Next()
}

// keysWithoutLeaf reports the state keys that have no leaf.
func (c *checker) keysWithoutLeaf() error {
	lower, upper := tableState.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, _ []byte) error {
		path := tree.Path(key[1:]).Bytes()
		_, err := c.view.snapshot.Get(tableLeaves.key(path[:]))
		if errors.Is(err, kv.ErrNotFound) {
			c.add("state", "key %x has no leaf", key[1:])
			err = nil
		}
		return errors.Join(err, c.ctx.Err())
	})
}
