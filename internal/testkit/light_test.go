package testkit

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/lists"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// listed are transactions and receipts of docs/vectors.json: every payload, witness and evidence.
func listed(t *testing.T) (txs []*types.Tx, receipts []types.Receipt) {
	t.Helper()
	var v struct {
		Transactions []struct{ Signed string }
		Receipts     []struct{ Encoded string }
	}
	content, err := os.ReadFile(vectorsFile)
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	unhex := func(s string) []byte {
		b, err := hex.DecodeString(s)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tx := range v.Transactions {
		decoded, err := types.DecodeTx(unhex(tx.Signed))
		if err != nil {
			t.Fatal(err)
		}
		txs = append(txs, decoded)
	}
	for _, r := range v.Receipts {
		decoded, err := types.DecodeReceipt(unhex(r.Encoded))
		if err != nil {
			t.Fatal(err)
		}
		receipts = append(receipts, decoded)
	}
	return txs, receipts
}

// TestBothVerifiersInclude has two verifiers check inclusion proofs in random lists, and changed proofs.
func TestBothVerifiersInclude(t *testing.T) {
	pool, receiptPool := listed(t)
	r := rand.New(rand.NewPCG(21, 22))
	accepted, refused := 0, 0
	for range 40 {
		n := 1 + r.IntN(12)
		txs, receipts := make([]*types.Tx, n), make([]types.Receipt, n)
		for i := range txs {
			txs[i], receipts[i] = pool[r.IntN(len(pool))], receiptPool[r.IntN(len(receiptPool))]
		}
		header := types.SignedHeader{Header: types.Header{
			TransactionsRoot: lists.TransactionsRoot(txs), ReceiptsRoot: lists.ReceiptsRoot(receipts),
		}}
		first, second := lists.NewTree(lists.TransactionLeaves(txs)), lists.NewTree(lists.ReceiptLeaves(receipts))
		for range 25 {
			i := r.IntN(n)
			parts := [][]byte{
				txs[i].Encoded(), receipts[i].Encode(), first.Prove(i).Encode(), second.Prove(i).Encode(), header.Encode(),
			}
			if r.IntN(4) > 0 {
				corrupt(r, parts, [][]byte{
					txs[r.IntN(n)].Encoded(), receipts[r.IntN(n)].Encode(), first.Prove(r.IntN(n)).Encode(),
					second.Prove(r.IntN(n)).Encode(), header.Encode(),
				})
			}
			got, err := include(parts)
			if errors.Is(err, errDecode) {
				continue
			}
			success, plainErr := naiveIncluded(parts[4], parts[0], parts[1], parts[2], parts[3])
			if (err == nil) != (plainErr == nil) || err == nil && got.Success != success {
				t.Fatalf("%x: %+v, %v; the second verifier: %t, error %v", parts, got, err, success, plainErr)
			}
			if err == nil {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted < 200 || refused < 300 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

var errDecode = errors.New("it does not decode")

// include is proof.VerifyInclusion on encodings.
func include(parts [][]byte) (proof.Included, error) {
	tx, err1 := types.DecodeSignedTransaction(parts[0])
	receipt, err2 := types.DecodeReceipt(parts[1])
	first, err3 := types.DecodeInclusionProof(parts[2])
	second, err4 := types.DecodeInclusionProof(parts[3])
	header, err5 := types.DecodeSignedHeader(parts[4])
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return proof.Included{}, errors.Join(errDecode, err)
	}
	return proof.VerifyInclusion(&header.Header, tx, receipt, proof.Inclusion{Transaction: first, Receipt: second})
}

// corrupt changes one of parts: it flips a bit, or replaces the part by another.
func corrupt(r *rand.Rand, parts, others [][]byte) {
	i := r.IntN(len(parts))
	if r.IntN(3) == 0 {
		parts[i] = others[i]
		return
	}
	parts[i] = bytes.Clone(parts[i])
	if len(parts[i]) > 0 {
		parts[i][r.IntN(len(parts[i]))] ^= 1 << r.IntN(8)
	}
}

// TestBothVerifiersFollow has two verifiers check the next header of random chains, and changed headers.
func TestBothVerifiersFollow(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	var keys []crypto.PrivateKey
	for i := range 3 {
		key, err := crypto.NewPrivateKey([32]byte{31: byte(i + 1)})
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
	}
	accepted, refused := 0, 0
	for range 400 {
		p := params.Default(keys[r.IntN(2)].PublicKey())
		if r.IntN(3) == 0 {
			p.Upgrade = &types.Upgrade{Version: 3, From: uint64(999 + r.IntN(4))}
		}
		root, shown := stateWith(t, r, p)
		sealer := keys[r.IntN(2)]
		last := seal(t, types.Header{
			Version: 2, ChainID: 7, Height: types.Height(r.IntN(3)), Timestamp: uint64(999 + r.IntN(2)), StateRoot: root,
		}, keys[r.IntN(2)])
		h := types.Header{
			Version: 2, ChainID: 7, Height: last.Header.Height + 1, Parent: last.Header.Hash(), Timestamp: uint64(999 + r.IntN(3)),
		}
		switch r.IntN(8) {
		case 0:
			h.Version = 3
		case 1:
			h.Timestamp = maxTime + uint64(r.IntN(2))
		case 2:
			h.Height++
		}
		next := seal(t, h, sealer)
		encoded, known := next.Encode(), shown.Encode()
		if r.IntN(4) == 0 {
			encoded[r.IntN(len(encoded))] ^= 1 << r.IntN(8)
		}
		switch r.IntN(4) {
		case 0:
			known = nil
		case 1:
			known[r.IntN(len(known))] ^= 1 << r.IntN(8)
		}
		err := followOnce(last, encoded, known)
		if errors.Is(err, errDecode) {
			continue
		}
		plainErr := naiveNext(last.Encode(), encoded, known)
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("after %x, %x with %x: %v; the second verifier: error %v",
				last.Encode(), encoded, known, err, plainErr)
		}
		if err == nil {
			accepted++
		} else {
			refused++
		}
	}
	if accepted < 50 || refused < 100 {
		t.Errorf("%d accepted, %d refused", accepted, refused)
	}
}

// followOnce is proof.Follower on encodings.
func followOnce(last types.SignedHeader, next, parameters []byte) error {
	f, err := proof.NewFollower(last, last.Header.Hash(), proof.FollowerOptions{})
	if err != nil {
		return err
	}
	header, err := types.DecodeSignedHeader(next)
	if err != nil {
		return errors.Join(errDecode, err)
	}
	if parameters == nil {
		return f.Next(header, nil)
	}
	shown, err := types.DecodeMerkleProof(parameters)
	if err != nil {
		return errors.Join(errDecode, err)
	}
	return f.Next(header, &shown)
}

func seal(t *testing.T, h types.Header, key crypto.PrivateKey) types.SignedHeader {
	t.Helper()
	h.Producer = key.PublicKey()
	hash := h.Hash()
	signature, err := key.Sign(hash[:], [32]byte{})
	if err != nil {
		t.Fatal(err)
	}
	return types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}
}

// stateWith returns the root of a state with the parameters p and random accounts, and the proof of the parameters.
func stateWith(t *testing.T, r *rand.Rand, p types.Parameters) (types.StateRoot, types.MerkleProof) {
	t.Helper()
	accesses := []types.Access{{Key: state.ParametersKey(), New: p.Encode()}}
	for i := range r.IntN(20) {
		accesses = append(accesses, types.Access{Key: state.AccountKey(types.Account{byte(i)}), New: []byte{1, byte(i)}})
	}
	var whole tree.Tree
	change, err := whole.Prepare(accesses, lists.InOrder)
	if err != nil {
		t.Fatal(err)
	}
	whole.Commit(change, lists.InOrder)
	leaf := slices.IndexFunc(change.Leaves(), func(l tree.LeafChange) bool { return bytes.Equal(l.Key, state.ParametersKey()) })
	if leaf < 0 {
		t.Fatal("the tree lacks the parameters")
	}
	merkle, err := whole.Prove(state.ParametersKey(), func(poseidon.Digest) (d poseidon.Digest, err error) { return d, nil })
	if err != nil {
		t.Fatal(err)
	}
	return whole.Root(), merkle.Of(state.ParametersKey(), p.Encode())
}
