package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"

	cairn "github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/types"
)

// signer makes the evidence of a policy's signer, or a key account's witness.
type signer struct {
	public types.Signer
	key    cairn.PrivateKey  // of SignerKey
	device *ecdsa.PrivateKey // of the others
}

// message is the message of a witness.
type message struct {
	hash  [32]byte
	text  string
	aux   [32]byte
	plain bool // whether the passkey's own data avoids the edges
}

func scalar(r *rand.Rand) (b [32]byte) {
	for i := range 4 {
		binary.BigEndian.PutUint64(b[8*i:], r.Uint64())
	}
	b[0] &= 0x7f // below both groups' orders
	return b
}

func newKey(r *rand.Rand) cairn.PrivateKey {
	key, err := cairn.NewPrivateKey(scalar(r))
	if err != nil {
		panic(err) // only for one scalar in 2^255
	}
	return key
}

// newSigner makes a signer of a random kind.
func newSigner(r *rand.Rand) signer {
	kind := r.IntN(4)
	if kind < 2 {
		key := newKey(r)
		return signer{public: types.SignerKey{Key: key.PublicKey()}, key: key}
	}
	device := newDevice(r)
	if kind == 3 {
		device.public = types.SignerPasskey{Point: device.point(), Verified: r.IntN(2) == 0}
	}
	return device
}

// newDevice makes a signer with a P-256 key.
func newDevice(r *rand.Rand) signer {
	secret := scalar(r)
	device, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
	if err != nil {
		panic(err) // only for one scalar in 2^255
	}
	s := signer{device: device}
	s.public = types.SignerP256{Point: s.point()}
	return s
}

// point returns the point of a device's key.
func (s signer) point() [64]byte {
	encoded, err := s.device.PublicKey.Bytes()
	if err != nil {
		panic(err) // every key has a point
	}
	return [64]byte(encoded[1:])
}

// sign makes an ECDSA signature with the lower s.
func (s signer) sign(digest [32]byte) [64]byte {
	der, err := s.device.Sign(nil, digest[:], crypto.SHA256)
	if err != nil {
		panic(err)
	}
	var parts struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &parts); err != nil {
		panic(err)
	}
	var signature [64]byte
	parts.R.FillBytes(signature[:32])
	parts.S.FillBytes(signature[32:])
	return p256.Lower(signature)
}

func schnorr(key cairn.PrivateKey, hash, aux [32]byte) types.Signature {
	signature, err := key.Sign(hash[:], aux)
	if err != nil {
		panic(err)
	}
	return signature
}

// textSignature returns a Bitcoin wallet's signature of a text.
func textSignature(key cairn.PrivateKey, m message, sighash uint8) types.Signature {
	return schnorr(key, textMessage(key, m, sighash), m.aux)
}

func textMessage(key cairn.PrivateKey, m message, sighash uint8) [32]byte {
	return bip322.Message(key.PublicKey(), m.text, sighash)
}

// evidence makes a signer's evidence for a message.
func (s signer) evidence(r *rand.Rand, m message) types.Evidence {
	switch public := s.public.(type) {
	case types.SignerKey:
		if r.IntN(2) == 0 {
			return types.EvidenceKey{Signature: schnorr(s.key, m.hash, m.aux)}
		}
		sighash := uint8(r.IntN(2))
		return types.EvidenceText{Signature: textSignature(s.key, m, sighash), Sighash: sighash}
	case types.SignerP256:
		return types.EvidenceP256{Signature: s.sign(sha256.Sum256(m.hash[:]))}
	default:
		passkey := types.EvidencePasskey{Client: clientData(r)}
		if m.plain {
			passkey.Client = client
		}
		for i := range passkey.Authenticator {
			passkey.Authenticator[i] = byte(r.IntN(256))
		}
		passkey.Authenticator[32] = 1
		if public.(types.SignerPasskey).Verified || r.IntN(2) == 0 {
			passkey.Authenticator[32] |= 4
		}
		if !m.plain && r.IntN(4) == 0 {
			passkey.Authenticator[32] = pick(r, []byte{0, 1, 1, 4, 5, 0x1d, 0x3f, 0x41, 0x45, 0x81, 0x85, byte(r.IntN(256))})
		}
		passkey.Signature = s.sign(types.PasskeyDigest(m.hash, passkey.Authenticator, passkey.Client))
		return passkey
	}
}

// clientData returns the client data after the challenge, sometimes slightly wrong.
func clientData(r *rand.Rand) []byte {
	begin := `","origin":"`
	switch r.IntN(12) {
	case 0:
		return []byte(begin)
	case 1:
		return []byte(begin[:r.IntN(len(begin))])
	case 2:
		return append([]byte(begin), make([]byte, 1012)...)
	case 3:
		return []byte(`","crossOrigin":false,"origin":"http://localhost"}`)
	case 4:
		return []byte(`A` + begin + `http://localhost"}`)
	default:
		return []byte(begin + `http://localhost:8080","crossOrigin":false}`)
	}
}

// authority is a policy with its signers' secrets.
type authority struct {
	policy          types.Policy
	owner, recovery []signer
}

func newRule(r *rand.Rand) (types.Rule, []signer) {
	signers := make([]signer, 1+r.IntN(4))
	if r.IntN(30) == 0 {
		signers = make([]signer, 16)
	}
	for i := range signers {
		signers[i] = newSigner(r)
	}
	slices.SortFunc(signers, func(a, b signer) int {
		return bytes.Compare(types.EncodeSigner(a.public), types.EncodeSigner(b.public))
	})
	rule := types.Rule{Threshold: uint8(1 + r.IntN(len(signers)))}
	for _, s := range signers {
		rule.Signers = append(rule.Signers, s.public)
	}
	return rule, signers
}

func newAuthority(r *rand.Rand) *authority {
	a := &authority{policy: types.Policy{Number: uint64(r.IntN(3))}}
	a.policy.Owner, a.owner = newRule(r)
	if r.IntN(2) == 0 {
		a.policy.Recovery = &types.Recovery{Delay: 1 + uint64(r.IntN(5000))}
		a.policy.Recovery.Rule, a.recovery = newRule(r)
	}
	return a
}

// witness makes a witness of the policy, by its recovery's rule if recovery is set and the policy has one.
func (a *authority) witness(r *rand.Rand, m message, recovery bool) types.Witness {
	rule, signers := a.policy.Owner, a.owner
	if recovery && a.policy.Recovery != nil {
		rule, signers = a.policy.Recovery.Rule, a.recovery
	}
	chosen := r.Perm(len(signers))[:rule.Threshold]
	slices.Sort(chosen)
	w := types.WitnessPolicy{Policy: a.policy}
	for _, i := range chosen {
		w.Proofs = append(w.Proofs, types.Proof{Signer: uint8(i), Evidence: signers[i].evidence(r, m)})
	}
	return w
}
