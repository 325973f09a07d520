package params

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/types"
)

// Version is the newest version of the protocol that this code knows; it knows all from 1 on.
const Version uint32 = 1

// Bounds of parameters (docs/protocol.md, "Parameters").
const (
	BaseFeeFloor   types.Amount = 8         // below it the base fee could not come down again
	BaseFeeCeiling types.Amount = 1<<53 - 1 // what a JSON number holds
	MinGasLimit    types.Gas    = 1_000_000 // a lower limit could never be raised again
	MaxGasLimit    types.Gas    = 1 << 40
	MinTarget      types.Gas    = 21_000
	bpsDenominator              = 10_000
)

// Defaults of a new chain. Producer and fee recipient are the chain's own.
const (
	DefaultGasLimit   types.Gas    = 1_000_000_000
	DefaultTargetBPS  uint16       = 5_000
	DefaultMinBaseFee types.Amount = 10
	DefaultMaxBaseFee types.Amount = 1_000_000
)

// Default gives the parameters of a new chain whose producer also receives the priority fees.
func Default(producer types.PublicKey) types.Parameters {
	return types.Parameters{
		Version:      Version,
		GasLimit:     DefaultGasLimit,
		TargetBPS:    DefaultTargetBPS,
		MinBaseFee:   DefaultMinBaseFee,
		MaxBaseFee:   DefaultMaxBaseFee,
		Producer:     producer,
		FeeRecipient: types.Account(producer),
	}
}

// Why parameters are not valid.
var (
	ErrProducer = errors.New("producer is not an x coordinate of the curve")
	ErrBaseFees = errors.New("base fee bounds must satisfy 8 ≤ min ≤ max ≤ 2^53 − 1")
	ErrTarget   = errors.New("target_bps must be 1 to 9999 and give a target of at least 21000 gas")
	ErrGasLimit = errors.New("gas_limit must be 1000000 to 2^40")
	ErrVersion  = errors.New("version must be the present one or the next")
)

// Target is the gas a block uses when the base fee stands still: ⌊gas_limit × target_bps / 10000⌋, with target_bps
// below 10000. The product has 128 bits.
func Target(gasLimit types.Gas, targetBPS uint16) types.Gas {
	high, low := bits.Mul64(uint64(gasLimit), uint64(targetBPS))
	quotient, _ := bits.Div64(high, low, bpsDenominator)
	return types.Gas(quotient)
}

// Load is what loading a code takes when nothing of it is in memory (docs/protocol.md, "Load"): about 10 ns a unit.
type Load uint64

// LongValue is the most bytes of a stored value that a node is expected to have in memory. A longer one is read from
// disk.
const LongValue = 144

// LoadToStop is the load after which a transaction loads no further code.
const LoadToStop Load = 1 << 19

// MostLoad is more than the load of any code that may be deployed.
const MostLoad Load = 930_000

// BlockLoad is the most that the codes which a block's transactions load, each counted once, may have together.
func BlockLoad(gasLimit types.Gas) Load { return max(Load(gasLimit/32), 1<<22) }

// Check reports why p are not valid parameters, or nil. The version it does not ask: see [CheckChange] and [Known].
func Check(p types.Parameters) error {
	switch {
	case p.GasLimit < MinGasLimit || p.GasLimit > MaxGasLimit:
		return ErrGasLimit
	case p.TargetBPS < 1 || p.TargetBPS >= bpsDenominator || Target(p.GasLimit, p.TargetBPS) < MinTarget:
		return ErrTarget
	case p.MinBaseFee < BaseFeeFloor || p.MinBaseFee > p.MaxBaseFee || p.MaxBaseFee > BaseFeeCeiling:
		return ErrBaseFees
	case !bip340.IsXOnly(p.Producer):
		return ErrProducer
	}
	return nil
}

// CheckChange reports why next may not replace present, or nil. A version that this code does not know is allowed: the
// node halts before the block that needs it.
func CheckChange(present, next types.Parameters) error {
	if next.Version != present.Version && (next.Version == 0 || next.Version-1 != present.Version) {
		return fmt.Errorf("%w: %d after %d", ErrVersion, next.Version, present.Version)
	}
	return Check(next)
}

// Known reports whether this code knows the rules of a protocol version.
func Known(version uint32) bool { return version >= 1 && version <= Version }
