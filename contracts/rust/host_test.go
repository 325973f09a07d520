package rust

import (
	"bytes"
	stdcrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/crypto/foreign"
	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// hostVectors is the file that the test chains of both SDKs read: each line has a host function, its arguments and its
// result. Input of hashes is given by its length: its byte i is i modulo 251.
const hostVectors = "../testdata/host.txt"

// TestHostVectors computes, with the node's own code, the results that the test chains of both SDKs must reproduce.
// UPDATE=1 writes the file.
func TestHostVectors(t *testing.T) {
	var b bytes.Buffer
	for _, n := range []int{0, 1, 3, 55, 64, 135, 136, 137, 272, 1023, 1024, 1025, 2048, 2049, 3073, 8193} {
		data := make([]byte, n)
		for i := range data {
			data[i] = byte(i % 251)
		}
		fmt.Fprintf(&b, "sha256 %d %x\n", n, sha256.Sum256(data))
		fmt.Fprintf(&b, "keccak256 %d %x\n", n, foreign.Keccak256(data))
		fmt.Fprintf(&b, "blake3 %d %x\n", n, foreign.Blake3(data))
	}
	schnorrLines(t, &b)
	recoverLines(&b)
	p256Lines(&b)
	accountLines(&b)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(hostVectors, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(hostVectors)
	if err != nil || !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what the node computes (%v): UPDATE=1 writes it", hostVectors, err)
	}
}

func numbered(what string, i int) [32]byte {
	return sha256.Sum256(binary.BigEndian.AppendUint64([]byte(what), uint64(i)))
}

func schnorrLines(t *testing.T, b *bytes.Buffer) {
	line := func(key [32]byte, message []byte, sig [64]byte) {
		ok := 0
		if bip340.Verify(key, message, sig) {
			ok = 1
		}
		fmt.Fprintf(b, "schnorr_verify %x %x %x %d\n", key, message, sig, ok)
	}
	top := [32]byte(bytes.Repeat([]byte{0xff}, 32))
	for i := range 4 {
		secret, err := crypto.NewPrivateKey(numbered("key", i))
		if err != nil {
			t.Fatal(err)
		}
		message := numbered("message", i)
		sig, err := secret.Sign(message[:], [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		key := [32]byte(secret.PublicKey())
		line(key, message[:], sig)
		line(key, message[1:], sig)
		for _, at := range []int{0, 40} {
			bad := sig
			bad[at] ^= 1
			line(key, message[:], bad)
		}
		for _, half := range []int{0, 32} { // r over p, s over n
			bad := sig
			copy(bad[half:], top[:])
			line(key, message[:], bad)
		}
		line(numbered("no point, maybe", i), message[:], sig)
		line(top, message[:], sig)
	}
}

func recoverLines(b *bytes.Buffer) {
	line := func(hash [32]byte, sig [65]byte) {
		key, ok := foreign.RecoverECDSA(hash, sig)
		result := "-"
		if ok {
			result = hex.EncodeToString(key[:])
		}
		fmt.Fprintf(b, "ecdsa_recover %x %x %s\n", hash, sig, result)
	}
	for i := range 8 {
		var sig [65]byte
		r, s := numbered("r", i), numbered("s", i)
		copy(sig[:], r[:])
		copy(sig[32:], s[:])
		sig[32] &= 0x7f
		for v := range byte(3) {
			sig[64] = v
			line(numbered("hash", i), sig)
		}
		high := sig
		high[32], high[64] = 0xff, 0
		line(numbered("hash", i), high)
		none := sig
		clear(none[:32])
		none[64] = 0
		line(numbered("hash", i), none)
	}
	line([32]byte(bytes.Repeat([]byte{0xff}, 32)), [65]byte(append(bytes.Repeat([]byte{0x55}, 64), 1)))
}

func p256Key(name string) *ecdsa.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), seed[:])
	if err != nil {
		panic(err)
	}
	return key
}

func p256Point(key *ecdsa.PrivateKey) (point [64]byte) {
	encoded, err := key.PublicKey.Bytes()
	if err != nil {
		panic(err)
	}
	copy(point[:], encoded[1:])
	return point
}

// p256Sign signs a digest by RFC 6979, with the lower s.
func p256Sign(key *ecdsa.PrivateKey, digest [32]byte) (signature [64]byte) {
	der, err := key.Sign(nil, digest[:], stdcrypto.SHA256)
	if err != nil {
		panic(err)
	}
	var numbers struct{ R, S *big.Int }
	if _, err := asn1.Unmarshal(der, &numbers); err != nil {
		panic(err)
	}
	numbers.R.FillBytes(signature[:32])
	numbers.S.FillBytes(signature[32:])
	return p256.Lower(signature)
}

