// Package fees is the fee market of EIP-1559 with this protocol's bounds: the base fee's recurrence, the price that a
// transaction pays, and the gas that it pays before execution.
package fees

import (
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// changeDenominator bounds the base fee's change from block to block (EIP-1559, BASE_FEE_MAX_CHANGE_DENOMINATOR).
const changeDenominator = 8

// NextBaseFee is the base fee of the block after parent; p are the parameters in the state after parent.
func NextBaseFee(parent types.Header, p types.Parameters) types.Amount {
	target := params.Target(parent.GasLimit, p.TargetBPS)
	base := parent.BaseFee
	switch {
	case parent.GasUsed > target:
		base += delta(base, parent.GasUsed-target, target)
	case parent.GasUsed < target:
		base -= min(base, delta(base, target-parent.GasUsed, target))
	}
	return min(max(base, p.MinBaseFee), p.MaxBaseFee)
}

// delta is max(1, ⌊base × distance / target / 8⌋). The quotient fits: base < 2^53, distance / target < 10^4.
func delta(base types.Amount, distance, target types.Gas) types.Amount {
	high, low := bits.Mul64(uint64(base), uint64(distance))
	quotient, _ := bits.Div64(high, low, changeDenominator*uint64(target))
	return max(1, types.Amount(quotient))
}

// Price is what a transaction pays per gas: base_fee + min(max_priority_fee, max_fee − base_fee). It asks that
// base_fee ≤ max_fee.
func Price(baseFee, maxFee, maxPriorityFee types.Amount) types.Amount {
	return baseFee + min(maxPriorityFee, maxFee-baseFee)
}

// IntrinsicGas is the gas that a payload costs before it runs.
func IntrinsicGas(payload types.Payload) types.Gas {
	s := &params.Schedule1
	switch p := payload.(type) {
	case types.Deploy:
		return s.IntrinsicDeploy + s.IntrinsicDeployByte*types.Gas(len(p.Name)+len(p.InitArgs)) +
			s.IntrinsicDeployCodeByte*types.Gas(len(p.Code))
	case types.Call:
		return s.IntrinsicCall + s.IntrinsicCallByte*types.Gas(len(p.Function)+len(p.Args))
	case types.Configure:
		return s.IntrinsicConfigure
	default:
		return s.IntrinsicTransfer
	}
}
