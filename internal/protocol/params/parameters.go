package params

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/types"
)

// Version is the newest protocol version that this code knows. It knows all versions from 1 on.
const Version uint32 = 1

// Bounds of the parameters (docs/protocol.md, "Parameters").
const (
	BaseFeeFloor   types.Amount = 8         // below it, the base fee could not come down again
	BaseFeeCeiling types.Amount = 1<<53 - 1 // largest integer that JSON numbers hold exactly
	MinGasLimit    types.Gas    = 1_000_000 // a lower limit could never be raised again
	MaxGasLimit    types.Gas    = 1 << 40
	MinTarget      types.Gas    = 21_000
	bpsDenominator              = 10_000
)

// Defaults for a new chain. Producer and fee recipient have no default.
const (
	DefaultGasLimit   types.Gas    = 1_000_000_000
	DefaultTargetBPS  uint16       = 5_000
	DefaultMinBaseFee types.Amount = 10
	DefaultMaxBaseFee types.Amount = 1_000_000
)

// Default returns the parameters of a new chain whose producer also receives the priority fees.
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

// Reasons why parameters are not valid.
var (
	ErrProducer = errors.New("producer is not an x coordinate of the curve")
	ErrBaseFees = errors.New("base fee bounds must satisfy 8 ≤ min ≤ max ≤ 2^53 − 1")
	ErrTarget   = errors.New("target_bps must be 1 to 9999 and give a target of at least 21000 gas")
	ErrGasLimit = errors.New("gas_limit must be 1000000 to 2^40")
	ErrVersion  = errors.New("version must be the present one or the next")
)

// Target returns the gas use at which the base fee stays unchanged: ⌊gas_limit × target_bps / 10000⌋. targetBPS must be
// below 10000. The product has 128 bits.
func Target(gasLimit types.Gas, targetBPS uint16) types.Gas {
	high, low := bits.Mul64(uint64(gasLimit), uint64(targetBPS))
	quotient, _ := bits.Div64(high, low, bpsDenominator)
	return types.Gas(quotient)
}

// Load is the cost of loading a code of which nothing is in memory, in units of about 10 ns (docs/protocol.md, "Load").
type Load uint64

// LongValue is the size in bytes up to which a node is expected to have stored values in memory. Longer values are read
// from disk.
const LongValue = 144

// LoadToStop is the load above which a transaction loads no further code.
const LoadToStop Load = 1 << 19

// MostLoad exceeds the load of any code that can be deployed.
const MostLoad Load = 930_000

// BlockLoad returns the maximum total load of the codes that a block's transactions load, each counted once.
func BlockLoad(gasLimit types.Gas) Load { return max(Load(gasLimit/32), 1<<22) }

// Check returns an error if p are not valid parameters. It does not check the version: see [CheckChange] and [Known].
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

// CheckChange returns an error if next may not replace present. A version that this code does not know is allowed: the
// node halts before the first block that needs it.
func CheckChange(present, next types.Parameters) error {
	if next.Version != present.Version && (next.Version == 0 || next.Version-1 != present.Version) {
		return fmt.Errorf("%w: %d after %d", ErrVersion, next.Version, present.Version)
	}
	return Check(next)
}

// Known reports whether this code knows the rules of a protocol version.
func Known(version uint32) bool { return version >= 1 && version <= Version }
