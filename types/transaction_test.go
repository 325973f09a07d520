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
	names := []string{"transfer", "deploy", "call", "configure", "batch", "set_policy", "instantiate"}
	for i, payload := range samplePayloads() {
		kind := payload.Kind()
		if uint32(kind) != uint32(i) || kind.String() != names[i] {
			t.Errorf("%T: kind %d %s, want %d %s", payload, kind, kind, i, names[i])
		}
	}
	if got := types.PayloadKind(7).String(); got != "kind 7" {
		t.Errorf("an unknown kind is called %s, want kind 7", got)
	}
}

// The hashes of a transaction, from bytes that this test puts together.
func TestTransactionHashes(t *testing.T) {
	signed := []types.SignedTransaction{sampleSponsored()}
	for _, payload := range samplePayloads() {
		signed = append(signed, sampleSigned(payload))
	}
	for _, tx := range signed {
		message := tx.Transaction.Encode()
		witnesses := append(types.EncodeWitness(tx.Witness), 0)
		if tx.PayerWitness != nil {
			witnesses[len(witnesses)-1] = 1
			witnesses = append(witnesses, types.EncodeWitness(tx.PayerWitness)...)
		}
		encoded := append(append([]byte{2}, message...), witnesses...)
		if !bytes.Equal(tx.Encode(), encoded) {
			t.Errorf("%v: encodes to %x, want %x", tx.Payload.Kind(), tx.Encode(), encoded)
		}
		if unsigned := tx.EncodeUnsigned(); !bytes.Equal(unsigned, encoded[:1+len(message)]) {
			t.Errorf("%v: unsigned form %x", tx.Payload.Kind(), unsigned)
		}
		id := tagged("cairn/tx/v2", message)
		kept := types.NewTx(tx)
		if tx.ID() != id || tx.Hash() != id || kept.ID() != id {
			t.Errorf("%v: id %v, want %x", tx.Payload.Kind(), tx.ID(), id)
		}
		if got, want := types.PayerHash(id), tagged("cairn/payer/v2", id[:]); got != want {
			t.Errorf("%v: payer hash %x, want %x", tx.Payload.Kind(), got, want)
		}
		digest := types.Digest(tagged("cairn/witness/v2", witnesses))
		if tx.WitnessDigest() != digest || kept.WitnessDigest() != digest {
			t.Errorf("%v: witness digest %v, %v, want %v", tx.Payload.Kind(), tx.WitnessDigest(), kept.WitnessDigest(), digest)
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
	want := types.ContractID(tagged("cairn/contract/v2", preimage))
	if got := types.NewContractID(sender, 0x0102030405060708); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if types.NewContractID(sender, 0) == types.NewContractID(sender, 1) {
		t.Error("two nonces give one contract")
	}
}

func TestAmount(t *testing.T) {
	batch := func(values ...types.Amount) types.Batch {
		var b types.Batch
		for _, v := range values {
			b.Steps = append(b.Steps, types.Step{Value: v, Action: types.Transfer{}})
		}
		return b
	}
	tests := []struct {
		name    string
		payload types.Payload
		value   types.Amount
		want    types.Amount
		err     error
	}{
		{"a transfer moves its value", types.Transfer{}, 7, 7, nil},
		{"a deploy moves its value", types.Deploy{}, 7, 7, nil},
		{"a batch moves the sum", batch(1, 2, 3), 0, 6, nil},
		{"the largest sum", batch(math.MaxUint64-1, 1), 0, math.MaxUint64, nil},
		{"a sum that does not fit", batch(math.MaxUint64, 1), 0, 0, types.ErrOverflow},
		{"a configure moves nothing", sampleConfigure(), 0, 0, nil},
	}
	for _, test := range tests {
		tx := types.Transaction{Value: test.value, Payload: test.payload}
		if got, err := tx.Amount(); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: got %d, %v, want %d, %v", test.name, got, err, test.want, test.err)
		}
	}
}

func TestFeeCap(t *testing.T) {
	tests := []struct {
		gasLimit types.Gas
		maxFee   types.Amount
		want     types.Amount
		err      error
	}{
		{21_000, 10, 210_000, nil},
		{1, math.MaxUint64, math.MaxUint64, nil},
		{math.MaxUint32, math.MaxUint32, math.MaxUint64 - 2*math.MaxUint32, nil},
		{1 << 32, 1 << 32, 0, types.ErrOverflow},
	}
	for _, test := range tests {
		tx := types.Transaction{GasLimit: test.gasLimit, MaxFeePerGas: test.maxFee, MaxPriorityFeePerGas: 99}
		if got, err := tx.FeeCap(); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%d × %d: got %d, %v, want %d, %v", test.gasLimit, test.maxFee, got, err, test.want, test.err)
		}
	}
}

func TestRecipient(t *testing.T) {
	for _, payload := range samplePayloads() {
		tx := sampleTransaction(payload)
		got, ok := tx.Recipient()
		var want types.Account
		switch payload.Kind() {
		case types.KindTransfer, types.KindCall:
			want = tx.Target
		case types.KindDeploy, types.KindInstantiate:
			want = types.Account(types.NewContractID(tx.Sender, tx.Nonce))
		}
		if got != want || ok == want.IsZero() {
			t.Errorf("%v: got %v, %v, want %v", payload.Kind(), got, ok, want)
		}
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
	message := tagged("cairn/tx/v2", tx.Encode())
	witness, ok := signed.Witness.(types.WitnessKey)
	if !ok || !bip340.Verify(tx.Sender, message[:], witness.Signature) {
		t.Errorf("the witness %+v does not hold", signed.Witness)
	}
	if !bytes.Equal(signed.Transaction.Encode(), tx.Encode()) {
		t.Error("signing changed the transaction")
	}
}
