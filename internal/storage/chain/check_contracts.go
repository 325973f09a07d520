package chain

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// comparison compares two multisets by the sums of their elements' seeded hashes, which nobody can predict.
type comparison[T comparable] struct {
	seed       maphash.Seed
	difference uint64 // 0 if they are equal
}

func (c *comparison[T]) add(element T)    { c.difference += maphash.Comparable(c.seed, element) }
func (c *comparison[T]) remove(element T) { c.difference -= maphash.Comparable(c.seed, element) }

// deployments checks the list of contracts against their records.
func (c *checker) deployments() error {
	where := allTables[tableDeploys]
	lower, upper := tableDeploys.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		d, err := decodeDeployment(key, row)
		if err != nil {
			return c.note(where, err)
		}
		c.contracts.remove(d.Contract)
		record, err := c.view.snapshot.Get(tableState.key(state.ContractKey(d.Contract)))
		if errors.Is(err, kv.ErrNotFound) {
			c.add(where, "%s of block %d is not a contract", d.Contract, d.Height)
			return nil
		}
		if err != nil {
			return err
		}
		if contract, err := state.DecodeContract(record); err == nil && contract.Height != d.Height {
			c.add(where, "%s was deployed in block %d, but its record says %d", d.Contract, d.Height, contract.Height)
		}
		return c.ctx.Err()
	})
}

// allListed checks that every contract is listed once.
func (c *checker) allListed() error {
	if c.contracts.difference != 0 {
		c.add(allTables[tableDeploys], "the list does not have every contract exactly once")
	}
	return nil
}

// deployed checks that the contracts made by a stored block are listed under it.
func (c *checker) deployed(h types.Height, accesses []types.Access) error {
	return deploys(h, accesses, func(key, value []byte) error {
		row, err := c.view.snapshot.Get(key)
		if err == nil && !bytes.Equal(row, value) {
			c.add(inBlock(h), "contract %x is listed as %x", value, row)
		}
		if errors.Is(err, kv.ErrNotFound) {
			c.add(inBlock(h), "contract %x is not listed", value)
			err = nil
		}
		return err
	})
}

// brought checks that the codes that a stored block's deploys brought are there, and records the first block of each. A
// code that no contract has after the oldest stored block may be missing: a copy of that block's state leaves it out.
func (c *checker) brought(index indexed) {
	for _, hash := range index.codes() {
		use := c.codes[hash]
		switch {
		case use == nil && index.height == c.report.Oldest:
		case use == nil:
			c.add(inBlock(index.height), "code %s, which it brought, is not stored", hash)
		case !use.used:
			use.used, use.first = true, index.height
		}
	}
}

// codesOfDeploys checks each code against the first stored deploy that brought it. A code stays when the last contract
// that had it gets another. Codes of the oldest stored block and before it may be of blocks that are not stored.
func (c *checker) codesOfDeploys() error {
	where := allTables[tableCodes]
	for hash, use := range c.codes {
		stored := use.since > c.report.Oldest || c.report.Oldest == 0
		switch {
		case !use.sized:
			c.add(where, "code %s has no size", hash)
		case stored && !use.used:
			c.add(where, "code %s is recorded for block %d, but no block deployed it", hash, use.since)
		case stored && use.since != use.first:
			c.add(where, "code %s is recorded for block %d, but was first deployed in block %d", hash, use.since, use.first)
		}
	}
	return nil
}

// failures checks that a block has a reason for each failed transaction, and no other.
func (c *checker) failures(index indexed) error {
	failed := 0
	for i, receipt := range index.receipts {
		if receipt.Status == types.StatusFailed {
			failed++
		}
		if _, err := readReason(c.view.snapshot, Position{index.height, uint32(i)}, receipt); err != nil {
			if err := c.note(inBlock(index.height), err); err != nil {
				return err
			}
		}
	}
	rows := 0
	lower, upper := tableFailures.heightBounds(index.height)
	err := kv.Scan(c.view.snapshot, lower, upper, func(_, _ []byte) error { rows++; return nil })
	if rows != failed {
		c.add(inBlock(index.height), "%d reasons of failure, %d transactions failed", rows, failed)
	}
	return err
}

