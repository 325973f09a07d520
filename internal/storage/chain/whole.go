package chain

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// What a copy of the store as it is at one block is made of; [Store.Restore] makes a store of it. All of it is for a
// state that was that of the head at the time it was made.

// HeadState returns the state of the head: [ErrAboveHead] of an empty store. As [Store.StateAt] says, the caller closes
// it.
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

// Entries calls f for each state key, ascending by path, until it returns an error, which Entries returns. What an
// entry holds may be kept.
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
		named := bytes.Clone(row[32:]) // decodeLeaf has seen that there is a key
		value, err := st.view.snapshot.Get(tableState.key(named))
		if err != nil {
			return fmt.Errorf("state key %x: %w", named, missing(err))
		}
		return f(StateEntry{Path: leaf.Path, Leaf: leaf.Digest, Key: named, Value: value})
	})
}

// Codes calls f for each contract's code, ascending by hash, until it returns an error, which Codes returns. The code
// is valid during the call only.
func (st *State) Codes(f func(code []byte) error) error {
	if err := st.atHead(); err != nil {
		return err
	}
	lower, upper := tableCodes.bounds()
	return kv.Scan(st.view.snapshot, lower, upper, func(_, code []byte) error { return f(code) })
}

// TokenSum is what Transfer events of a token add up to for an account, as a signed integer of 128 bits in two's
// complement; it is not 0.
type TokenSum struct {
	Token     types.ContractID
	Account   types.Account
	High, Low uint64
}

// TokenSums calls f for each holder of each token, ascending by token and account, until it returns an error, which
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

// Entry is the block after which the state is, with all that its execution gave but leaves and codes.
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
	e.Header, e.Signature = header.Header, header.Signature
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
