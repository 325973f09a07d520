package exec

import (
	"bytes"
	stdcrypto "crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/asn1"
	"math/big"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/crypto/p256"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/vm"
	"github.com/cairn-chain/cairn/types"
)

// p256Key is a key of P-256.
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

// p256Sign signs a digest with the lower s.
func p256Sign(key *ecdsa.PrivateKey, digest [32]byte) (signature [64]byte) {
	der, err := key.Sign(nil, digest[:], stdcrypto.SHA256) // deterministic: by RFC 6979
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

// higher returns a signature with n − s in place of s.
func higher(signature [64]byte) [64]byte {
	s := new(big.Int).SetBytes(signature[32:])
	s.Sub(elliptic.P256().Params().N, s).FillBytes(signature[32:])
	return signature
}

// passkeySign makes the assertion of a passkey.
func passkeySign(key *ecdsa.PrivateKey, message [32]byte) types.EvidencePasskey {
	e := types.EvidencePasskey{Client: []byte(`","origin":"https://example.org","crossOrigin":false}`)}
	e.Authenticator[32] = 0x05
	e.Signature = p256Sign(key, types.PasskeyDigest(message, e.Authenticator, e.Client))
	return e
}

// textSignature signs a text as a Bitcoin wallet does.
func textSignature(key crypto.PrivateKey, text string, sighash uint8) types.Signature {
	public := key.PublicKey()
	return keyWitness(key, bip322.Message(public, text, sighash)).Signature
}

// policyOf makes the policy of signers, in their order.
func policyOf(threshold uint8, recovery *types.Recovery, signers ...types.Signer) types.Policy {
	slices.SortFunc(signers, func(a, b types.Signer) int {
		return bytes.Compare(types.EncodeSigner(a), types.EncodeSigner(b))
	})
	return types.Policy{Owner: types.Rule{Threshold: threshold, Signers: signers}, Recovery: recovery}
}

// single is the witness of a policy's only signer.
func single(p types.Policy, e types.Evidence) types.WitnessPolicy {
	return types.WitnessPolicy{Policy: p, Proofs: []types.Proof{{Evidence: e}}}
}

// verifier is a contract that verifies witnesses.
type verifier struct {
	*testChain
	id      types.ContractID
	account types.Account
	message []byte
	witness []byte
	verdict uint64
	gas     uint64
}

func newVerifier(t *testing.T) *verifier {
	c, e := withMachine(t)
	v := &verifier{testChain: c, message: []byte("order 12: 5 GLD for 1.5")}
	v.id = c.deploy(e, "verifier", 1_000, map[string]script{"verify": func(g *guest) {
		g.put(0x1000, v.message)
		g.put(0x2000, v.witness)
		before := g.gas.Left
		v.verdict = g.call(vm.AccountVerify, g.put(0x80, v.account[:]), 0x1000, uint64(len(v.message)), 0x2000, uint64(len(v.witness)))
		v.gas = before - g.gas.Left
	}})
	return v
}

// hash is the message that a witness signs, and text its readable form.
func (v *verifier) hash() [32]byte { return types.MessageHash(testChainID, v.id, v.account, v.message) }

func (v *verifier) text() string {
	return types.MessageText(types.Regtest, testChainID, v.id, v.account, v.message)
}

// holds verifies a witness in a block and in a view, and returns whether it is valid.
func (v *verifier) holds(w types.Witness) bool {
	v.t.Helper()
	return v.holdsBytes(types.EncodeWitness(w))
}

func (v *verifier) holdsBytes(encoded []byte) bool {
	v.t.Helper()
	v.witness = encoded
	v.outcome(v.run(v.id, "verify"), Success, "")
	inBlock := v.verdict
	v.verdict = 99
	if got, err := v.simulate(types.Account{}, 100_000_000, calling(v.id, "verify", 0), true); err != nil || got.Reason != Success {
		v.t.Fatalf("in a view: got %+v, error %v, want Reason %v", got, err, Success)
	}
	if v.verdict != inBlock {
		v.t.Errorf("in a view the verdict is %d, in a block %d", v.verdict, inBlock)
	}
	return inBlock == 1
}

// TestAccountVerify checks every kind of witness: it is valid at its price, and invalid for another account, message,
// contract, chain and role.
func TestAccountVerify(t *testing.T) {
	p256Signer, passkey := p256Key("p256"), p256Key("passkey")
	single256 := policyOf(1, nil, types.SignerP256{Point: p256Point(p256Signer)})
	passkeys := policyOf(1, nil, types.SignerPasskey{Point: p256Point(passkey), Verified: true})
	two := policyOf(2, nil, types.SignerKey{Key: alice.PublicKey()}, types.SignerKey{Key: bob.PublicKey()})
	for _, tc := range []struct {
		name    string
		account types.Account
		witness func(v *verifier) types.Witness
		proofs  uint64 // the price of verification
	}{
		{"key", account(alice), func(v *verifier) types.Witness { return keyWitness(alice, v.hash()) }, 270_000},
		{"text", account(alice), func(v *verifier) types.Witness {
			return types.WitnessText{Signature: textSignature(alice, v.text(), types.SighashDefault)}
		}, 280_000},
		{"text with sighash 1", account(alice), func(v *verifier) types.Witness {
			return types.WitnessText{Signature: textSignature(alice, v.text(), types.SighashAll), Sighash: types.SighashAll}
		}, 280_000},
		{"p256", single256.Hash(), func(v *verifier) types.Witness {
			hash := v.hash()
			return single(single256, types.EvidenceP256{Signature: p256Sign(p256Signer, sha256.Sum256(hash[:]))})
		}, 300_000},
		{"passkey", passkeys.Hash(), func(v *verifier) types.Witness {
			return single(passkeys, passkeySign(passkey, v.hash()))
		}, 300_000},
		{"two of two, one of them by a text", two.Hash(), func(v *verifier) types.Witness {
			w := types.WitnessPolicy{Policy: two}
			for i, s := range two.Owner.Signers {
				var e types.Evidence = types.EvidenceKey{Signature: keyWitness(alice, v.hash()).Signature}
				if s.(types.SignerKey).Key == bob.PublicKey() {
					e = types.EvidenceText{Signature: textSignature(bob, v.text(), 0)}
				}
				w.Proofs = append(w.Proofs, types.Proof{Signer: uint8(i), Evidence: e})
			}
			return w
		}, 270_000 + 280_000},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := newVerifier(t)
			v.account = tc.account
			w := tc.witness(v)
			if !v.holds(w) {
				t.Fatal("it does not hold")
			}
			n, m := uint64(len(v.witness)), uint64(len(v.message))
			if want := 5_000 + 16*n + 6*m + (32+m+n+3)/4 + tc.proofs; v.gas != want {
				t.Errorf("it took %d gas, want %d", v.gas, want)
			}
			v.message = append(v.message, '!')
			if v.holds(w) {
				t.Error("it holds for another message")
			}
			v.message = v.message[:len(v.message)-1]
			v.account = account(producer)
			if v.holds(w) {
				t.Error("it holds for another account")
			}
			v.account = tc.account
			for name, other := range map[string]func(v *verifier) types.Witness{
				"another contract": func(v *verifier) types.Witness {
					foreign := *v
					foreign.id[0]++
					return tc.witness(&foreign)
				},
				"no contract": func(v *verifier) types.Witness {
					foreign := *v
					foreign.id = types.ContractID{}
					return tc.witness(&foreign)
				},
			} {
				if v.holds(other(v)) {
					t.Errorf("one for %s holds", name)
				}
			}
		})
	}
}

