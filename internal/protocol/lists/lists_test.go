package lists

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

func contains(s, part string) bool { return part != "" && strings.Contains(s, part) }

// rootOfLeaves is the root of a list by its leaves.
func rootOfLeaves(tag uint32, leaves []poseidon.Digest) types.MerkleRoot {
	return rootOf(tag, len(leaves), func(dst []poseidon.Digest, first int) { copy(dst, leaves[first:]) }, InOrder)
}

// plainRoot follows the definition of T literally.
func plainRoot(tag uint32, leaves []poseidon.Digest) types.MerkleRoot {
	level := append([]poseidon.Digest{}, leaves...)
	for size := 1; len(level) == 0 || size < len(leaves) || len(level) < size; {
		if len(level) < size {
			level = append(level, poseidon.Digest{})
			continue
		}
		size *= 2
	}
	for len(level) > 1 {
		above := make([]poseidon.Digest, len(level)/2)
		for i := range above {
			poseidon.Nodes(above[i:i+1], [][2]poseidon.Digest{{level[2*i], level[2*i+1]}})
		}
		level = above
	}
	return rootDigest(tag, len(leaves), level[0]).Bytes()
}

func randomLeaves(r *rand.Rand, n int) []poseidon.Digest {
	leaves := make([]poseidon.Digest, n)
	for i := range leaves {
		for j := range leaves[i] {
			leaves[i][j] = r.Uint32N(poseidon.P)
		}
	}
	return leaves
}

// sizes are lengths of lists around the ends of runs and of heights.
func sizes() []int {
	all := []int{255, 256, 257, 511, 512, 513, 767, 768, 769, 1023, 1024, 1025, 1300}
	for n := range 20 {
		all = append(all, n)
	}
	return all
}

func TestRootSizes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range sizes() {
		leaves := randomLeaves(r, n)
		for _, tag := range []uint32{poseidon.TagTransactions, poseidon.TagReceipts} {
			if got, want := rootOfLeaves(tag, leaves), plainRoot(tag, leaves); got != want {
				t.Errorf("%d leaves, tag %d: %s, want %s", n, tag, got, want)
			}
		}
	}
}

// goroutines is a Parallel.
func goroutines(n int, f func(i int)) {
	var done sync.WaitGroup
	for i := range n {
		done.Go(func() { f(i) })
	}
	done.Wait()
}

// sample returns n transactions, of both kinds of leaves, and receipts.
func sample(r *rand.Rand, n int) (txs []*types.Tx, receipts []types.Receipt) {
	for range n {
		tx := types.SignedTransaction{
			Transaction: types.Transaction{Nonce: r.Uint64(), Payload: types.Transfer{}}, Witness: types.WitnessKey{},
		}
		if r.IntN(3) == 0 {
			tx.Payer = new(types.Account)
			tx.PayerWitness = types.WitnessText{Sighash: 1}
		}
		txs = append(txs, types.NewTx(tx))
		receipts = append(receipts, types.Receipt{
			Status: types.ReceiptStatus(r.IntN(2)), GasUsed: types.Gas(r.Uint64N(1 << 40)),
			Output: make([]byte, r.IntN(3)),
		})
	}
	return txs, receipts
}

// The root does not depend on the way in which it is computed.
func TestWays(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range sizes() {
		txs, receipts := sample(r, n)
		wantTx := plainRoot(poseidon.TagTransactions, TransactionLeaves(txs))
		wantReceipts := plainRoot(poseidon.TagReceipts, ReceiptLeaves(receipts))
		for i := range txs {
			if TransactionLeaf(txs[i]) != TransactionLeaves(txs[i : i+1])[0] ||
				ReceiptLeaf(&receipts[i]) != ReceiptLeaves(receipts[i : i+1])[0] {
				t.Fatal("a leaf differs from itself")
			}
		}
		for way, got := range map[string][2]types.MerkleRoot{
			"in order":    {TransactionsRoot(txs), ReceiptsRoot(receipts)},
			"in parallel": {TransactionsRootBy(txs, goroutines), ReceiptsRootBy(receipts, goroutines)},
		} {
			if got != [2]types.MerkleRoot{wantTx, wantReceipts} {
				t.Errorf("%d elements %s: %s, want %s, %s", n, way, got, wantTx, wantReceipts)
			}
		}
	}
}

