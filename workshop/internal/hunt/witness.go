package hunt

import (
	"crypto/ecdh"
	"maps"
	"slices"
	"strings"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/types"
)

// encodedWitness is a witness in a contract's memory, for account_verify, behind the account whose authority it claims.
type encodedWitness struct {
	account, at int64 // their addresses
	data        []byte
}

func (w encodedWitness) length() int64 { return int64(len(w.data)) - (w.at - w.account) }

// witnesses are the most expensive witnesses of each kind. None of them is valid, which takes no less time to find out.
var witnesses = placed(
	types.WitnessKey{Signature: schnorrSignature()},
	types.WitnessText{Signature: schnorrSignature()},
	policyWitness(1, func(i byte) (types.Signer, types.Evidence) {
		return types.SignerP256{Point: p256Point(i)}, types.EvidenceP256{Signature: ecdsaSignature()}
	}),
	policyWitness(16, func(i byte) (types.Signer, types.Evidence) {
		return types.SignerP256{Point: p256Point(i)}, types.EvidenceP256{Signature: ecdsaSignature()}
	}),
	policyWitness(16, func(i byte) (types.Signer, types.Evidence) {
		return types.SignerKey{Key: publicKey(i)}, types.EvidenceText{Signature: schnorrSignature()}
	}),
)

// placed gives each witness its place in memory.
func placed(all ...types.Witness) (list []encodedWitness) {
	at, key := int64(witnessAt), types.Account([]byte(signatures()[:32]))
	for _, w := range all {
		account := w.Claim(key)
		data := append(account[:], types.EncodeWitness(w)...)
		list = append(list, encodedWitness{at, at + int64(len(account)), data})
		at += int64(len(data))
	}
	return list
}

// policyWitness returns a witness of a policy that requires n of n signers.
func policyWitness(n byte, part func(i byte) (types.Signer, types.Evidence)) types.WitnessPolicy {
	w := types.WitnessPolicy{Policy: types.Policy{Owner: types.Rule{Threshold: n}}}
	signers := map[string]types.Signer{}
	var evidence types.Evidence
	for i := range n {
		var s types.Signer
		s, evidence = part(i + 1)
		signers[string(types.EncodeSigner(s))] = s
	}
	for _, encoded := range slices.Sorted(maps.Keys(signers)) {
		w.Proofs = append(w.Proofs, types.Proof{Signer: uint8(len(w.Proofs)), Evidence: evidence})
		w.Policy.Owner.Signers = append(w.Policy.Owner.Signers, signers[encoded])
	}
	return w
}

// publicKey returns a key of secp256k1.
func publicKey(scalar byte) types.PublicKey {
	key, err := crypto.NewPrivateKey([32]byte{31: scalar})
	if err != nil {
		panic(err)
	}
	return key.PublicKey()
}

// p256Point returns a point of P-256.
func p256Point(scalar byte) (point [64]byte) {
	secret := [32]byte{31: scalar}
	key, err := ecdh.P256().NewPrivateKey(secret[:])
	if err != nil {
		panic(err)
	}
	copy(point[:], key.PublicKey().Bytes()[1:]) // behind the byte 04
	return point
}

// ecdsaSignature returns a signature within its bounds that belongs to no message.
func ecdsaSignature() (signature [64]byte) {
	copy(signature[:], strings.Repeat("\x55", 64))
	return signature
}

// p256Signature returns a point and a signature.
func p256Signature() string {
	point, signature := p256Point(1), ecdsaSignature()
	return string(point[:]) + string(signature[:])
}

// schnorrSignature returns a signature of another message than the one being verified.
func schnorrSignature() types.Signature {
	return types.Signature([]byte(signatures()[64:128]))
}
