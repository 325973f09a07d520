package types_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/types"
)

// requireTx fails the test unless tx has the fields, the encoding and the hashes of signed.
func requireTx(t *testing.T, tx *types.Tx, signed types.SignedTransaction) {
	t.Helper()
	encoded := signed.Encode()
	if !reflect.DeepEqual(*tx.Signed(), signed) || !bytes.Equal(tx.Encoded(), encoded) ||
		tx.ID() != signed.Hash() || tx.WitnessDigest() != signed.WitnessDigest() {
		t.Fatalf("%+v is not that of %+v", tx, signed)
	}
}

// samples are signed transactions of every kind.
func samples() []types.SignedTransaction {
	all := []types.SignedTransaction{sampleSponsored(), sampleSigned(types.Call{}), sampleSigned(sampleMemo())}
	for _, payload := range samplePayloads() {
		all = append(all, sampleSigned(payload))
	}
	return all
}

// TestTxKeepsItsBytes makes transactions in all three ways; decoded ones share the memory of their input.
func TestTxKeepsItsBytes(t *testing.T) {
	signed := samples()
	block := sampleBlock(signed...).Encode()
	header, ofBlock, err := types.DecodeBlockTxs(block)
	if err != nil || header != sampleBlock().Signed() || len(ofBlock) != len(signed) {
		t.Fatalf("%+v, %d transactions, error %v", header, len(ofBlock), err)
	}
	at := types.SignedHeaderBytes + 8
	for i, tx := range signed {
		requireTx(t, types.NewTx(tx), tx)
		encoded := tx.Encode()
		decoded, err := types.DecodeTx(encoded)
		if err != nil {
			t.Fatal(err)
		}
		requireTx(t, decoded, tx)
		requireTx(t, ofBlock[i], tx)
		if id, err := types.TransactionID(encoded); err != nil || id != tx.ID() {
			t.Errorf("transaction %d has the ID %s, %v, want %s", i, id, err, tx.ID())
		}
		if &decoded.Encoded()[0] != &encoded[0] || &ofBlock[i].Encoded()[0] != &block[at] {
			t.Errorf("transaction %d was copied", i)
		}
		if kept := ofBlock[i].Encoded(); cap(kept) != len(kept) {
			t.Errorf("transaction %d could be appended to over the next", i)
		}
		at += len(encoded)
	}
	if again := types.EncodeBlock(header, ofBlock); !bytes.Equal(again, block) {
		t.Errorf("the block encodes to %x, not %x", again, block)
	}
}

func TestDecodeTxRefuses(t *testing.T) {
	encoded := samples()[0].Encode()
	for name, c := range map[string]struct {
		encoded []byte
		want    error
	}{
		"nothing":         {nil, codec.ErrTruncated},
		"a byte too few":  {encoded[:len(encoded)-1], codec.ErrTruncated},
		"a byte too many": {append(bytes.Clone(encoded), 0), codec.ErrTrailing},
		"too long":        {make([]byte, types.MaxTransactionBytes+1), codec.ErrTooLong},
	} {
		if _, err := types.TransactionID(c.encoded[:min(len(c.encoded), 20)]); err == nil {
			t.Errorf("%s: 20 bytes have an ID", name)
		}
		if tx, err := types.DecodeTx(c.encoded); tx != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: got %+v, error %v", name, tx, err)
		}
	}
}

// TestVerifyEncodesNothing changes the fields of transactions after they were made. Their signatures are verified over
// the kept bytes, and the verified transactions still have these bytes and their ID.
func TestVerifyEncodesNothing(t *testing.T) {
	key := testKey(t, "sender")
	unsigned := sampleTransaction(sampleCall())
	unsigned.Sender = key.PublicKey()
	signed, err := types.Sign(unsigned, key, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	encoded := signed.Encode()
	tx, err := types.DecodeTx(bytes.Clone(encoded))
	if err != nil {
		t.Fatal(err)
	}
	tx.Signed().Nonce++
	tx.Signed().Payload = types.Transfer{}
	verified := types.VerifyWitnesses(types.Regtest, []*types.Tx{tx})[0]
	if verified == nil {
		t.Fatal("the signature was checked over an encoding of the fields")
	}
	if verified.Tx() != tx || !bytes.Equal(verified.Encoded(), encoded) || verified.ID() != signed.ID() {
		t.Errorf("%+v is another transaction", verified)
	}
}

// FuzzDecodeTx checks that an accepted encoding is the canonical one of its fields, alone and in a block.
func FuzzDecodeTx(f *testing.F) {
	for _, tx := range samples() {
		f.Add(tx.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		tx, err := types.DecodeTx(b)
		if err != nil {
			return
		}
		requireTx(t, tx, *tx.Signed())
		if !bytes.Equal(tx.Encoded(), b) {
			t.Fatalf("%x is kept as %x", b, tx.Encoded())
		}
		_, ofBlock, err := types.DecodeBlockTxs(types.EncodeBlock(types.SignedHeader{}, []*types.Tx{tx, tx}))
		if err != nil || len(ofBlock) != 2 {
			t.Fatalf("%d transactions in the block, error %v", len(ofBlock), err)
		}
		requireTx(t, ofBlock[0], *tx.Signed())
		requireTx(t, ofBlock[1], *tx.Signed())
	})
}
