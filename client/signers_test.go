package client

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/crypto/bip322"
	"github.com/cairn-chain/cairn/types"
)

// vectors are the parts of docs/vectors.json that signers must reproduce.
type vectors struct {
	JudgedIn struct{ Network types.Network } `json:"judged_in"`
	Keys     []struct{ Name, Curve, Secret string }
	Policies []struct{ Name, Encoded, Hash string }

	Transactions []struct {
		Name, ID, Text, Claim, Signed string
		PayerHash                     string `json:"payer_hash"`
		PayerText                     string `json:"payer_text"`
	}
	Message struct {
		ChainID  uint64 `json:"chain_id"`
		Contract types.ContractID
		Account  types.Account
		Message  string
		Key      string
		AsText   string `json:"as_text"`
	}
}

func readVectors(t testing.TB) (v vectors) {
	t.Helper()
	text, err := os.ReadFile("../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(text, &v)
	}
	if err != nil || len(v.Transactions) < 16 {
		t.Fatalf("%d transactions: error %v", len(v.Transactions), err)
	}
	return v
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// holders are the vectors' keys: wallets' keys by account, and cosigners' keys by signer.
type holders struct {
	keys      map[types.Account]crypto.PrivateKey
	cosigners map[types.Signer]Cosigner
}

func (v vectors) holders(t testing.TB) holders {
	t.Helper()
	h := holders{make(map[types.Account]crypto.PrivateKey), make(map[types.Signer]Cosigner)}
	for _, k := range v.Keys {
		secret := [32]byte(unhex(t, k.Secret))
		if k.Curve == "secp256k1" {
			key, err := crypto.NewPrivateKey(secret)
			if err != nil {
				t.Fatal(err)
			}
			h.keys[key.PublicKey()] = key
			h.cosigners[NewSigner(key).Signer()] = NewSigner(key)
			continue
		}
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), secret[:])
		if err != nil {
			t.Fatal(err)
		}
		signer, err := NewP256Signer(key)
		if err != nil {
			t.Fatal(err)
		}
		h.cosigners[signer.Signer()] = signer
		for _, verified := range []bool{false, true} {
			passkey := NewPasskeySigner(signer.point, verified, authenticator(key))
			h.cosigners[passkey.Signer()] = passkey
		}
	}
	return h
}

// wallet is a Bitcoin wallet that has the keys and signs with one of the sighash bytes.
func (h holders) wallet(sighash uint8) SignText {
	return func(_ context.Context, account types.Account, text string) (string, error) {
		key, ok := h.keys[account]
		if !ok {
			return "", errors.New("the wallet does not have the address")
		}
		message := bip322.Message(account, text, sighash)
		signature, err := key.Sign(message[:], [32]byte{})
		stack := append([]byte{1, 64 + sighash}, signature[:]...)
		if sighash == types.SighashAll {
			stack = append(stack, types.SighashAll)
		}
		return base64.StdEncoding.EncodeToString(stack), err
	}
}

// authenticator is a device with a passkey, for the page http://localhost.
func authenticator(key *ecdsa.PrivateKey) Assert {
	return func(_ context.Context, challenge [32]byte, verified bool) (Assertion, error) {
		rp := sha256.Sum256([]byte("localhost"))
		flags := byte(1)
		if verified {
			flags |= 4
		}
		data := append(rp[:], flags, 0, 0, 0, 0)
		client := []byte(`{"type":"webauthn.get","challenge":"` + base64.RawURLEncoding.EncodeToString(challenge[:]) +
			`","origin":"http://localhost","crossOrigin":false}`)
		hash := sha256.Sum256(client)
		digest := sha256.Sum256(append(bytes.Clone(data), hash[:]...))
		signature, err := ecdsa.SignASN1(nil, key, digest[:])
		return Assertion{AuthenticatorData: data, ClientDataJSON: client, Signature: signature}, err
	}
}

