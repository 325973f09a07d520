package proof

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// hexBytes is hex without a prefix in JSON.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// chainVector is a chain of docs/vectors.json.
type chainVector struct {
	Blocks []struct {
		Header       hexBytes `json:"header_encoded"`
		Seal         hexBytes
		Hash         hexBytes
		Transactions []struct {
			ID      hexBytes
			Signed  hexBytes // absent for the longest transactions
			Receipt hexBytes `json:"receipt_encoded"`
		}
		State [][2]hexBytes
	}
}

type refusedBlock struct {
	Name    string
	Parent  int
	Wrong   string
	Encoded hexBytes
}

func readVectors(t *testing.T) (v struct {
	Chain, Changing chainVector
	Refused         []refusedBlock `json:"blocks_refused"`
}) {
	t.Helper()
	content, err := os.ReadFile("../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil || len(v.Chain.Blocks) < 3 || len(v.Changing.Blocks) < 3 || len(v.Refused) == 0 {
		t.Fatalf("vectors: error %v", err)
	}
	return v
}

func (c *chainVector) header(t *testing.T, height int) types.SignedHeader {
	t.Helper()
	b := c.Blocks[height]
	h, err := types.DecodeSignedHeader(append(append([]byte{}, b.Header...), b.Seal...))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// prove returns the Merkle proof of a key in the state after a block.
func (c *chainVector) prove(t *testing.T, height int, key []byte) *types.MerkleProof {
	t.Helper()
	var accesses []types.Access
	var value []byte
	for _, pair := range c.Blocks[height].State {
		accesses = append(accesses, types.Access{Key: pair[0], New: pair[1]})
		if string(pair[0]) == string(key) {
			value = pair[1]
		}
	}
	var whole tree.Tree
	change, err := whole.Prepare(accesses, lists.InOrder)
	if err != nil {
		t.Fatal(err)
	}
	hashes := make(map[poseidon.Digest]poseidon.Digest)
	for _, leaf := range change.Leaves() {
		hashes[leaf.Path] = leaf.ValueHash
	}
	whole.Commit(change, lists.InOrder)
	p, err := whole.Prove(key, func(path poseidon.Digest) (poseidon.Digest, error) { return hashes[path], nil })
	if err != nil {
		t.Fatal(err)
	}
	shown := p.Of(key, value)
	return &shown
}

func (c *chainVector) parameters(t *testing.T, height int) *types.MerkleProof {
	t.Helper()
	return c.prove(t, height, state.ParametersKey())
}

// A follower accepts every header of the vectors' chains with a proof of the parameters, and without one unless the
// producer changes.
func TestFollowVectors(t *testing.T) {
	v := readVectors(t)
	for name, c := range map[string]*chainVector{"chain": &v.Chain, "changing": &v.Changing} {
		handed := 0
		for _, each := range []bool{false, true} {
			first := c.header(t, 0)
			f, err := NewFollower(first, first.Header.Hash(), FollowerOptions{EachProof: each})
			if err != nil {
				t.Fatalf("%s: error %v", name, err)
			}
			for height := 1; height < len(c.Blocks); height++ {
				next, last := c.header(t, height), f.Head()
				changes := next.Header.Producer != last.Header.Producer
				if changes {
					handed++
				}
				err := f.Next(next, nil)
				if needed := changes || each; needed != errors.Is(err, ErrParametersNeeded) || !needed && err != nil {
					t.Fatalf("%s, block %d without a proof: error %v", name, height, err)
				}
				if err == nil {
					continue
				}
				if err := f.Next(next, c.parameters(t, height-1)); err != nil {
					t.Fatalf("%s, block %d with a proof: error %v", name, height, err)
				}
			}
			if f.Head() != c.header(t, len(c.Blocks)-1) || f.Hash() != f.Head().Header.Hash() {
				t.Errorf("%s: the follower ends elsewhere", name)
			}
		}
		if name == "changing" && handed != 4 {
			t.Errorf("the producer changed %d times", handed)
		}
	}
}

// A follower refuses those of the vectors' invalid blocks whose header shows the fault.
func TestFollowRefusedVectors(t *testing.T) {
	v := readVectors(t)
	c := &v.Changing
	shown := map[string]bool{"version": true, "chain_id": true, "height": true, "parent": true, "timestamp": true,
		"producer": true, "seal": true}
	checked := 0
	for _, r := range v.Refused {
		if !shown[r.Wrong] || len(r.Encoded) < types.SignedHeaderBytes {
			continue
		}
		next, err := types.DecodeSignedHeader(r.Encoded[:types.SignedHeaderBytes])
		if err != nil {
			continue // a seal of another kind
		}
		checked++
		head := c.header(t, r.Parent)
		f, err := NewFollower(head, head.Header.Hash(), FollowerOptions{EachProof: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Next(next, c.parameters(t, r.Parent)); !errors.Is(err, ErrRefused) && !errors.Is(err, ErrUnknownVersion) {
			t.Errorf("%s: error %v", r.Name, err)
		}
		if f.Head() != head {
			t.Errorf("%s: the follower went on", r.Name)
		}
	}
	if checked < 9 {
		t.Errorf("only %d blocks were checked", checked)
	}
}

// Each transaction of the vectors' chains is proven to be in its block with its receipt, and nothing else is.
func TestInclusionVectors(t *testing.T) {
	v := readVectors(t)
	checked := 0
	for name, c := range map[string]*chainVector{"chain": &v.Chain, "changing": &v.Changing} {
		for height := range c.Blocks {
			header := c.header(t, height).Header
			txs, receipts := c.transactions(t, height)
			if txs == nil {
				continue
			}
			checked += len(txs)
			txTree, receiptTree := lists.NewTree(lists.TransactionLeaves(txs)), lists.NewTree(lists.ReceiptLeaves(receipts))
			for i, tx := range txs {
				p := Inclusion{txTree.Prove(i), receiptTree.Prove(i)}
				got, err := VerifyInclusion(&header, *tx.Signed(), receipts[i], p)
				want := Included{
					ID: tx.ID(), Height: types.Height(height), BlockHash: header.Hash(), Number: uint32(i), N: uint32(len(txs)),
					Success: receipts[i].Status == types.StatusSuccess,
				}
				if err != nil || got != want {
					t.Errorf("%s, block %d, transaction %d: got %+v, want %+v, error %v",
						name, height, i, got, want, err)
				}
				for j := range txs {
					if i == j {
						continue
					}
					if _, err := VerifyInclusion(&header, *txs[j].Signed(), receipts[i], p); !errors.Is(err, ErrRefused) {
						t.Errorf("%s, block %d: transaction %d by the proof of %d: error %v, want %v",
							name, height, j, i, err, ErrRefused)
					}
					crossed := Inclusion{p.Transaction, receiptTree.Prove(j)}
					if _, err := VerifyInclusion(&header, *tx.Signed(), receipts[j], crossed); !errors.Is(err, ErrRefused) {
						t.Errorf("%s, block %d: transaction %d with the receipt of %d: error %v",
							name, height, i, j, err)
					}
				}
			}
		}
	}
	if checked < 20 {
		t.Errorf("only %d transactions", checked)
	}
}

// transactions returns a block's transactions and receipts; nil if the vectors have one of them in runs.
func (c *chainVector) transactions(t *testing.T, height int) (txs []*types.Tx, receipts []types.Receipt) {
	t.Helper()
	for _, b := range c.Blocks[height].Transactions {
		if b.Signed == nil {
			return nil, nil
		}
		tx, err := types.DecodeTx(b.Signed)
		if err != nil {
			t.Fatal(err)
		}
		receipt, err := types.DecodeReceipt(b.Receipt)
		if err != nil {
			t.Fatal(err)
		}
		txs, receipts = append(txs, tx), append(receipts, receipt)
	}
	return txs, receipts
}