// TestAccountVerifyRefuses has faults in the bytes of a witness, and the cost of each.
func TestAccountVerifyRefuses(t *testing.T) {
	v := newVerifier(t)
	v.account = account(alice)
	good := types.EncodeWitness(keyWitness(alice, v.hash()))
	flip := func(i int) []byte {
		b := bytes.Clone(good)
		b[i] ^= 1
		return b
	}
	bad := policyOf(2, nil, types.SignerKey{Key: alice.PublicKey()})
	for _, tc := range []struct {
		name    string
		witness []byte
		paid    bool // whether its proofs are verified, and so paid
	}{
		{"nothing", nil, false},
		{"a byte missing", good[:len(good)-1], false},
		{"a byte left over", append(bytes.Clone(good), 0), false},
		{"an unknown kind", append([]byte{3, 0, 0, 0}, good[4:]...), false},
		{"a policy that is not valid", types.EncodeWitness(single(bad, types.EvidenceKey{})), false},
		{"another signature", flip(10), true},
		{"another r", flip(4 + 31), true},
		{"a transaction's signature", types.EncodeWitness(keyWitness(alice, [32]byte(v.plain(v.account).Hash()))), true},
		{"a key's as a text's", types.EncodeWitness(types.WitnessText{Signature: types.Signature(good[4:])}), true},
		{"a policy's in place of the key's", types.EncodeWitness(single(
			policyOf(1, nil, types.SignerKey{Key: alice.PublicKey()}), types.EvidenceKey{Signature: types.Signature(good[4:])},
		)), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if v.holdsBytes(tc.witness) {
				t.Error("it holds")
			}
			n, m := uint64(len(tc.witness)), uint64(len(v.message))
			base := 5_000 + 16*n + 6*m + (32+m+n+3)/4
			if paid := v.gas - base; (paid > 0) != tc.paid || paid != 0 && paid < 270_000 {
				t.Errorf("it paid %d for its proofs", paid)
			}
		})
	}
	if !v.holdsBytes(good) {
		t.Error("the good one does not hold")
	}
}