// signer returns a signer that makes witnesses of a vector's kind.
func (h holders) signer(t *testing.T, network types.Network, account types.Account, witness types.Witness) Signer {
	t.Helper()
	switch w := witness.(type) {
	case types.WitnessKey:
		return NewSigner(h.keys[account])
	case types.WitnessText:
		return NewTextSigner(network, account, h.wallet(w.Sighash))
	case types.WitnessPolicy:
		var all []Cosigner
		for _, rule := range []types.Rule{w.Policy.Owner, recoveryOf(w.Policy)} {
			for _, p := range w.Proofs {
				if int(p.Signer) < len(rule.Signers) && h.cosigners[rule.Signers[p.Signer]] != nil {
					all = append(all, h.cosigner(network, rule.Signers[p.Signer], p.Evidence))
				}
			}
		}
		slices.Reverse(all) // the witness orders them anyway
		signer, err := NewPolicySigner(network, PolicyAccount{ID: account, Policy: w.Policy}, all...)
		if err != nil {
			t.Fatal(err)
		}
		return signer
	}
	t.Fatalf("a witness %T", witness)
	return nil
}

// cosigner returns a cosigner that gives evidence of a vector's kind.
func (h holders) cosigner(network types.Network, signer types.Signer, evidence types.Evidence) Cosigner {
	key, isKey := signer.(types.SignerKey)
	if text, is := evidence.(types.EvidenceText); is && isKey {
		return NewTextSigner(network, types.Account(key.Key), h.wallet(text.Sighash))
	}
	return h.cosigners[signer]
}

func recoveryOf(p types.Policy) types.Rule {
	if p.Recovery == nil {
		return types.Rule{}
	}
	return p.Recovery.Rule
}

// TestSignersByTheVectors: each kind of signer agrees with the vectors. Its witnesses are valid, have the vectors'
// claims and size, and are no larger than its samples.
func TestSignersByTheVectors(t *testing.T) {
	v := readVectors(t)
	h, network := v.holders(t), v.JudgedIn.Network
	for _, vector := range v.Transactions {
		t.Run(vector.Name, func(t *testing.T) {
			want, err := types.DecodeSignedTransaction(unhex(t, vector.Signed))
			if err != nil {
				t.Fatal(err)
			}
			tx := want.Transaction
			for role, says := range map[Role][2]string{
				AsSender: {vector.ID, vector.Text}, AsPayer: {vector.PayerHash, vector.PayerText},
			} {
				what := StatementOf(tx, role)
				text, err := what.Text(network)
				if hex.EncodeToString(what.Hash[:]) != says[0] || text != says[1] || err != nil {
					t.Errorf("as %s: got %x, %q, %v", role, what.Hash, text, err)
				}
			}
			sender := h.signer(t, network, tx.Sender, want.Witness)
			got, err := Sign(t.Context(), sender, tx)
			if err != nil {
				t.Fatal(err)
			}
			checkSample(t, sender, tx, AsSender, got.Witness, want.Witness)
			if tx.Payer != nil {
				payer := h.signer(t, network, *tx.Payer, want.PayerWitness)
				now := time.Now()
				if tx.ValidUntil == nil {
					if _, err := Sponsor(t.Context(), payer, got, now); !errors.Is(err, ErrSponsoredTooLong) {
						t.Errorf("sponsored without an end: error %v, want %v", err, ErrSponsoredTooLong)
					}
					if got.PayerWitness, err = payer.Sign(t.Context(), tx, AsPayer); err != nil {
						t.Fatal(err)
					}
				} else {
					now = time.UnixMilli(int64(*tx.ValidUntil)).Add(-MaxSponsored)
					if _, err := Sponsor(t.Context(), payer, got, now.Add(-time.Millisecond)); !errors.Is(err, ErrSponsoredTooLong) {
						t.Errorf("sponsored for longer: error %v, want %v", err, ErrSponsoredTooLong)
					}
					if got, err = Sponsor(t.Context(), payer, got, now); err != nil {
						t.Fatal(err)
					}
				}
				checkSample(t, payer, tx, AsPayer, got.PayerWitness, want.PayerWitness)
			}
			verified := types.VerifyWitnesses(network, types.NewTxs(got))[0]
			if verified == nil {
				t.Fatal("the witnesses do not hold")
			}
			if claim := verified.Claim(); hex.EncodeToString(claim[:]) != vector.Claim {
				t.Errorf("it claims %s, want %s", claim, vector.Claim)
			}
			if got.ID() != want.ID() {
				t.Errorf("its ID is %s, want %s", got.ID(), want.ID())
			}
			checkDraft(t, h, network, want)
		})
	}
}