// codeSizes checks the size rows of codes, and records the blocks that brought the codes.
func (c *checker) codeSizes() error {
	where := allTables[tableCodeSizes]
	lower, upper := tableCodeSizes.bounds()
	return kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		known, err := decodeCodeSize(row)
		if err != nil {
			return c.note(where, fmt.Errorf("%x: %w", key[1:], err))
		}
		code, err := c.view.snapshot.Get(tableCodes.key(key[1:]))
		if errors.Is(err, kv.ErrNotFound) {
			c.add(where, "code %x is not there", key[1:])
			return nil
		}
		if err != nil {
			return err
		}
		if len(code) != int(known.size) {
			c.add(where, "the record of code %x says %d bytes, but it has %d", key[1:], known.size, len(code))
		}
		if len(key) == 33 {
			if use := c.codes[types.CodeHash(key[1:])]; use != nil {
				use.since, use.sized = known.since, true
			}
		}
		return nil
	})
}

// tokenCheck compares each token's events with its stored holdings by sums modulo the prime 2^61 − 1: those of the
// events minus those stored. Each holding counts multiplied by a seeded hash of its token and account, which nobody can
// predict.
type tokenCheck struct {
	seed   maphash.Seed
	tokens map[types.ContractID]uint64
}

const checkPrime = 1<<61 - 1

// add adds a holding's sum, which may be negative.
func (t *tokenCheck) add(of *holding, sum tokenSum) {
	positive := sum
	if int64(sum.high) < 0 {
		positive = sum.negative()
	}
	_, residue := bits.Div64(positive.high%checkPrime, positive.low, checkPrime)
	high, low := bits.Mul64(residue, maphash.Bytes(t.seed, of[:])%checkPrime)
	_, product := bits.Div64(high, low, checkPrime)
	if int64(sum.high) < 0 && product > 0 {
		product = checkPrime - product
	}
	token := types.ContractID(of[:32])
	t.tokens[token] = (t.tokens[token] + product) % checkPrime
}

// holders checks the sums against their ranks and, if no block was pruned, against all Transfer events.
func (c *checker) holders() error {
	where, count := allTables[tableHolders], 0
	lower, upper := tableHolders.bounds()
	err := kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		count++
		sum, err := decodeTokenSum(row)
		if err == nil && len(key) != 1+len(holding{}) {
			err = fmt.Errorf("%w: a key of %d bytes", ErrCorrupt, len(key))
		}
		if err != nil {
			return c.note(where, err)
		}
		of := holding(key[1:])
		c.tokens.add(&of, sum.negative())
		_, err = c.view.snapshot.Get(appendRank(nil, &of, sum))
		if errors.Is(err, kv.ErrNotFound) {
			c.add(where, "%x has no rank", of)
			err = nil
		}
		return errors.Join(err, c.ctx.Err())
	})
	if err != nil {
		return err
	}
	lower, upper = tableRanks.bounds()
	err = kv.Scan(c.view.snapshot, lower, upper, func(key, row []byte) error {
		count--
		if len(row) > 0 {
			c.add(allTables[tableRanks], "the row under %x has a value", key)
		}
		return c.ctx.Err()
	})
	if count != 0 {
		c.add(allTables[tableRanks], "there are %d fewer than holders", count)
	}
	if err != nil || c.report.Oldest > 0 {
		return err
	}
	for token, difference := range c.tokens.tokens {
		if difference != 0 {
			c.add(where, "the balances of %s do not match the sum of its Transfer events", token)
		}
	}
	return nil
}

// moved adds up the Transfer events of a block.
func (c *checker) moved(index indexed) {
	if c.report.Oldest > 0 {
		return
	}
	for of, by := range transfersOf(index.receipts) {
		c.tokens.add(&of, by)
	}
}
