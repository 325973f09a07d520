package types_test

import (
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// VerifyWitnesses distinguishes valid transactions from invalid ones, whatever their fault and position.
func TestVerifyWitnesses(t *testing.T) {
	key, payer := testKey(t, "sender"), testKey(t, "payer")
	signature := func(tx *types.SignedTransaction) types.Signature { return tx.Witness.(types.WitnessKey).Signature }
	corruptions := []struct {
		name    string
		corrupt func(*types.SignedTransaction)
	}{
		{"changed gas limit", func(tx *types.SignedTransaction) { tx.GasLimit++ }},
		{"good", func(*types.SignedTransaction) {}},
		{"changed nonce", func(tx *types.SignedTransaction) { tx.Nonce++ }},
		{"good", func(*types.SignedTransaction) {}},
		{"changed payload", func(tx *types.SignedTransaction) { tx.Payload = types.Deploy{} }},
		{"changed value", func(tx *types.SignedTransaction) { tx.Value++ }},
		{"changed R", func(tx *types.SignedTransaction) {
			s := signature(tx)
			s[0] ^= 1
			tx.Witness = types.WitnessKey{Signature: s}
		}},
		{"changed s", func(tx *types.SignedTransaction) {
			s := signature(tx)
			s[63] ^= 1
			tx.Witness = types.WitnessKey{Signature: s}
		}},
		{"no signature", func(tx *types.SignedTransaction) { tx.Witness = types.WitnessKey{} }},
		{"as a text", func(tx *types.SignedTransaction) { tx.Witness = types.WitnessText{Signature: signature(tx)} }},
		{"another sender", func(tx *types.SignedTransaction) { tx.Sender = payer.PublicKey() }},
		{"sender off the curve", func(tx *types.SignedTransaction) { tx.Sender = types.Account{} }},
		{"a payer's witness without a payer", func(tx *types.SignedTransaction) { tx.PayerWitness = tx.Witness }},
		{"a payer without a witness", func(tx *types.SignedTransaction) {
			account := payer.PublicKey()
			signed, err := signWithPayer(tx.Transaction, account, key, nil)
			if err != nil {
				t.Fatal(err)
			}
			*tx = signed
		}},
		{"good", func(tx *types.SignedTransaction) {
			signed, err := signWithPayer(tx.Transaction, payer.PublicKey(), key, payer)
			if err != nil {
				t.Fatal(err)
			}
			*tx = signed
		}},
		{"signatures of sender and payer exchanged", func(tx *types.SignedTransaction) {
			signed, err := signWithPayer(tx.Transaction, payer.PublicKey(), key, payer)
			if err != nil {
				t.Fatal(err)
			}
			*tx = signed
			tx.Witness, tx.PayerWitness = tx.PayerWitness, tx.Witness
		}},
		{"good", func(*types.SignedTransaction) {}},
	}
	var transactions []types.SignedTransaction
	for i, c := range corruptions {
		tx := sampleTransaction(sampleTransfer())
		tx.Sender, tx.Nonce = key.PublicKey(), uint64(i)
		signed, err := types.Sign(tx, key, [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		c.corrupt(&signed)
		transactions = append(transactions, signed)
	}
	verified := types.VerifyWitnesses(types.Regtest, types.NewTxs(transactions...))
	if len(verified) != len(transactions) {
		t.Fatalf("%d results for %d transactions", len(verified), len(transactions))
	}
	for i, c := range corruptions {
		if good := c.name == "good"; (verified[i] != nil) != good {
			t.Errorf("%d, %s: verified is %v", i, c.name, verified[i] != nil)
		}
		v := verified[i]
		if v == nil {
			continue
		}
		if !reflect.DeepEqual(*v.Signed(), transactions[i]) || v.ID() != transactions[i].ID() {
			t.Errorf("%d: %+v is another transaction", i, v)
		}
		var claim types.Account
		if transactions[i].Payer != nil {
			claim = payer.PublicKey()
		}
		if v.Claim() != key.PublicKey() || v.PayerClaim() != claim {
			t.Errorf("%d: claims %v and %v", i, v.Claim(), v.PayerClaim())
		}
	}
	if got := types.VerifyWitnesses(types.Regtest, nil); len(got) != 0 {
		t.Errorf("of no transactions %d are verified, want 0", len(got))
	}
}

// signWithPayer signs for the sender, and for the payer unless its key is nil.
func signWithPayer(
	tx types.Transaction, account types.Account, sender, payer types.PrivateKey,
) (types.SignedTransaction, error) {
	tx.Payer = &account
	signed, err := types.Sign(tx, sender, [32]byte{})
	if err != nil || payer == nil {
		return signed, err
	}
	message := types.PayerHash(tx.Hash())
	signature, err := payer.Sign(message[:], [32]byte{})
	signed.PayerWitness = types.WitnessKey{Signature: signature}
	return signed, err
}

// A policy is refused for each single fault.
func TestPolicyRules(t *testing.T) {
	key := func(i byte) types.Signer { return types.SignerKey{Key: count[types.PublicKey](i)} }
	many := func(n byte) (signers []types.Signer) {
		for i := range n {
			signers = append(signers, key(i))
		}
		return signers
	}
	tests := []struct {
		name string
		rule types.Rule
		ok   bool
	}{
		{"one of one", types.Rule{Threshold: 1, Signers: many(1)}, true},
		{"16 of 16", types.Rule{Threshold: 16, Signers: many(16)}, true},
		{"one of 17", types.Rule{Threshold: 1, Signers: many(17)}, false},
		{"none of one", types.Rule{Threshold: 0, Signers: many(1)}, false},
		{"two of one", types.Rule{Threshold: 2, Signers: many(1)}, false},
		{"none of none", types.Rule{}, false},
		{"descending", types.Rule{Threshold: 1, Signers: []types.Signer{key(2), key(1)}}, false},
		{"twice the same", types.Rule{Threshold: 1, Signers: []types.Signer{key(2), key(2)}}, false},
		{"kinds ascend", types.Rule{Threshold: 1, Signers: []types.Signer{key(2), types.SignerP256{}}}, true},
		{"kinds descend", types.Rule{Threshold: 1, Signers: []types.Signer{types.SignerP256{}, key(2)}}, false},
		{"one point, verified or not", types.Rule{Threshold: 2, Signers: []types.Signer{
			types.SignerPasskey{}, types.SignerPasskey{Verified: true},
		}}, true},
	}
	good := types.Rule{Threshold: 1, Signers: many(1)}
	for _, test := range tests {
		asOwner := types.Policy{Owner: test.rule}
		asRecovery := types.Policy{Owner: good, Recovery: &types.Recovery{Rule: test.rule, Delay: 1}}
		if err := asOwner.Check(); (err == nil) != test.ok {
			t.Errorf("%s: owner: error %v", test.name, err)
		}
		if err := asRecovery.Check(); (err == nil) != test.ok {
			t.Errorf("%s: recovery: error %v", test.name, err)
		}
	}
	for delay, ok := range map[uint64]bool{0: false, 1: true, 1 << 40: true, 1<<40 + 1: false} {
		p := types.Policy{Owner: good, Recovery: &types.Recovery{Rule: good, Delay: delay}}
		if err := p.Check(); (err == nil) != ok {
			t.Errorf("a delay of %d: error %v", delay, err)
		}
	}
}
