package types_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"testing"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/types"
)

func TestPayloads(t *testing.T) {
	tests := []struct {
		payload types.Payload
		kind    types.PayloadKind
		number  uint32
		name    string
		value   types.Amount
	}{
		{types.Transfer{Amount: 3}, types.KindTransfer, 0, "transfer", 3},
		{types.Deploy{Amount: 4}, types.KindDeploy, 1, "deploy", 4},
		{types.Call{Amount: 5}, types.KindCall, 2, "call", 5},
		{sampleConfigure(), types.KindConfigure, 3, "configure", 0},
	}
	for _, test := range tests {
		kind := test.payload.Kind()
		if kind != test.kind || uint32(kind) != test.number || kind.String() != test.name ||
			test.payload.Value() != test.value {
			t.Errorf("%T: kind %d %s, value %d", test.payload, kind, kind, test.payload.Value())
		}
	}
	if got := types.PayloadKind(4).String(); got != "kind 4" {
		t.Errorf("an unknown kind is called %s", got)
	}
}

// The hashes of a transaction, from bytes put together here.
func TestTransactionHashes(t *testing.T) {
	for _, payload := range []types.Payload{sampleTransfer(), sampleDeploy(), sampleCall(), sampleConfigure()} {
		signed := sampleSigned(payload)
		unsignedBytes := signed.Transaction.Encode()
		signedBytes := append(bytes.Clone(unsignedBytes), signed.Signature[:]...)
		if !bytes.Equal(signed.Encode(), signedBytes) {
			t.Errorf("%v: a signed transaction is not the transaction and its signature", payload.Kind())
		}
		if got := signed.SigningHash(); got != tagged("cairn/tx/v1", unsignedBytes) {
			t.Errorf("%v: signing hash %x", payload.Kind(), got)
		}
		id := tagged("cairn/txid/v1", signedBytes)
		if signed.ID() != id || types.TransactionID(signedBytes) != id {
			t.Errorf("%v: id %v, %v, want %x", payload.Kind(), signed.ID(), types.TransactionID(signedBytes), id)
		}
	}
}

func TestNewContractID(t *testing.T) {
	sender := count[types.Account](0x40)
	preimage, err := hex.DecodeString("404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f" +
		"0807060504030201")
	if err != nil {
		t.Fatal(err)
	}
	want := types.ContractID(tagged("cairn/contract/v1", preimage))
	if got := types.NewContractID(sender, 0x0102030405060708); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if types.NewContractID(sender, 0) == types.NewContractID(sender, 1) {
		t.Error("two nonces give one contract")
	}
}

func TestCost(t *testing.T) {
	tests := []struct {
		name     string
		gasLimit types.Gas
		maxFee   types.Amount
		payload  types.Payload
		want     types.Amount
		err      error
	}{
		{"value and gas", 21_000, 10, types.Transfer{Amount: 7}, 210_007, nil},
		{"no value", 71_000, 3, sampleConfigure(), 213_000, nil},
		{"all that fits", math.MaxUint32, math.MaxUint32, types.Call{Amount: 2 * math.MaxUint32}, math.MaxUint64, nil},
		{
			"the sum does not fit", math.MaxUint32, math.MaxUint32, types.Call{Amount: 2*math.MaxUint32 + 1}, 0,
			types.ErrOverflow,
		},
		{"the product fits just so", 1, math.MaxUint64, types.Deploy{}, math.MaxUint64, nil},
		{"the product does not fit", 1 << 32, 1 << 32, types.Transfer{}, 0, types.ErrOverflow},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			tx := types.Transaction{
				GasLimit: test.gasLimit, MaxFeePerGas: test.maxFee, MaxPriorityFeePerGas: 99, Payload: test.payload,
			}
			if got, err := tx.Cost(); got != test.want || !errors.Is(err, test.err) {
				t.Errorf("got %d, %v, want %d, %v", got, err, test.want, test.err)
			}
		})
	}
}

func TestSign(t *testing.T) {
	key := testKey(t, "sender")
	tx := sampleTransaction(sampleCall())
	tx.Sender = key.PublicKey()
	signed, err := types.Sign(tx, key, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	message := tagged("cairn/tx/v1", tx.Encode())
	if !bip340.Verify(tx.Sender, message[:], signed.Signature) {
		t.Error("the signature does not verify")
	}
	if !bytes.Equal(signed.Transaction.Encode(), tx.Encode()) {
		t.Error("signing changed the transaction")
	}
}

// VerifySignatures tells good transactions from bad ones, whatever is bad about them and wherever they stand.
func TestVerifySignatures(t *testing.T) {
	corruptions := []struct {
		name    string
		corrupt func(*types.SignedTransaction)
	}{
		{"changed gas limit", func(tx *types.SignedTransaction) { tx.GasLimit++ }},
		{"good", func(*types.SignedTransaction) {}},
		{"changed nonce", func(tx *types.SignedTransaction) { tx.Nonce++ }},
		{"good", func(*types.SignedTransaction) {}},
		{"changed payload", func(tx *types.SignedTransaction) { tx.Payload = types.Transfer{} }},
		{"changed R", func(tx *types.SignedTransaction) { tx.Signature[0] ^= 1 }},
		{"changed s", func(tx *types.SignedTransaction) { tx.Signature[63] ^= 1 }},
		{"no signature", func(tx *types.SignedTransaction) { tx.Signature = types.Signature{} }},
		{"another sender", func(tx *types.SignedTransaction) { tx.Sender = testKey(t, "another").PublicKey() }},
		{"sender off the curve", func(tx *types.SignedTransaction) { tx.Sender = types.Account{} }},
		{"good", func(*types.SignedTransaction) {}},
	}
	var transactions []types.SignedTransaction
	for i, c := range corruptions {
		key := testKey(t, c.name)
		tx := sampleTransaction(sampleTransfer())
		tx.Sender, tx.Nonce = key.PublicKey(), uint64(i)
		signed, err := types.Sign(tx, key, [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		c.corrupt(&signed)
		transactions = append(transactions, signed)
	}
	verified := types.VerifySignatures(types.NewTxs(transactions...))
	if len(verified) != len(transactions) {
		t.Fatalf("%d results for %d transactions", len(verified), len(transactions))
	}
	for i, c := range corruptions {
		if good := c.name == "good"; (verified[i] != nil) != good {
			t.Errorf("%d, %s: verified is %v", i, c.name, verified[i] != nil)
		}
		if v := verified[i]; v != nil {
			encoded := transactions[i].Encode()
			if *v.Signed() != transactions[i] || !bytes.Equal(v.Encoded(), encoded) ||
				v.ID() != tagged("cairn/txid/v1", encoded) {
				t.Errorf("%d: %+v is another transaction", i, v)
			}
		}
	}
	if got := types.VerifySignatures(nil); len(got) != 0 {
		t.Errorf("of no transactions %d are verified", len(got))
	}
}
