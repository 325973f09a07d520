package lists

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// hexBytes is hex without a prefix in JSON.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

func (b hexBytes) digest(t *testing.T) poseidon.Digest {
	t.Helper()
	d, err := poseidon.ParseDigest([32]byte(b))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

type proofVector struct {
	Name    string
	List    string
	Root    hexBytes
	Encoded hexBytes
	Holds   bool
	Why     string
	Proof   struct {
		Number, N uint32
		Leaf      hexBytes
		Siblings  []hexBytes
	}
}

type vectors struct {
	Poseidon struct {
		Pair        []uint32
		TxLeaf96    hexBytes `json:"tx_leaf_96"`
		TxLeaf64    hexBytes `json:"tx_leaf_64"`
		ReceiptLeaf hexBytes `json:"receipt_leaf"`
	}
	Transactions []struct {
		Name         string
		Signed, Leaf hexBytes
	}
	Receipts []struct {
		Name                   string
		Encoded, Details, Leaf hexBytes
	}
	Lists []struct {
		N                 int
		TransactionLeaves []hexBytes `json:"transaction_leaves"`
		ReceiptLeaves     []hexBytes `json:"receipt_leaves"`
		TransactionsRoot  hexBytes   `json:"transactions_root"`
		ReceiptsRoot      hexBytes   `json:"receipts_root"`
	}
	Proofs struct{ Lists []proofVector }
}

func readVectors(t *testing.T) (v vectors) {
	t.Helper()
	content, err := os.ReadFile("../../../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestLeafVectors(t *testing.T) {
	v := readVectors(t)
	for _, c := range v.Transactions {
		tx, err := types.DecodeTx(c.Signed)
		if err != nil {
			t.Fatalf("%s: error %v", c.Name, err)
		}
		if got := TransactionLeaf(tx); got != c.Leaf.digest(t) {
			t.Errorf("%s: leaf %x, want %x", c.Name, got.Bytes(), c.Leaf)
		}
	}
	for _, c := range v.Receipts {
		r, err := types.DecodeReceipt(c.Encoded)
		if err != nil {
			t.Fatalf("%s: error %v", c.Name, err)
		}
		if got := r.Details(); string(got[:]) != string(c.Details) {
			t.Errorf("%s: details %x, want %x", c.Name, got, c.Details)
		}
		if got := ReceiptLeaf(&r); got != c.Leaf.digest(t) {
			t.Errorf("%s: leaf %x, want %x", c.Name, got.Bytes(), c.Leaf)
		}
	}
	if len(v.Transactions) == 0 || len(v.Receipts) == 0 {
		t.Error("there are no vectors")
	}
}

func TestPoseidonVectors(t *testing.T) {
	v := readVectors(t).Poseidon
	var bytes [96]byte
	for i := range bytes {
		bytes[i] = byte(i)
	}
	pair := poseidon.Pair(nil, bytes[:32])
	for i := range v.Pair {
		if pair[i] != v.Pair[i] {
			t.Fatalf("pair: %v, want %v", pair, v.Pair)
		}
	}
	leaf := func(tag, n uint32, elements []uint32) poseidon.Digest {
		var d [1]poseidon.Digest
		poseidon.Sponge(tag, d[:], []poseidon.Message{{N: n, Elements: elements}})
		return d[0]
	}
	for _, c := range []struct {
		name string
		got  poseidon.Digest
		want hexBytes
	}{
		{"transaction, 96 zero bytes", leaf(poseidon.TagTransaction, 96, make([]uint32, 48)), v.TxLeaf96},
		{"transaction, 64 zero bytes", leaf(poseidon.TagTransaction, 64, make([]uint32, 32)), v.TxLeaf64},
		{
			"receipt", leaf(poseidon.TagReceipt, 20, append(make([]uint32, 16), 1, 10_000, 0, 0)), v.ReceiptLeaf,
		},
	} {
		if c.got != c.want.digest(t) {
			t.Errorf("%s: %x, want %x", c.name, c.got.Bytes(), c.want)
		}
	}
}

func TestListVectors(t *testing.T) {
	for _, c := range readVectors(t).Lists {
		for _, list := range []struct {
			tag    uint32
			leaves []hexBytes
			root   hexBytes
		}{
			{poseidon.TagTransactions, c.TransactionLeaves, c.TransactionsRoot},
			{poseidon.TagReceipts, c.ReceiptLeaves, c.ReceiptsRoot},
		} {
			leaves := make([]poseidon.Digest, c.N)
			for i := range leaves {
				leaves[i] = list.leaves[i].digest(t)
			}
			if got := rootOfLeaves(list.tag, leaves); string(got[:]) != string(list.root) {
				t.Errorf("%d leaves, tag %d: root %x, want %x", c.N, list.tag, got, list.root)
			}
		}
	}
}

// whys are parts of the errors for the reasons in the vectors.
var whys = map[string]string{
	"another root":                   "to a different root",
	"n":                              "a list of ",
	"the number of siblings":         "siblings in a list of",
	"a number that is not below n":   "number ",
	"an element that is not below p": poseidon.ErrNotCanonical.Error(),
}

func TestProofVectors(t *testing.T) {
	all := readVectors(t).Proofs.Lists
	if len(all) == 0 {
		t.Fatal("there are no vectors")
	}
	tags := map[string]uint32{"transactions": poseidon.TagTransactions, "receipts": poseidon.TagReceipts}
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			p, err := types.DecodeInclusionProof(c.Encoded)
			if err != nil {
				t.Fatal(err)
			}
			if p.Number != c.Proof.Number || p.N != c.Proof.N || string(p.Leaf[:]) != string(c.Proof.Leaf) ||
				len(p.Siblings) != len(c.Proof.Siblings) {
				t.Fatalf("decoded %+v, want %+v", p, c.Proof)
			}
			for i := range p.Siblings {
				if string(p.Siblings[i][:]) != string(c.Proof.Siblings[i]) {
					t.Fatalf("sibling %d: %x, want %x", i, p.Siblings[i], c.Proof.Siblings[i])
				}
			}
			if string(p.Encode()) != string(c.Encoded) {
				t.Errorf("encoded as %x", p.Encode())
			}
			err = check(tags[c.List], types.MerkleRoot(c.Root), &p)
			switch {
			case c.Holds && err != nil:
				t.Errorf("refused: error %v", err)
			case !c.Holds && !errors.Is(err, ErrInclusion):
				t.Errorf("error %v, want ErrInclusion", err)
			case !c.Holds && !contains(err.Error(), whys[c.Why]):
				t.Errorf("error %q for the reason %q", err, c.Why)
			}
		})
	}
}
