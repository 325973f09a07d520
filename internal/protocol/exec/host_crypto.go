package exec

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/crypto/foreign"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
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
	i.stack[0] = 0
	if bip340.Verify([32]byte(key), message, [64]byte(signature)) {
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