func checkSample(t *testing.T, signer Signer, tx types.Transaction, role Role, got, want types.Witness) {
	t.Helper()
	sample := signer.Sample(tx.Payload, role)
	if types.WitnessBytes(got) != types.WitnessBytes(want) && !strings.Contains(kinds(want), "Passkey") {
		t.Errorf("as %s the witness has %d bytes, want %d", role, types.WitnessBytes(got), types.WitnessBytes(want))
	}
	if types.WitnessBytes(sample) < types.WitnessBytes(got) || strings.Contains(kinds(got), "P256") != strings.Contains(kinds(sample), "P256") {
		t.Errorf("as %s the sample has %d bytes of %s, and the witness %d of %s", role, types.WitnessBytes(sample),
			kinds(sample), types.WitnessBytes(got), kinds(got))
	}
}

// kinds names the kinds of evidence in a witness.
func kinds(w types.Witness) string {
	policy, ok := w.(types.WitnessPolicy)
	if !ok {
		return ""
	}
	var names []string
	for _, p := range policy.Proofs {
		switch p.Evidence.(type) {
		case types.EvidencePasskey:
			names = append(names, "Passkey P256")
		case types.EvidenceP256:
			names = append(names, "P256")
		}
	}
	return strings.Join(names, " ")
}

// checkDraft passes a vector's transaction from one signer to the next, as a file, until it is signed.
func checkDraft(t *testing.T, h holders, network types.Network, want types.SignedTransaction) {
	t.Helper()
	policyOf := func(w types.Witness) *types.Policy {
		if w, ok := w.(types.WitnessPolicy); ok {
			return &w.Policy
		}
		return nil
	}
	d, err := NewDraft(network, want.Transaction, policyOf(want.Witness), policyOf(want.PayerWitness))
	if err != nil {
		t.Fatal(err)
	}
	for role, witness := range map[Role]types.Witness{AsSender: want.Witness, AsPayer: want.PayerWitness} {
		if witness == nil {
			continue
		}
		account, err := d.Account(role)
		if err != nil {
			t.Fatal(err)
		}
		switch w := witness.(type) {
		case types.WitnessKey:
			d = passOn(t, d, role, NewSigner(h.keys[account]), 0)
		case types.WitnessText:
			text, err := d.Text(role)
			if err != nil {
				t.Fatal(err)
			}
			signature, err := h.wallet(w.Sighash)(t.Context(), account, text)
			if err == nil {
				err = d.Attach(role, types.PublicKey(account), "smp"+signature)
			}
			if err != nil {
				t.Fatal(err)
			}
		case types.WitnessPolicy:
			rule := RuleFor(w.Policy, want.Payload, role)
			for i := len(w.Proofs) - 1; i >= 0; i-- {
				d = passOn(t, d, role, h.cosigner(network, rule.Signers[w.Proofs[i].Signer], w.Proofs[i].Evidence), i)
			}
		}
	}
	signed, err := d.Signed()
	if err != nil {
		t.Fatal(err)
	}
	if types.VerifyWitnesses(network, types.NewTxs(signed))[0] == nil || signed.ID() != want.ID() {
		t.Error("what came of the draft does not hold")
	}
	// The vectors' own signatures yield the vectors' bytes.
	d.Sender, d.Payer = signaturesOf(want.Witness), signaturesOf(want.PayerWitness)
	if err := d.check(); err != nil {
		t.Fatal(err)
	}
	if signed, err := d.Signed(); err != nil || !bytes.Equal(signed.Encode(), want.Encode()) {
		t.Errorf("the vector's signatures give %x, want %x, error %v", signed.Encode(), want.Encode(), err)
	}
}

func signaturesOf(w types.Witness) Signatures {
	if w, ok := w.(types.WitnessPolicy); ok {
		return Signatures{Policy: &w.Policy, Proofs: w.Proofs}
	}
	return Signatures{Witness: w}
}

// passOn signs a draft, writes it as JSON and reads it again. left is the number of signatures still missing.
func passOn(t *testing.T, d *Draft, role Role, cosigner Cosigner, left int) *Draft {
	t.Helper()
	if err := d.Sign(t.Context(), role, cosigner); err != nil {
		t.Fatal(err)
	}
	if missing, from, err := d.Missing(role); missing != left || (len(from) > 0) != (left > 0) || err != nil {
		t.Errorf("as %s %d signatures of %d are missing, %v; want %d", role, missing, len(from), err, left)
	}
	return again(t, d)
}

