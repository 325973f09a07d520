package exec

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/crypto/foreign"
	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// cryptography dispatches the host functions that compute hashes and verify signatures.
func (i *invocation) cryptography(function vm.Function, price uint64) (vm.Exit, error) {
	switch function {
	case vm.SHA256:
		return i.hash(price, uint64(schedule.SHA256Byte), sha256.Sum256)
	case vm.Keccak256:
		return i.hash(price, uint64(schedule.Keccak256Byte), foreign.Keccak256)
	case vm.Blake3:
		return i.hash(price, uint64(schedule.Blake3Byte), foreign.Blake3)
	case vm.SchnorrVerify:
		return i.schnorrVerify(price)
	case vm.P256Verify:
		return i.p256Verify(price)
	case vm.AccountVerify:
		return i.accountVerify(price)
	default:
		return i.ecdsaRecover(price)
	}
}

func (i *invocation) hash(price, perByte uint64, sum func([]byte) [32]byte) (vm.Exit, error) {
	pointer, n, out := i.u32(0), i.u32(1), i.u32(2)
	if !i.gas.Take(price + perByte*uint64(n) + copies(uint64(n)+32)) {
		return vm.OutOfGas, nil
	}
	message, ok := i.within(pointer, n)
	target, outOK := i.within(out, 32)
	if !ok || !outOK {
		return vm.Trapped, nil
	}
	digest := sum(message)
	copy(target, digest[:])
	if t, ok := i.executor.tracer.(DigestTracer); ok {
		t.Digest(digest)
	}
	return vm.Returned, nil
}

func (i *invocation) schnorrVerify(price uint64) (vm.Exit, error) {
	keyPointer, pointer, n, signaturePointer := i.u32(0), i.u32(1), i.u32(2), i.u32(3)
	if !i.gas.Take(price + uint64(schedule.SchnorrVerifyByte)*uint64(n) + copies(32+uint64(n)+64)) {
		return vm.OutOfGas, nil
	}
	key, keyOK := i.within(keyPointer, 32)
	message, ok := i.within(pointer, n)
	signature, signatureOK := i.within(signaturePointer, 64)
	if !keyOK || !ok || !signatureOK {
		return vm.Trapped, nil
	}
	return i.verdict(bip340.Verify([32]byte(key), message, [64]byte(signature)))
}

// verdict returns 1 for true and 0 for false to the guest.
func (i *invocation) verdict(holds bool) (vm.Exit, error) {
	i.stack[0] = 0
	if holds {
		i.stack[0] = 1
	}
	return vm.Returned, nil
}

func (i *invocation) ecdsaRecover(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(32+65+64)) {
		return vm.OutOfGas, nil
	}
	hash, hashOK := i.within(i.u32(0), 32)
	signature, ok := i.within(i.u32(1), 65)
	out, outOK := i.within(i.u32(2), 64)
	if !hashOK || !ok || !outOK {
		return vm.Trapped, nil
	}
	key, found := foreign.RecoverECDSA([32]byte(hash), [65]byte(signature))
	i.stack[0] = 0
	if found {
		copy(out, key[:])
		i.stack[0] = 1
	}
	return vm.Returned, nil
}

func (i *invocation) p256Verify(price uint64) (vm.Exit, error) {
	if !i.gas.Take(price + copies(64+32+64)) {
		return vm.OutOfGas, nil
	}
	point, pointOK := i.within(i.u32(0), 64)
	digest, digestOK := i.within(i.u32(1), 32)
	signature, ok := i.within(i.u32(2), 64)
	if !pointOK || !digestOK || !ok {
		return vm.Trapped, nil
	}
	return i.verdict(p256.VerifyAny([64]byte(point), [64]byte(signature), [32]byte(digest)))
}

// Limits of host function account_verify, in bytes.
const (
	maxVerifiedMessage = 1 << 10
	maxVerifiedWitness = 8 << 10
)

// accountVerify implements host function account_verify. The steps are numbered as in docs/protocol.md, "Host
// functions".
func (i *invocation) accountVerify(price uint64) (vm.Exit, error) {
	accountPointer, pointer, n := i.u32(0), i.u32(1), i.u32(2)
	witnessPointer, witnessLen := i.u32(3), i.u32(4)
	price += uint64(schedule.AccountVerifyWitnessByte)*uint64(witnessLen) +
		uint64(schedule.AccountVerifyMessageByte)*uint64(n) + copies(32+uint64(n)+uint64(witnessLen))
	if !i.gas.Take(price) { // 1
		return vm.OutOfGas, nil
	}
	account, accountOK := i.account(accountPointer)
	message, ok := i.bounded(pointer, n, messageSize)
	encoded, witnessOK := i.bounded(witnessPointer, witnessLen, witnessSize)
	if !accountOK || !ok || !witnessOK {
		return vm.Trapped, nil
	}
	witness, err := types.DecodeWitness(encoded)
	if err != nil { // 2
		return i.verdict(false)
	}
	if policy, ok := witness.(types.WitnessPolicy); ok && policy.Policy.Check() != nil {
		return i.verdict(false)
	}
	if !i.gas.Take(proofsPrice(witness)) { // 3
		return vm.OutOfGas, nil
	}
	record, err := i.executor.state.Account(account) // 4
	if err != nil {
		return vm.Trapped, err
	}
	env, header := &i.executor.env, &i.executor.header
	if witness.Claim(account) != record.AuthorityAt(account, header.Timestamp) { // 5
		return i.verdict(false)
	}
	return i.verdict(types.VerifyMessage(env.Network, header.ChainID, i.id, account, message, witness))
}

// proofsPrice returns the price of verifying the proofs of a witness in account_verify.
func proofsPrice(w types.Witness) uint64 {
	switch w := w.(type) {
	case types.WitnessKey:
		return uint64(schedule.AccountVerifyKey)
	case types.WitnessText:
		return uint64(schedule.AccountVerifyText)
	case types.WitnessPolicy:
		var price uint64
		for _, proof := range w.Proofs {
			price += proofPrice(proof.Evidence)
		}
		return price
	default:
		return 0
	}
}

func proofPrice(e types.Evidence) uint64 {
	switch e.(type) {
	case types.EvidenceKey:
		return uint64(schedule.AccountVerifyKey)
	case types.EvidenceText:
		return uint64(schedule.AccountVerifyText)
	default:
		return uint64(schedule.AccountVerifyP256)
	}
}
