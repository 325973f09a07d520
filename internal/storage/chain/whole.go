package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// The methods below read everything that a copy of the store at one block consists of; [Store.Restore] makes a store
// from it. They require a state that was the head's when it was made.

// HeadState returns the state of the head, or [ErrAboveHead] for an empty store. The caller must close it, as for
// [Store.StateAt].
func (s *Store) HeadState() (*State, error) {
	v, err := s.acquire()
	if err != nil {
		return nil, err
	}
	st, err := v.stateAt(v.head.Header.Height)
	if err != nil {
		return nil, errors.Join(err, v.release())
	}
	return st, nil
}

// Entries calls f for each state key, ascending by path, until f returns an error, which Entries returns. f may retain
// the entry.
func (st *State) Entries(f func(StateEntry) error) error {
	if err := st.atHead(); err != nil {
		return err
	}
	lower, upper := tableLeaves.bounds()
	return kv.Scan(st.view.snapshot, lower, upper, func(key, row []byte) error {
		leaf, err := decodeLeaf(key, row)
		if err != nil {
			return err
		}
		named := bytes.Clone(row[32:]) // decodeLeaf has checked that there is a key
		value, err := st.view.snapshot.Get(tableState.key(named))
		if err != nil {
			return fmt.Errorf("state key %x: %w", named, missing(err))
		}
		return f(StateEntry{Path: leaf.Path, Leaf: leaf.Digest, Key: named, Value: value})
	})
}

// Codes calls f for each code that a contract of the state has, ascending by hash, until f returns an error, which Codes
// returns. The code is only valid during the call. Codes that contracts had before are left out.
func (st *State) Codes(f func(code []byte) error) error {
	if err := st.atHead(); err != nil {
		return err
	}
	used, err := st.codeHashes()
	if err != nil {
		return err
	}
	lower, upper := tableCodes.bounds()
	return kv.Scan(st.view.snapshot, lower, upper, func(key, code []byte) error {
		if len(key) != 1+len(types.CodeHash{}) {
			return fmt.Errorf("%w: a code's key of %d bytes", ErrCorrupt, len(key))
		}
		if !used[types.CodeHash(key[1:])] {
			return nil
		}
		return f(code)
	})
}

// codeHashes returns the codes of the head's contracts.
func (st *State) codeHashes() (map[types.CodeHash]bool, error) {
	used := make(map[types.CodeHash]bool)
	lower := tableState.key([]byte{byte(state.DomainContract)})
	return used, kv.Scan(st.view.snapshot, lower, kv.PrefixEnd(lower), func(key, record []byte) error {
		contract, err := state.DecodeContract(record)
		if err != nil {
			return fmt.Errorf("%w: contract %x: %w", ErrCorrupt, key[2:], err)
		}
		used[contract.CodeHash] = true
		return nil
	})
}

// TokenSum is the sum of an account's Transfer events of a token, a signed 128-bit integer in two's complement. It is
// never 0.
type TokenSum struct {
	Token     types.ContractID
	Account   types.Account
	High, Low uint64
}

// TokenSums calls f for each holder of each token, ascending by token and account, until f returns an error, which
// TokenSums returns.
func (st *State) TokenSums(f func(TokenSum) error) error {
	if err := st.atHead(); err != nil {
		return err
	}
	lower, upper := tableHolders.bounds()
	return kv.Scan(st.view.snapshot, lower, upper, func(key, row []byte) error {
		sum, err := decodeTokenSum(row)
		if err == nil && len(key) != 1+len(holding{}) {
			err = fmt.Errorf("%w: a holder's key of %d bytes", ErrCorrupt, len(key))
		}
		if err != nil {
			return err
		}
		return f(TokenSum{types.ContractID(key[1:33]), types.Account(key[33:]), sum.high, sum.low})
	})
}

// Entry returns the state's block with the results of its execution, but without leaves and codes.
func (st *State) Entry() (e Entry, err error) {
	r, h := st.view.snapshot, st.height
	index, err := readIndexed(r, h)
	if err != nil {
		return e, err
	}
	header, headerErr := readHeader(r, h)
	accesses, accessesErr := readAccesses(r, h)
	if err := errors.Join(headerErr, accessesErr); err != nil {
		return e, err
	}
	e.Header, e.Seal = header.Header, header.Seal
	e.Transactions, e.Receipts, e.Accesses = index.txs, index.receipts, accesses
	for i, receipt := range index.receipts {
		reason, err := readReason(r, Position{h, uint32(i)}, receipt)
		if err != nil {
			return e, err
		}
		e.Reasons = append(e.Reasons, reason)
	}
	return e, nil
}
