// Package fees implements the fee market of EIP-1559 with this protocol's bounds: the base fee's recurrence, the gas
// price of a transaction, and its intrinsic gas.
package fees

import (
	"math/bits"

	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// changeDenominator bounds the base fee's change from block to block (EIP-1559, BASE_FEE_MAX_CHANGE_DENOMINATOR).
const changeDenominator = 8

// NextBaseFee returns the base fee per gas of the block after parent; p are the parameters in the state after parent.
// Let target = ⌊gas_limit × target_bps / 10000⌋ and Δ = max(1, ⌊base × |used − target| / target / 8⌋). The next base
// fee is base + Δ if used is above the target, base − min(Δ, base) if it is below, and base otherwise, clamped to
// min_base_fee and max_base_fee. Both arguments must be valid.
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

// delta returns max(1, ⌊base × distance / target / 8⌋). The quotient fits 64 bits: base < 2^53, the gas limit is at
// least 3 × 10^6, and the target at least a 10^4th of it, rounded down, so distance / target < 10^4 × 301/300.
func delta(base types.Amount, distance, target types.Gas) types.Amount {
	high, low := bits.Mul64(uint64(base), uint64(distance))
	quotient, _ := bits.Div64(high, low, changeDenominator*uint64(target))
	return max(1, types.Amount(quotient))
}

// Price returns the price per gas of a transaction: base_fee + min(max_priority_fee, max_fee − base_fee). It requires
// base_fee ≤ max_fee.
func Price(baseFee, maxFee, maxPriorityFee types.Amount) types.Amount {
	return baseFee + min(maxPriorityFee, maxFee-baseFee)
}

// IntrinsicGas returns the gas that a transaction costs before its payload runs, except [params.Schedule]'s NewAccount,
// which a sender without an entry costs (docs/protocol.md, "Gas schedule"). A witness that is missing, as in a simulation, costs
// what a key's does.
func IntrinsicGas(tx *types.SignedTransaction) types.Gas {
	gas := PayloadGas(tx.Payload) + WitnessGas(tx.Witness)
	if tx.Payer != nil {
		gas += params.Prices.Payer + WitnessGas(tx.PayerWitness)
	}
	return gas
}

// PayloadGas returns a payload's part of [IntrinsicGas].
func PayloadGas(payload types.Payload) types.Gas {
	s := &params.Prices
	switch p := payload.(type) {
	case types.Deploy:
		return s.IntrinsicDeploy + s.IntrinsicDeployByte*types.Gas(len(p.Name)+len(p.InitArgs)) +
			s.IntrinsicDeployCodeByte*types.Gas(len(p.Code))
	case types.Call:
		return s.IntrinsicCall + s.IntrinsicCallByte*types.Gas(len(p.Function)+len(p.Args))
	case types.Configure:
		return s.IntrinsicConfigure
	case types.Batch:
		gas := s.IntrinsicBatch
		for _, step := range p.Steps {
			if call, ok := step.Action.(types.Call); ok {
				gas += s.BatchCall + s.BatchCallByte*types.Gas(len(call.Function)+len(call.Args))
			} else {
				gas += s.BatchTransfer
			}
		}
		return gas
	case types.SetPolicy:
		return s.IntrinsicSetPolicy + s.IntrinsicSetPolicyByte*types.Gas(len(types.EncodePayload(p)))
	case types.Instantiate:
		return s.IntrinsicInstantiate + s.InstantiateByte*types.Gas(len(p.Name)+len(p.InitArgs))
	default:
		return s.IntrinsicTransfer
	}
}

// WitnessGas returns a witness' part of [IntrinsicGas]; nil costs what a key's witness does.
func WitnessGas(witness types.Witness) types.Gas {
	s := &params.Prices
	switch w := witness.(type) {
	case types.WitnessText:
		return s.WitnessText
	case types.WitnessPolicy:
		gas := s.WitnessPolicy + s.WitnessPolicyByte*types.Gas(types.WitnessBytes(w))
		for _, proof := range w.Proofs {
			switch proof.Evidence.(type) {
			case types.EvidenceKey:
				gas += s.WitnessKey
			case types.EvidenceText:
				gas += s.WitnessText
			default:
				gas += s.WitnessP256
			}
		}
		return gas
	default:
		return s.WitnessKey
	}
}