// again writes a draft as JSON and reads it.
func again(t *testing.T, d *Draft) *Draft {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	read, err := ParseDraft(text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return read
}

// TestMessages: accounts of every kind sign messages, and a verifier asks the node who may sign for the account.
func TestMessages(t *testing.T) {
	v := readVectors(t)
	h, network := v.holders(t), v.JudgedIn.Network
	m := Message{v.Message.ChainID, v.Message.Contract, v.Message.Account, unhex(t, v.Message.Message)}
	authority := m.Account
	c := connect(t, nil, answer(api.GetAccount, func(api.GetAccountParams) (api.Account, error) {
		return api.Account{Account: m.Account, Authority: authority}, nil
	}))
	policy := SinglePolicy(h.cosigners[types.SignerKey{Key: types.PublicKey(m.Account)}].Signer())
	witnesses := map[string]types.Witness{
		"the vector's key":  types.WitnessKey{Signature: types.Signature(unhex(t, v.Message.Key))},
		"the vector's text": types.WitnessText{Signature: types.Signature(unhex(t, v.Message.AsText))},
	}
	for name, signer := range map[string]Signer{
		"a key":    NewSigner(h.keys[m.Account]),
		"a text":   NewTextSigner(network, m.Account, h.wallet(types.SighashAll)),
		"a policy": h.signer(t, network, m.Account, types.WitnessPolicy{Policy: policy, Proofs: make([]types.Proof, 1)}),
	} {
		witness, err := signer.SignMessage(t.Context(), m)
		if err != nil {
			t.Fatalf("%s: error %v", name, err)
		}
		witnesses[name] = witness
		other := m
		other.Account[0]++
		if _, err := signer.SignMessage(t.Context(), other); !errors.Is(err, ErrOtherAccount) {
			t.Errorf("%s: signed for another account: error %v, want %v", name, err, ErrOtherAccount)
		}
	}
	for name, witness := range witnesses {
		for _, authority = range []types.Account{m.Account, policy.Hash()} {
			want := witness.Claim(m.Account) == authority
			if got, err := c.VerifyMessage(t.Context(), network, m, witness); got != want || err != nil {
				t.Errorf("%s, while %s signs: got %v, want %v, error %v", name, authority, got, want, err)
			}
		}
		other := m
		other.Bytes = append([]byte("x"), m.Bytes...)
		if got, err := c.VerifyMessage(t.Context(), network, other, witness); got || err != nil {
			t.Errorf("%s of another message: got %v, error %v", name, got, err)
		}
	}
}

// TestSignersRefuse: signers sign for their own account only, and refuse invalid signatures.
func TestSignersRefuse(t *testing.T) {
	v := readVectors(t)
	h, network := v.holders(t), v.JudgedIn.Network
	signer := signer(t)
	tx := types.Transaction{Sender: signer.Account(), Payer: &types.Account{9}, Payload: types.Transfer{}}
	foreign := tx
	foreign.Sender[0]++
	policy := SinglePolicy(signer.Signer())
	byPolicy, err := NewPolicySigner(network, PolicyAccount{ID: signer.Account(), Policy: policy}, signer)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []Signer{signer, NewTextSigner(network, signer.Account(), h.wallet(0)), byPolicy} {
		for role, tx := range map[Role]types.Transaction{AsSender: foreign, AsPayer: tx} {
			if _, err := s.Sign(t.Context(), tx, role); !errors.Is(err, ErrOtherAccount) {
				t.Errorf("%T as %s: error %v, want %v", s, role, err, ErrOtherAccount)
			}
		}
	}
	if _, err := SignAll(t.Context(), signer, []types.Transaction{tx, foreign}); !errors.Is(err, ErrOtherAccount) {
		t.Errorf("all: error %v, want %v", err, ErrOtherAccount)
	}
	other := NewTextSigner(types.Mainnet, signer.Account(), func(_ context.Context, a types.Account, _ string) (string, error) {
		return h.wallet(0)(t.Context(), v.Message.Account, "another text")
	})
	if _, err := Sign(t.Context(), other, tx); !errors.Is(err, ErrTextSignature) {
		t.Errorf("a signature of another text: error %v, want %v", err, ErrTextSignature)
	}
	late := tx
	late.ValidUntil = new(uint64(types.MaxTime + 1))
	if _, err := Sign(t.Context(), other, late); !errors.Is(err, ErrNoText) {
		t.Errorf("no text: error %v, want %v", err, ErrNoText)
	}
	long := tx
	long.Payload = types.Batch{Steps: make([]types.Step, 100)}
	for i := range 100 {
		long.Payload.(types.Batch).Steps[i].Action = types.Transfer{}
	}
	if _, err := Sign(t.Context(), other, long); !errors.Is(err, ErrNoText) {
		t.Errorf("a long text: error %v, want %v", err, ErrNoText)
	}
}

func TestParseTextSignature(t *testing.T) {
	stack := func(b ...byte) string { return base64.StdEncoding.EncodeToString(b) }
	signature := bytes.Repeat([]byte{7}, 64)
	short, long := append([]byte{1, 64}, signature...), append(append([]byte{1, 65}, signature...), 1)
	for text, sighash := range map[string]uint8{
		stack(short...): 0, "smp" + stack(short...): 0, stack(long...): 1, " smp" + stack(long...) + "\n": 1,
	} {
		got, err := ParseTextSignature(text)
		if err != nil || got.Sighash != sighash || !bytes.Equal(got.Signature[:], signature) {
			t.Errorf("%s: got %+v, error %v", text, got, err)
		}
	}
	for name, text := range map[string]string{
		"nothing": "", "no base64": "smp!", "a pair of signatures": stack(append([]byte{2}, short[1:]...)...),
		"a sighash of 2": stack(append(bytes.Clone(long[:66]), 2)...), "a byte more": stack(append(bytes.Clone(short), 1)...),
		"a byte less": stack(short[:65]...), "a length of 65 with 64 bytes": stack(append([]byte{1, 65}, signature...)...),
		"full BIP-322": "ful" + stack(short...), "a padding that is not zero": strings.TrimRight(stack(short...), "=") + "x",
	} {
		if got, err := ParseTextSignature(text); !errors.Is(err, ErrTextSignature) {
			t.Errorf("%s: got %+v, error %v, want %v", name, got, err, ErrTextSignature)
		}
	}
}

// TestRawSignature lowers s, and refuses invalid signatures.
func TestRawSignature(t *testing.T) {
	der := func(r, s []byte) []byte {
		var b []byte
		for _, n := range [][]byte{r, s} {
			b = append(append(b, 2, byte(len(n))), n...)
		}
		return append([]byte{0x30, byte(len(b))}, b...)
	}
	one := []byte{1}
	high := new(big.Int).Sub(p256Order, big.NewInt(3)).Bytes() // a first byte of 0x80 or more gets a zero before it
	high = append([]byte{0}, high...)
	got, err := rawSignature(der(one, high))
	if want := [64]byte{31: 1, 63: 3}; got != want || err != nil {
		t.Errorf("a high s: got %x, want %x, error %v", got, want, err)
	}
	low := []byte{5}
	if got, err := rawSignature(der(one, low)); got != [64]byte{31: 1, 63: 5} || err != nil {
		t.Errorf("a low s: got %x, error %v", got, err)
	}
	order := append([]byte{0}, p256Order.Bytes()...)
	for name, b := range map[string][]byte{
		"nothing": nil, "r of 0": der([]byte{0}, one), "s of 0": der(one, []byte{0}), "r of the order": der(order, one),
		"s of the order": der(one, order), "a negative r": der([]byte{0xff}, one), "left over": append(der(one, one), 0),
		"raw": make([]byte, 64),
	} {
		if got, err := rawSignature(b); !errors.Is(err, ErrNotP256) {
			t.Errorf("%s: got %x, error %v, want %v", name, got, err, ErrNotP256)
		}
	}
	if _, err := NewP256Signer(mustECDSA(t, elliptic.P384())); !errors.Is(err, ErrNotP256) {
		t.Errorf("a key of P-384: error %v, want %v", err, ErrNotP256)
	}
}

func mustECDSA(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestAssertionsThatTheChainDoesNotTake(t *testing.T) {
	challenge := [32]byte{1}
	good, err := authenticator(mustECDSA(t, elliptic.P256()))(t.Context(), challenge, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := good.evidence(challenge); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Assertion){
		"another challenge": func(a *Assertion) {
			a.ClientDataJSON = bytes.Replace(a.ClientDataJSON, []byte(`"AQ`), []byte(`"AA`), 1)
		},
		"another order": func(a *Assertion) {
			a.ClientDataJSON = bytes.Replace(a.ClientDataJSON, []byte(`","origin":"`), []byte(`","crossOrigin":"`), 1)
		},
		"a creation": func(a *Assertion) {
			a.ClientDataJSON = bytes.Replace(a.ClientDataJSON, []byte("webauthn.get"), []byte("webauthn.create"), 1)
		},
		"extensions": func(a *Assertion) { a.AuthenticatorData = append(a.AuthenticatorData, 0xa0) },
	} {
		a := Assertion{bytes.Clone(good.AuthenticatorData), bytes.Clone(good.ClientDataJSON), good.Signature}
		change(&a)
		if _, err := a.evidence(challenge); !errors.Is(err, ErrAssertion) {
			t.Errorf("%s: error %v, want %v", name, err, ErrAssertion)
		}
	}
}

func TestPolicies(t *testing.T) {
	v := readVectors(t)
	h, network := v.holders(t), v.JudgedIn.Network
	var points []types.Signer
	for signer := range h.cosigners {
		if _, is := signer.(types.SignerPasskey); !is {
			points = append(points, signer)
		}
	}
	rule, err := NewRule(2, points...)
	policy := types.Policy{Owner: rule}
	if err != nil || policy.Check() != nil {
		t.Fatalf("%+v: got %v, error %v", rule, err, policy.Check())
	}
	p256 := points[slices.IndexFunc(points, func(s types.Signer) bool { _, is := s.(types.SignerP256); return is })]
	point := p256.(types.SignerP256).Point
	for name, bad := range map[string]struct {
		threshold int
		signers   []types.Signer
	}{
		"none": {1, nil}, "a threshold of 0": {0, points}, "more than there are": {len(points) + 1, points},
		"one twice":      {1, []types.Signer{points[0], points[0]}},
		"one key as two": {1, []types.Signer{p256, types.SignerPasskey{Point: point}}},
		"a passkey with and without verification": {
			1, []types.Signer{types.SignerPasskey{Point: point}, types.SignerPasskey{Point: point, Verified: true}},
		},
		"seventeen": {1, make([]types.Signer, types.MaxSigners+1)},
	} {
		if got, err := NewRule(bad.threshold, bad.signers...); !errors.Is(err, types.ErrBadPolicy) {
			t.Errorf("%s: got %+v, error %v, want %v", name, got, err, types.ErrBadPolicy)
		}
	}
	account := PolicyAccount{ID: policy.Hash(), Policy: policy}
	tx := types.Transaction{Sender: account.ID, Payload: types.Transfer{}}
	one := h.cosigners[rule.Signers[0]]
	stranger := signer(t)
	for name, cosigners := range map[string][]Cosigner{
		"none": nil, "one": {one}, "one twice": {one, one}, "a stranger": {one, stranger},
	} {
		s, err := NewPolicySigner(network, account, cosigners...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Sign(t.Context(), s, tx); !errors.Is(err, ErrMissingProofs) {
			t.Errorf("%s: error %v, want %v", name, err, ErrMissingProofs)
		}
	}
	lying := lyingCosigner{one}
	if s, err := NewPolicySigner(network, account, lying, h.cosigners[rule.Signers[1]]); err != nil {
		t.Error(err)
	} else if _, err := Sign(t.Context(), s, tx); !errors.Is(err, ErrEvidence) {
		t.Errorf("a signature of something else: error %v, want %v", err, ErrEvidence)
	}
	if s, err := NewPolicySigner(network, account, one); err != nil {
		t.Error(err)
	} else if _, err := s.Sign(t.Context(), types.Transaction{
		Sender: account.ID, Payload: types.SetPolicy{Recovery: true},
	}, AsSender); !errors.Is(err, ErrMissingProofs) {
		t.Errorf("a recovery that the policy does not have: error %v", err)
	}
	if _, err := NewPolicySigner(network, PolicyAccount{}); !errors.Is(err, types.ErrBadPolicy) {
		t.Errorf("an empty policy: error %v, want %v", err, types.ErrBadPolicy)
	}
}

// lyingCosigner signs another transaction.
type lyingCosigner struct{ Cosigner }

func (l lyingCosigner) Evidence(ctx context.Context, what Statement) (types.Evidence, error) {
	what.Hash[0]++
	return l.Cosigner.Evidence(ctx, what)
}

// draftOfTwo is a draft with one of two signatures, and its signers.
func draftOfTwo(t testing.TB) (*Draft, []Cosigner) {
	t.Helper()
	v := readVectors(t)
	h := v.holders(t)
	var keys []types.Signer
	for account := range h.keys {
		keys = append(keys, types.SignerKey{Key: types.PublicKey(account)})
	}
	rule, err := NewRule(2, keys...)
	if err != nil {
		t.Fatal(err)
	}
	policy := types.Policy{Owner: rule}
	tx := types.Transaction{Sender: policy.Hash(), Value: 5, Payload: types.Transfer{}}
	d, err := NewDraft(types.Regtest, tx, &policy, nil)
	if err != nil {
		t.Fatal(err)
	}
	var cosigners []Cosigner
	for _, signer := range rule.Signers {
		cosigners = append(cosigners, h.cosigners[signer])
	}
	if err := d.Sign(t.Context(), AsSender, cosigners[1]); err != nil {
		t.Fatal(err)
	}
	return d, cosigners
}

func TestDraft(t *testing.T) {
	d, cosigners := draftOfTwo(t)
	if _, err := d.Signed(); !errors.Is(err, ErrMissingProofs) {
		t.Errorf("with one of two: error %v, want %v", err, ErrMissingProofs)
	}
	if err := d.Sign(t.Context(), AsSender, signer(t)); !errors.Is(err, ErrNotSigner) {
		t.Errorf("by a stranger: error %v, want %v", err, ErrNotSigner)
	}
	if err := d.Sign(t.Context(), AsPayer, cosigners[0]); !errors.Is(err, ErrBadDraft) {
		t.Errorf("as a payer that there is not: error %v, want %v", err, ErrBadDraft)
	}
	if err := d.Sign(t.Context(), AsSender, lyingCosigner{cosigners[0]}); !errors.Is(err, ErrEvidence) {
		t.Errorf("a signature of something else: error %v, want %v", err, ErrEvidence)
	}
	other, _ := draftOfTwo(t)
	other.Sender.Proofs = nil
	if err := other.Sign(t.Context(), AsSender, cosigners[0]); err != nil {
		t.Fatal(err)
	}
	if err := d.Merge(other); err != nil {
		t.Fatal(err)
	}
	signed, err := again(t, d).Signed()
	if err != nil || types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0] == nil {
		t.Errorf("merged: got %+v, error %v", signed, err)
	}
	if err := d.Sign(t.Context(), AsSender, cosigners[2]); err != nil { // one more than required
		t.Fatal(err)
	}
	signed, err = again(t, d).Signed()
	if err != nil || types.VerifyWitnesses(types.Regtest, types.NewTxs(signed))[0] == nil {
		t.Errorf("by three: got %+v, error %v", signed, err)
	}
	other.Transaction.Nonce++
	if err := d.Merge(other); !errors.Is(err, ErrBadDraft) {
		t.Errorf("merged with another transaction: error %v, want %v", err, ErrBadDraft)
	}
}

// TestParseDraftRefuses: a file's content is checked, including each signature.
func TestParseDraftRefuses(t *testing.T) {
	d, _ := draftOfTwo(t)
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	proof := d.Sender.Proofs[0].Encode()
	change := func(old, new string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("%s is not in %s", old, text)
		}
		return strings.Replace(string(text), old, new, 1)
	}
	hexOf := func(b []byte) string { return hex.EncodeToString(b) }
	wrong := bytes.Clone(proof)
	wrong[len(wrong)-1]++
	far := bytes.Clone(proof)
	far[0] = 15
	for name, bad := range map[string]struct {
		text string
		want error
	}{
		"nothing":           {"", ErrBadDraft},
		"another format":    {change("cairn-draft/1", "cairn-draft/2"), ErrBadDraft},
		"another network":   {change(`"regtest"`, `"simnet"`), ErrBadDraft},
		"an unknown member": {change(`{"format"`, `{"x":1,"format"`), ErrBadDraft},
		"something behind":  {string(text) + "{}", ErrBadDraft},
		"a payer that it does not have": {
			change(`"sender":`, `"payer":{"proofs":["0x`+hexOf(proof)+`"]},"sender":`), ErrBadDraft,
		},
		"a wrong signature":   {change(hexOf(proof), hexOf(wrong)), ErrEvidence},
		"a signer too far":    {change(hexOf(proof), hexOf(far)), ErrBadDraft},
		"a proof twice":       {change(`["0x`+hexOf(proof)+`"]`, `["0x`+hexOf(proof)+`","0x`+hexOf(proof)+`"]`), ErrBadDraft},
		"no proof":            {change(hexOf(proof), hexOf(proof[:7])), ErrBadDraft},
		"another transaction": {change(hexOf(d.Transaction.EncodeUnsigned()), hexOf(d.Transaction.Encode())), ErrBadDraft},
		"a policy whose signers do not ascend": {
			change(hexOf(d.Sender.Policy.Encode()), hexOf(types.Policy{Owner: types.Rule{Threshold: 1}}.Encode())), ErrBadDraft,
		},
		"proofs without the policy": {change(`"policy":"0x`+hexOf(d.Sender.Policy.Encode())+`",`, ""), ErrBadDraft},
		"a witness besides": {
			change(`"proofs":`, `"witness":"0x`+hexOf(types.EncodeWitness(types.WitnessKey{}))+`","proofs":`), ErrEvidence,
		},
		"too long": {strings.Repeat(" ", maxDraftBytes) + string(text), ErrBadDraft},
	} {
		if got, err := ParseDraft([]byte(bad.text)); !errors.Is(err, bad.want) {
			t.Errorf("%s: got %+v, error %v, want %v", name, got, err, bad.want)
		}
	}
}

func FuzzParseDraft(f *testing.F) {
	d, _ := draftOfTwo(f)
	text, err := json.Marshal(d)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := ParseDraft(text)
		if err != nil {
			return
		}
		first, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		second, err := ParseDraft(first)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(second); err != nil || !bytes.Equal(again, first) {
			t.Fatalf("%s, then %s, error %v", first, again, err)
		}
	})
}