func p256Lines(b *bytes.Buffer) {
	line := func(point [64]byte, digest [32]byte, signature [64]byte) {
		ok := 0
		if p256.VerifyAny(point, signature, digest) {
			ok = 1
		}
		fmt.Fprintf(b, "p256_verify %x %x %x %d\n", point, digest, signature, ok)
	}
	order := elliptic.P256().Params().N
	for i := range 3 {
		key, digest := p256Key(fmt.Sprint("p256 ", i)), numbered("digest", i)
		point, signature := p256Point(key), p256Sign(key, numbered("digest", i))
		line(point, digest, signature)
		high := signature
		new(big.Int).Sub(order, new(big.Int).SetBytes(signature[32:])).FillBytes(high[32:])
		line(point, digest, high)
		line(point, numbered("digest", i+1), signature)
		for _, at := range []int{0, 40} {
			bad := signature
			bad[at] ^= 1
			line(point, digest, bad)
		}
		for _, half := range []int{0, 32} { // r and s of 0, and over n
			zero, over := signature, signature
			clear(zero[half : half+32])
			copy(over[half:half+32], bytes.Repeat([]byte{0xff}, 32))
			line(point, digest, zero)
			line(point, digest, over)
		}
		off := point
		off[63] ^= 1
		line(off, digest, signature)
		line([64]byte(bytes.Repeat([]byte{0xff}, 64)), digest, signature)
		line(point, [32]byte(bytes.Repeat([]byte{0xff}, 32)), signature)
	}
}

