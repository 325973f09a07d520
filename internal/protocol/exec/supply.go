package exec

import (
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// sum128 is a sum of amounts that does not overflow.
type sum128 struct{ high, low uint64 }

func (s *sum128) add(a types.Amount) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, uint64(a), 0)
	s.high += carry
}

// addRecord adds the amount in the record under key: an account's balance, or the burned amount.
func (s *sum128) addRecord(key, value []byte) error {
	switch {
	case len(value) == 0:
		return nil
	case state.Domain(key[0]) == state.DomainAccount:
		account, err := state.DecodeAccount(types.Account(key[1:]), value)
		s.add(account.Balance)
		return err
	case string(key) == string(state.SupplyKey()):
		supply, err := state.DecodeSupply(value)
		s.add(supply.Burned)
		return err
	default:
		return nil
	}
}
