package chain

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/storage/kv"
	"github.com/cairn-chain/cairn/types"
)

// LastBalancesFormat is the last format of a store of version 1 of the protocol. Of such a store this program reads
// nothing but the balances. A row of an account has 16 bytes, its balance and its nonce, and most accounts still have
// such rows.
const LastBalancesFormat = 6

// Balances are the coins in a store of version 1 of the protocol, after its head.
type Balances struct {
	Head      types.Height
	Accounts  []types.Allocation // ascending by account; none is a contract's
	Contracts []types.Allocation // balances of contracts, which have no key
	Burned    types.Amount
}

// ErrNoBalances is returned for a store that is not of version 1 of the protocol, or keeps no state.
var ErrNoBalances = errors.New("there is no chain of protocol version 1 with its state")

// ReadBalances reads the balances in a store of version 1 of the protocol. It returns [ErrCorrupt] unless the balances
// and the burned coins add up to the supply.
func ReadBalances(r kv.Reader) (b Balances, err error) {
	row, err := r.Get(keyFormat)
	if errors.Is(err, kv.ErrNotFound) || err == nil && (len(row) != 4 || binary.BigEndian.Uint32(row) > LastBalancesFormat) {
		return b, ErrNoBalances
	}
	if err != nil {
		return b, err
	}
	if stateless, err := has(r, keyStateless); err != nil || stateless {
		return b, errors.Join(ErrNoBalances, err)
	}
	if row, err = r.Get(keyHead); err == nil {
		b.Head, err = decodeHeight(row)
	}
	if err != nil {
		return b, fmt.Errorf("the head: %w", missing(err))
	}
	if row, err = r.Get(tableState.key(state.SupplyKey())); err != nil {
		return b, fmt.Errorf("the supply: %w", missing(err))
	}
	supply, err := state.DecodeSupply(row)
	if err != nil {
		return b, fmt.Errorf("%w: the supply: %w", ErrCorrupt, err)
	}
	b.Burned = supply.Burned
	total, err := b.read(r)
	if err == nil {
		total, err = total.Add(supply.Burned)
	}
	if err == nil && total != supply.Supply {
		err = fmt.Errorf("%w: balances and %d burned are %d, not the supply of %d",
			ErrCorrupt, supply.Burned, total, supply.Supply)
	}
	return b, err
}

// read reads the accounts' rows and returns the sum of their balances.
func (b *Balances) read(r kv.Reader) (total types.Amount, err error) {
	lower := tableState.key([]byte{byte(state.DomainAccount)})
	err = kv.Scan(r, lower, kv.PrefixEnd(lower), func(key, value []byte) error {
		if len(key) != 2+len(types.Account{}) || len(value) != 16 {
			return fmt.Errorf("%w: account %x: %d bytes", ErrCorrupt, key[1:], len(value))
		}
		a := types.Allocation{
			Account: types.Account(key[2:]), Balance: types.Amount(binary.LittleEndian.Uint64(value)),
		}
		if a.Balance == 0 {
			return nil
		}
		var err error
		if total, err = total.Add(a.Balance); err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		contract, err := has(r, tableState.key(state.ContractKey(types.ContractID(a.Account))))
		if contract {
			b.Contracts = append(b.Contracts, a)
		} else {
			b.Accounts = append(b.Accounts, a)
		}
		return err
	})
	return total, err
}