// TestAccountVerifyFollowsTheAuthority: after a SetPolicy the key's witness no longer holds and the policy's does, in
// the same block. A recovery's witness holds once its time has come, although nothing was written.
func TestAccountVerifyFollowsTheAuthority(t *testing.T) {
	v := newVerifier(t)
	v.account = account(bob)
	const delay = 10_000
	owner, heir := testKey("owner"), testKey("heir")
	policy := policyOf(1, &types.Recovery{
		Rule: types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerKey{Key: heir.PublicKey()}}}, Delay: delay,
	}, types.SignerKey{Key: owner.PublicKey()})
	next := policyOf(1, nil, types.SignerKey{Key: heir.PublicKey()})
	byKey := func() types.Witness { return keyWitness(bob, v.hash()) }
	byPolicy := func() types.Witness {
		return single(policy, types.EvidenceKey{Signature: keyWitness(owner, v.hash()).Signature})
	}
	byRecovery := func() types.Witness { // the recovery rule never signs messages
		return single(policy, types.EvidenceKey{Signature: keyWitness(heir, v.hash()).Signature})
	}
	byNext := func() types.Witness {
		return single(next, types.EvidenceKey{Signature: keyWitness(heir, v.hash()).Signature})
	}
	expect := func(when string, key, policy, next bool) {
		t.Helper()
		for name, got := range map[string]bool{
			"key": v.holds(byKey()) == key, "policy": v.holds(byPolicy()) == policy, "next": v.holds(byNext()) == next,
			"recovery": !v.holds(byRecovery()),
		} {
			if !got {
				t.Errorf("%s: wrong verdict on the witness of the %s", when, name)
			}
		}
	}
	expect("at first", true, false, false)
	v.witness = types.EncodeWitness(byPolicy())
	result := v.block(v.action(bob, 200_000, with(types.SetPolicy{Policy: &policy})),
		v.action(alice, 10_000_000, calling(v.id, "verify", 0)))
	if v.verdict != 1 || result.Reasons[0] != Success {
		t.Errorf("in the block of the SetPolicy: got %d, want 1, %q, want %q", v.verdict, result.Reasons[0], Success)
	}
	expect("after the SetPolicy", false, true, false)

	recovery := v.plain(v.account)
	payer := account(alice)
	recovery.Payer, recovery.Target, recovery.Value = &payer, types.Account{}, 0
	recovery.Payload = types.SetPolicy{Recovery: true, Policy: &next}
	v.block(v.verify(types.SignedTransaction{
		Transaction:  recovery,
		Witness:      single(policy, types.EvidenceKey{Signature: keyWitness(heir, recovery.Hash()).Signature}),
		PayerWitness: keyWitness(alice, types.PayerHash(recovery.Hash())),
	}))
	from := v.head.Timestamp + delay
	if pending := v.state.account(t, v.account).Pending; pending == nil || pending.From != from {
		t.Fatalf("pending is %+v, want from %d", pending, from)
	}
	expect("while it is pending", false, true, false)
	before := v.state[string(state.AccountKey(v.account))]
	v.blockAt(from - 1_000)
	v.witness = types.EncodeWitness(byNext())
	v.blockAt(from-1, v.action(alice, 10_000_000, calling(v.id, "verify", 0)))
	if v.verdict != 0 {
		t.Error("it holds a millisecond early")
	}
	v.blockAt(from, v.action(alice, 10_000_000, calling(v.id, "verify", 0)))
	if v.verdict != 1 {
		t.Error("it does not hold when its time has come")
	}
	expect("in force", false, false, true)
	if got := v.state[string(state.AccountKey(v.account))]; !bytes.Equal(got, before) {
		t.Error("time wrote the record")
	}
}

// TestP256Verify: every s from 1 to n − 1 is valid, but only for this digest.
func TestP256Verify(t *testing.T) {
	c, e := withMachine(t)
	var point, signature [64]byte
	var digest [32]byte
	var verdict, gas uint64
	id := c.deploy(e, "verifier", 0, map[string]script{"verify": func(g *guest) {
		before := g.gas.Left
		verdict = g.call(vm.P256Verify, g.put(0x100, point[:]), g.put(0x80, digest[:]), g.put(0x200, signature[:]))
		gas = before - g.gas.Left
	}})
	verify := func() bool {
		t.Helper()
		c.outcome(c.run(id, "verify"), Success, "")
		if gas != 300_000+40 {
			t.Errorf("it took %d gas", gas)
		}
		return verdict == 1
	}
	key := p256Key("any")
	point, digest = p256Point(key), sha256.Sum256([]byte("a message"))
	signature = p256Sign(key, digest)
	if !verify() {
		t.Error("with the lower s it does not hold")
	}
	if signature = higher(signature); !verify() {
		t.Error("with the higher s it does not hold")
	}
	digest[0]++
	if verify() {
		t.Error("it holds for another digest")
	}
	digest[0]--
	if point[0]++; verify() {
		t.Error("it holds for a point off the curve")
	}
	point[0]--
	if signature = ([64]byte{}); verify() {
		t.Error("zeros hold")
	}
}
