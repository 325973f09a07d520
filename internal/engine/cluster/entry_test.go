package cluster

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/testkit/testchain"
	"github.com/cairn-chain/cairn/types"
)

func payment(t testing.TB, nonce uint64) *types.Tx {
	t.Helper()
	key := testchain.Key("alice")
	signed, err := types.Sign(types.Transaction{
		ChainID:      7,
		Sender:       key.PublicKey(),
		Nonce:        nonce,
		GasLimit:     50_000,
		MaxFeePerGas: 100,
		Target:       types.Account{9}, Value: 7, Payload: types.Transfer{},
	}, key, [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return types.NewTxs(signed)[0]
}

// block is a proposal after the given block.
func block(t testing.TB, height types.Height, parent types.BlockHash, time uint64, txs ...*types.Tx) Block {
	t.Helper()
	h := types.Header{
		Version: params.Version, Height: height, Parent: parent, Timestamp: time,
		Producer: testchain.Key("producer").PublicKey(),
	}
	return Block{Header: h, Encoded: types.EncodeBlock(types.SignedHeader{Header: h}, txs)}
}

// release is the release of the given proposal.
func release(t testing.TB, signer string, c Proposal) Release {
	t.Helper()
	hash := c.Header.Hash()
	signature, err := testchain.Key(signer).Sign(hash[:], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return Release{c.Index, c.Header.Height, hash, signature}
}

func samples(t testing.TB) []Entry {
	b := block(t, 5, types.BlockHash{3}, 7, payment(t, 0))
	return []Entry{
		TxBatch{Time: 1_700_000_000_123},
		TxBatch{Time: 5, Transactions: []*types.Tx{payment(t, 0), payment(t, 1)}},
		b,
		release(t, "producer", Proposal{77, b}),
		newBlock(b.Header, []*types.Tx{payment(t, 0)}, 33, logOf([]*types.Tx{payment(t, 0)})),
	}
}

func TestEntries(t *testing.T) {
	for i, e := range samples(t) {
		data := Encode(e)
		decoded, err := Decode(data)
		if err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		if !bytes.Equal(Encode(decoded), data) {
			t.Errorf("entry %d: %+v, want %+v", i, decoded, e)
		}
		for n := range len(data) {
			if _, isBlock := e.(Block); isBlock && n > types.SignedHeaderBytes {
				break // the executing member decodes the rest
			}
			if _, err := Decode(data[:n]); !errors.Is(err, ErrEntry) {
				t.Fatalf("%d of %d bytes of entry %d: %v", n, len(data), i, err)
			}
		}
	}
	if r, ok := samples(t)[3].(Release); !ok || len(Encode(r)) != 113 {
		t.Errorf("a release has %d bytes", len(Encode(r)))
	}
}

func TestDecodeRefuses(t *testing.T) {
	all := samples(t)
	signed := bytes.Clone(Encode(all[2]))
	signed[types.SignedHeaderBytes] = 1 // the last byte of the seal, after the kind
	one := payment(t, 0)
	many := TxBatch{Transactions: slices.Repeat([]*types.Tx{one}, MaxTxBatchBytes/len(one.Encoded())+1)}
	long := append(bytes.Clone(Encode(all[2])), make([]byte, types.MaxBlockBytes)...)
	for name, tc := range map[string]struct {
		data []byte
		want error
	}{
		"nothing":                    {nil, ErrEntry},
		"kind 0":                     {[]byte{0}, ErrEntry},
		"a later version's kind":     {[]byte{5, 1, 2, 3}, ErrEntry},
		"a batch with a byte more":   {append(bytes.Clone(Encode(all[1])), 0), codec.ErrTrailing},
		"a release with a byte more": {append(bytes.Clone(Encode(all[3])), 0), codec.ErrTrailing},
		"a batch that is too long":   {Encode(many), codec.ErrTooLong},
		"a batch of no transactions": {Encode(TxBatch{})[:9], ErrEntry},
		"a block that is too long":   {long, codec.ErrTooLong},
		"a block that is sealed":     {signed, ErrEntry},
	} {
		if _, err := Decode(tc.data); !errors.Is(err, ErrEntry) || !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A block of an unknown version is distinguished from an invalid entry: a member that gets one stops, and a later
// program continues from it.
func TestDecodeTellsOfUnknownVersions(t *testing.T) {
	data := Encode(samples(t)[2])
	for _, version := range []uint32{0, params.Version - 1, params.Version + 1, 1<<32 - 1} {
		binary.LittleEndian.PutUint32(data[1:], version)
		for _, n := range []int{61, 62, len(data)} { // anything may follow the beginning
			if _, err := Decode(data[:n]); !errors.Is(err, exec.ErrUnknownVersion) || errors.Is(err, ErrEntry) {
				t.Errorf("%d bytes of a block of version %d: %v", n, version, err)
			}
		}
		if _, err := Decode(data[:60]); !errors.Is(err, ErrEntry) {
			t.Errorf("a header of version %d that ends early: %v", version, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, e := range samples(f) {
		f.Add(Encode(e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Decode(data)
		if err != nil {
			if !errors.Is(err, ErrEntry) && !errors.Is(err, exec.ErrUnknownVersion) {
				t.Errorf("%v", err)
			}
			return
		}
		if !bytes.Equal(Encode(e), data) {
			t.Errorf("%x is decoded and encoded as %x", data, Encode(e))
		}
	})
}
