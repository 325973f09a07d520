package exec

import (
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/types"
)

// ReadParameters reads the parameters in force from a state.
func ReadParameters(r state.Reader) (types.Parameters, error) {
	record, err := r.Get(state.ParametersKey())
	if err != nil {
		return types.Parameters{}, err
	}
	return types.DecodeParameters(record)
}

// CheckHeader returns an error that wraps [ErrHeader] and names the first field in which a block's header differs from
// the derived one. It returns nil if they are equal.
func CheckHeader(got, derived types.Header) error {
	if got == derived {
		return nil
	}
	for _, field := range []struct {
		name string
		same bool
	}{
		{"version", got.Version == derived.Version}, {"chain_id", got.ChainID == derived.ChainID},
		{"height", got.Height == derived.Height}, {"parent", got.Parent == derived.Parent},
		{"producer", got.Producer == derived.Producer}, {"gas_limit", got.GasLimit == derived.GasLimit},
		{"base_fee", got.BaseFee == derived.BaseFee}, {"gas_used", got.GasUsed == derived.GasUsed},
		{"transactions_root", got.TransactionsRoot == derived.TransactionsRoot},
		{"receipts_root", got.ReceiptsRoot == derived.ReceiptsRoot},
	} {
		if !field.same {
			return fmt.Errorf("%w: %s", ErrHeader, field.name)
		}
	}
	return fmt.Errorf("%w: state_root", ErrHeader)
}

func checkVersion(version uint32) error {
	if !params.Known(version) {
		return fmt.Errorf("%w: it is %d, but this node knows %d", ErrUnknownVersion, version, params.Versions())
	}
	return nil
}

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