func FuzzParseTextSignature(f *testing.F) {
	f.Add("smp" + base64.StdEncoding.EncodeToString(append([]byte{1, 64}, make([]byte, 64)...)))
	f.Fuzz(func(t *testing.T, text string) {
		if got, err := ParseTextSignature(text); err != nil && !errors.Is(err, ErrTextSignature) || got.Sighash > 1 {
			t.Fatalf("got %+v, error %v", got, err)
		}
	})
}

// TestSampleIsTheDearest: an estimate with the policy's sample signers yields enough gas for any other signers.
func TestSampleIsTheDearest(t *testing.T) {
	var account types.Account
	key, p256 := types.SignerKey{Key: types.PublicKey{1}}, types.SignerP256{Point: [64]byte{2}}
	passkey := types.SignerPasskey{Point: [64]byte{3}}
	for name, test := range map[string]struct {
		threshold int
		signers   []types.Signer
		want      []string
	}{
		"a key or a machine's": {1, []types.Signer{key, p256}, []string{"types.EvidenceP256"}},
		"one of each":          {1, []types.Signer{key, p256, passkey}, []string{"types.EvidencePasskey"}},
		"two of each":          {2, []types.Signer{key, p256, passkey}, []string{"types.EvidenceP256", "types.EvidencePasskey"}},
		"all":                  {3, []types.Signer{key, p256, passkey}, []string{"types.EvidenceText", "types.EvidenceP256", "types.EvidencePasskey"}},
	} {
		rule, err := NewRule(test.threshold, test.signers...)
		if err != nil {
			t.Fatal(err)
		}
		sample := PolicyAccount{ID: account, Policy: types.Policy{Owner: rule}}.Sample(types.Transfer{}, AsSender)
		var got []string
		for _, p := range sample.(types.WitnessPolicy).Proofs {
			got = append(got, fmt.Sprintf("%T", p.Evidence))
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}