// accountLines writes witnesses for messages outside of contracts, on the chain of native tests. Each account has its
// initial authority.
func accountLines(b *bytes.Buffer) {
	key, other, device := keyNamed("account"), keyNamed("other"), p256Key("device")
	sign := func(k crypto.PrivateKey, message [32]byte) types.Signature {
		signature, err := k.Sign(message[:], [32]byte{})
		if err != nil {
			panic(err)
		}
		return signature
	}
	rule := func(threshold uint8, signers ...types.Signer) types.Rule {
		slices.SortFunc(signers, func(a, b types.Signer) int {
			return bytes.Compare(types.EncodeSigner(a), types.EncodeSigner(b))
		})
		return types.Rule{Threshold: threshold, Signers: signers}
	}
	single := types.Policy{Owner: rule(1, types.SignerP256{Point: p256Point(device)})}
	passkeys := types.Policy{Number: 7, Owner: rule(1, types.SignerPasskey{Point: p256Point(device), Verified: true})}
	two := types.Policy{Owner: rule(2, types.SignerKey{Key: key.PublicKey()}, types.SignerKey{Key: other.PublicKey()},
		types.SignerP256{Point: p256Point(device)}), Recovery: &types.Recovery{
		Rule: rule(1, types.SignerKey{Key: other.PublicKey()}), Delay: 1,
	}}
	long := numbered("long", 0)
	none, messages := types.ContractID{}, [][]byte{
		nil, []byte("order 12: 5 GLD for 1.5"), []byte("two\nlines"), long[:], bytes.Repeat([]byte{'x'}, 1_024),
	}
	line := func(account types.Account, message, witness []byte) {
		ok := 0
		if w, err := types.DecodeWitness(witness); err == nil && w.Claim(account) == account &&
			types.VerifyMessage(types.Regtest, 31337, none, account, message, w) {
			ok = 1
		}
		fmt.Fprintf(b, "account_verify %x %x. %x. %d\n", account[:], message, witness, ok)
	}
	add := func(account types.Account, message []byte, w types.Witness) []byte {
		encoded := types.EncodeWitness(w)
		line(account, message, encoded)
		return encoded
	}
	for _, message := range messages {
		a := types.Account(key.PublicKey())
		hash := types.MessageHash(31337, none, a, message)
		text := types.MessageText(types.Regtest, 31337, none, a, message)
		add(a, message, types.WitnessKey{Signature: sign(key, hash)})
		for sighash := range uint8(2) {
			signature := sign(key, bip322.Message(key.PublicKey(), text, sighash))
			add(a, message, types.WitnessText{Signature: signature, Sighash: sighash})
			add(a, message, types.WitnessText{Signature: signature, Sighash: 1 - sighash})
		}
		hash = types.MessageHash(31337, none, single.Hash(), message)
		good := add(single.Hash(), message, types.WitnessPolicy{Policy: single, Proofs: []types.Proof{
			{Evidence: types.EvidenceP256{Signature: p256Sign(device, sha256.Sum256(hash[:]))}},
		}})
		line(types.Account(other.PublicKey()), message, good)
		line(single.Hash(), append([]byte{'?'}, message...)[:min(1_024, len(message)+1)], good)
		line(single.Hash(), message, append(bytes.Clone(good), 0))
		line(single.Hash(), message, good[:len(good)-1])
	}
	message := messages[1]
	hash := types.MessageHash(31337, none, passkeys.Hash(), message)
	for _, flags := range []byte{0x05, 0x1d, 0x01, 0x04, 0x45, 0x85} {
		for _, client := range []string{`","origin":"https://a.example"}`, `","type":"x"}`, ""} {
			e := types.EvidencePasskey{Client: []byte(client)}
			e.Authenticator[32] = flags
			e.Signature = p256Sign(device, types.PasskeyDigest(hash, e.Authenticator, e.Client))
			add(passkeys.Hash(), message, types.WitnessPolicy{Policy: passkeys, Proofs: []types.Proof{{Evidence: e}}})
		}
	}
	hash = types.MessageHash(31337, none, two.Hash(), message)
	var proofs []types.Proof
	for i, s := range two.Owner.Signers {
		p := types.Proof{Signer: uint8(i)}
		switch s := s.(type) {
		case types.SignerP256:
			p.Evidence = types.EvidenceP256{Signature: p256Sign(device, sha256.Sum256(hash[:]))}
		case types.SignerKey:
			signer := key
			if s.Key == other.PublicKey() {
				signer = other
			}
			p.Evidence = types.EvidenceKey{Signature: sign(signer, hash)}
		}
		proofs = append(proofs, p)
	}
	for _, chosen := range [][]int{{0, 1}, {0, 2}, {1, 2}, {1, 0}, {0, 0}, {0}, {0, 1, 2}, {}} {
		w := types.WitnessPolicy{Policy: two}
		for _, i := range chosen {
			w.Proofs = append(w.Proofs, proofs[i])
		}
		add(two.Hash(), message, w)
	}
	for _, bad := range []types.Policy{
		{Owner: types.Rule{Threshold: 0, Signers: two.Owner.Signers}}, {Owner: types.Rule{Threshold: 4, Signers: two.Owner.Signers}},
		{Owner: types.Rule{Threshold: 1}}, {Owner: rule(1, two.Owner.Signers[0], two.Owner.Signers[0])},
		{Owner: two.Owner, Recovery: &types.Recovery{Rule: two.Owner}},
		{Owner: two.Owner, Recovery: &types.Recovery{Rule: two.Owner, Delay: 1<<40 + 1}},
	} {
		add(bad.Hash(), message, types.WitnessPolicy{Policy: bad, Proofs: proofs[:1]})
	}
}

func keyNamed(name string) crypto.PrivateKey {
	key, err := crypto.NewPrivateKey(sha256.Sum256([]byte(name)))
	if err != nil {
		panic(err)
	}
	return key
}

// TestNativeChainsHaveEveryHostFunction: the test chains of both SDKs have every host function, and each function that
// computes a result has vectors.
func TestNativeChainsHaveEveryHostFunction(t *testing.T) {
	vectors, err := os.ReadFile(hostVectors)
	if err != nil {
		t.Fatal(err)
	}
	computing := []vm.Function{
		vm.SHA256, vm.Keccak256, vm.Blake3, vm.SchnorrVerify, vm.ECDSARecover, vm.P256Verify, vm.AccountVerify,
	}
	for file, form := range map[string]string{
		"cairn/src/testing/sys.rs": "pub unsafe fn %s(", "../assemblyscript/sdk/testing/frame.mjs": "      %s: (",
	} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for f, row := range vm.Functions {
			name := row.Name
			if name == "self" && strings.HasSuffix(file, ".rs") {
				name = "this" // self is a keyword in Rust
			}
			if !bytes.Contains(source, fmt.Appendf(nil, form, name)) {
				t.Errorf("got no %s in %s, want each host function", name, file)
			}
			if slices.Contains(computing, vm.Function(f)) && !bytes.Contains(vectors, []byte(row.Name+" ")) {
				t.Errorf("got no vector of %s, want some", row.Name)
			}
		}
	}
}
