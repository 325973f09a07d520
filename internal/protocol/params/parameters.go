// Package params defines the parameters that a chain may have and the gas schedule of each protocol version.
package params

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/types"
)

// Bounds of the parameters (docs/protocol.md, "Parameters and versions").
const (
	MinBaseFee     types.Amount = 1
	MaxMinBaseFee  types.Amount = 1 << 40   // above it, the fee cap of a Configure would not fit in 64 bits
	MaxBaseFee     types.Amount = 1<<53 - 1 // largest integer that JSON numbers hold exactly
	MinGasLimit    types.Gas    = 3_000_000 // a lower limit could never be raised again
	MaxGasLimit    types.Gas    = 1 << 40
	MinTarget      types.Gas    = 10_000 // a plain transfer
	MinBlockBytes  uint32       = 1 << 20
	MaxBlockBytes  uint32       = types.MaxBlockBytes
	MaxNotice      uint64       = 1 << 40 // milliseconds, 35 years: a notice can never be lowered
	bpsDenominator              = 10_000
)

// Defaults for a new chain. Producer, fee recipient and admin have no default.
const (
	DefaultGasLimit   types.Gas    = 1_000_000_000
	DefaultBlockBytes uint32       = 20 << 20
	DefaultTargetBPS  uint16       = 5_000
	DefaultMinBaseFee types.Amount = 10
	DefaultMaxBaseFee types.Amount = 1_000_000
	DefaultNotice     uint64       = 7 * 24 * 3600 * 1000 // milliseconds; 0 on development chains
)

// Default returns the parameters of a new chain whose producer also receives the priority fees and is the admin. Tools
// that make a chain to last give the admin a key of its own.
func Default(producer types.PublicKey) types.Parameters {
	return types.Parameters{
		Version:      Version,
		GasLimit:     DefaultGasLimit,
		BlockBytes:   DefaultBlockBytes,
		TargetBPS:    DefaultTargetBPS,
		MinBaseFee:   DefaultMinBaseFee,
		MaxBaseFee:   DefaultMaxBaseFee,
		Producer:     producer,
		FeeRecipient: types.Account(producer),
		Admin:        types.Account(producer),
		Notice:       DefaultNotice,
	}
}

// Reasons why parameters are not valid.
var (
	ErrProducer   = errors.New("producer is not an x coordinate of the curve")
	ErrBaseFees   = errors.New("base fee bounds must satisfy 1 ≤ min ≤ max ≤ 2^53 − 1 and min ≤ 2^40")
	ErrTarget     = errors.New("target_bps must be 1 to 9999 and give a target of at least 10000 gas")
	ErrGasLimit   = errors.New("gas_limit must be 3000000 to 2^40")
	ErrBlockBytes = errors.New("block_bytes must be 2^20 to 2^25")
	ErrNotice     = errors.New("notice must be at most 2^40 ms, and can never be lowered")
	ErrUpgrade    = errors.New("an upgrade must be to the next version, and be announced at least the notice ahead")
	ErrVersion    = errors.New("parameters of another version")
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

// Check returns an error if p are not in their bounds. It does not check the version: see [CheckChange] and [Known].
func Check(p types.Parameters) error {
	switch {
	case p.GasLimit < MinGasLimit || p.GasLimit > MaxGasLimit:
		return ErrGasLimit
	case p.BlockBytes < MinBlockBytes || p.BlockBytes > MaxBlockBytes:
		return ErrBlockBytes
	case p.TargetBPS < 1 || p.TargetBPS >= bpsDenominator || Target(p.GasLimit, p.TargetBPS) < MinTarget:
		return ErrTarget
	case p.MinBaseFee < MinBaseFee || p.MinBaseFee > min(p.MaxBaseFee, MaxMinBaseFee) || p.MaxBaseFee > MaxBaseFee:
		return ErrBaseFees
	case !bip340.IsXOnly(p.Producer):
		return ErrProducer
	case p.Notice > MaxNotice:
		return ErrNotice
	case p.Upgrade != nil && p.Upgrade.From > types.MaxTime:
		return fmt.Errorf("%w: its time is after the year 9999", ErrUpgrade)
	}
	return nil
}

// CheckChange returns an error if a Configure in a block with timestamp t, in milliseconds, may not replace the present
// parameters by next. An announced upgrade can be cancelled or kept; any other is a new one, which needs its notice. A
// version that this code does not know can be announced: the node halts before the first block that needs it.
func CheckChange(present, next types.Parameters, t uint64) error {
	// What a Configure of a later version may contain is a rule of that version.
	if active := present.VersionAt(t); next.Version != Version || active != Version {
		return fmt.Errorf("%w: %d in a block of version %d", ErrVersion, next.Version, active)
	}
	if err := Check(next); err != nil {
		return err
	}
	if next.Notice < present.Notice {
		return fmt.Errorf("%w: it is %d now, and cannot become %d", ErrNotice, present.Notice, next.Notice)
	}
	switch u := next.Upgrade; {
	case u == nil, present.Upgrade != nil && *u == *present.Upgrade:
		return nil
	case u.Version != Version+1:
		return fmt.Errorf("%w: version %d after %d", ErrUpgrade, u.Version, Version)
	case u.From < t || u.From-t < next.Notice:
		return fmt.Errorf("%w: from %d, at %d with a notice of %d ms", ErrUpgrade, u.From, t, next.Notice)
	}
	return nil
}

// Bounds on the access list of a valid block. Everything in the list is paid for: each key with at least StorageRead,
// and each byte of a value that is looked up, which is in the list twice if it stays, with StorageReadValueByte or
// StorageOldByte (docs/protocol.md, Access list).
const (
	unpaidAccesses = 8       // parameters, supply, fee recipient, and reserve
	unpaidBytes    = 4 << 10 // bytes of the unpaid accesses
	gasPerByte     = 8       // 16 for a byte that is listed twice; everything else costs more
)

// MostAccesses returns the maximum number of entries in the access list of a block that used gasUsed.
func MostAccesses(gasUsed types.Gas) int {
	return unpaidAccesses + int(min(gasUsed/Prices.StorageRead, math.MaxInt32))
}

// MostListBytes returns the maximum encoded size in bytes of that list.
func MostListBytes(gasUsed types.Gas) int {
	return unpaidBytes + int(min(gasUsed/gasPerByte, math.MaxInt32))
}

// Version is the protocol version that this code implements. It is the newest version of a chain that it makes.
const Version uint32 = 2

// versions lists the versions whose blocks this code can make and check. Each is one complete set of rules, prices and
// limits.
var versions = []uint32{Version}

// Known reports whether this code knows the rules of a protocol version. A node halts before the first block of a
// version that it does not know.
func Known(version uint32) bool { return slices.Contains(versions, version) }

// Versions returns the known versions, ascending.
func Versions() []uint32 { return slices.Clone(versions) }

// Learn makes the next version known, with the rules of the newest one, until forget is called. It serves tests of
// upgrades, and must be called while nothing else runs. No program calls it unless it is built for them; see next.go.
func Learn() (version uint32, forget func()) {
	before := versions
	version = before[len(before)-1] + 1
	versions = append(slices.Clone(before), version)
	return version, func() { versions = before }
}