func TestInclusion(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 3, 5, 8, 9, 300} {
		txs, receipts := sample(r, n)
		txRoot, receiptsRoot := TransactionsRoot(txs), ReceiptsRoot(receipts)
		txTree, receiptsTree := NewTree(TransactionLeaves(txs)), NewTree(ReceiptLeaves(receipts))
		for i := range txs {
			p, q := txTree.Prove(i), receiptsTree.Prove(i)
			if err := CheckTransaction(txRoot, txs[i], &p); err != nil {
				t.Fatalf("transaction %d of %d: error %v", i, n, err)
			}
			if err := CheckReceipt(receiptsRoot, &receipts[i], &q); err != nil {
				t.Fatalf("receipt %d of %d: error %v", i, n, err)
			}
			for change, broken := range corrupted(p) {
				if err := CheckTransaction(txRoot, txs[i], &broken); !errors.Is(err, ErrInclusion) {
					t.Errorf("transaction %d of %d, %s: error %v, want %v", i, n, change, err, ErrInclusion)
				}
			}
			other := receipts[i]
			other.GasUsed++
			if err := CheckReceipt(receiptsRoot, &other, &q); !errors.Is(err, ErrInclusion) {
				t.Errorf("another receipt: error %v, want %v", err, ErrInclusion)
			}
			if err := CheckReceipt(txRoot, &receipts[i], &q); !errors.Is(err, ErrInclusion) {
				t.Errorf("a receipt under the other root: error %v", err)
			}
		}
	}
}

// corrupted returns proofs that each differ from p in one part.
func corrupted(p types.InclusionProof) map[string]types.InclusionProof {
	change := func(f func(p *types.InclusionProof)) types.InclusionProof {
		c := p
		c.Siblings = append([][32]byte{}, p.Siblings...)
		f(&c)
		return c
	}
	all := map[string]types.InclusionProof{
		"n + 1":              change(func(p *types.InclusionProof) { p.N++ }),
		"n = 0":              change(func(p *types.InclusionProof) { p.N = 0 }),
		"n = 2^18":           change(func(p *types.InclusionProof) { p.N = 1 << 18 }),
		"the number n":       change(func(p *types.InclusionProof) { p.Number = p.N }),
		"another leaf":       change(func(p *types.InclusionProof) { p.Leaf[31] ^= 1 }),
		"a sibling too many": change(func(p *types.InclusionProof) { p.Siblings = append(p.Siblings, [32]byte{}) }),
		"a leaf over p":      change(func(p *types.InclusionProof) { p.Leaf[0] |= 0x80 }),
	}
	if p.N > 1 {
		all["another number"] = change(func(p *types.InclusionProof) { p.Number ^= 1 })
		all["a sibling too few"] = change(func(p *types.InclusionProof) { p.Siblings = p.Siblings[1:] })
		all["another sibling"] = change(func(p *types.InclusionProof) { p.Siblings[0][31] ^= 1 })
		all["a sibling over p"] = change(func(p *types.InclusionProof) { p.Siblings[0][0] |= 0x80 })
	}
	return all
}

// A leaf contains a payer's witness even if there is no payer, so that no proof holds for it.
func TestStrayPayerWitness(t *testing.T) {
	plain := types.SignedTransaction{
		Transaction: types.Transaction{Payload: types.Transfer{}}, Witness: types.WitnessKey{},
	}
	stray := plain
	stray.PayerWitness = types.WitnessKey{}
	if TransactionLeaf(types.NewTx(plain)) == TransactionLeaf(types.NewTx(stray)) {
		t.Error("a transaction with a stray witness has the leaf of the one without")
	}
}

// A receipt has no leaf if its gas does not fit into the limbs.
func TestReceiptGas(t *testing.T) {
	most := types.Receipt{GasUsed: 1<<48 - 1}
	if ReceiptLeaf(&most).IsZero() {
		t.Error("a receipt of 2^48 − 1 gas has no leaf")
	}
	over := types.Receipt{GasUsed: 1 << 48}
	leaves := []poseidon.Digest{ReceiptLeaf(&over)}
	if !leaves[0].IsZero() {
		t.Error("a receipt of 2^48 gas has a leaf")
	}
	p := NewTree(leaves).Prove(0)
	if err := CheckReceipt(rootOfLeaves(poseidon.TagReceipts, leaves), &over, &p); !errors.Is(err, ErrInclusion) {
		t.Errorf("a receipt of 2^48 gas: error %v, want %v", err, ErrInclusion)
	}
}

func BenchmarkTransactionsRoot(b *testing.B) {
	txs, _ := sample(rand.New(rand.NewPCG(7, 8)), 10_000)
	for b.Loop() {
		TransactionsRoot(txs)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/10_000, "ns/tx")
}

// Leaves of several receipts are those of each, also where equal ones follow one another.
func TestEqualReceipts(t *testing.T) {
	plain, failed := types.Receipt{Status: types.StatusSuccess, GasUsed: 1}, types.Receipt{GasUsed: 1}
	dearer, output, logs, made := plain, plain, plain, plain
	dearer.GasUsed, output.Output = 2, []byte{1}
	logs.Logs, made.Contract = []types.Log{{Name: "log"}}, new(types.ContractID)
	receipts := []types.Receipt{
		plain, plain, output, logs, plain, made, made, plain, plain, failed, failed, dearer, dearer, plain,
	}
	for range 5 { // more than a run
		receipts = append(receipts, receipts...)
	}
	for i, leaf := range ReceiptLeaves(receipts) {
		if want := ReceiptLeaf(&receipts[i]); leaf != want {
			t.Fatalf("receipt %d has the leaf %x, want %x", i, leaf, want)
		}
	}
}
