package testkit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/state"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

type poseidonVectors struct {
	ConstantsLE     bytesHex        `json:"constants_as_little_endian_u32"`
	ConstantsSHA256 bytesHex        `json:"constants_sha256"`
	Permutations    []permuteVector `json:"permute"`
	Nodes           []pairVector    `json:"node"`
	Leaves          []pairVector    `json:"leaf"`
	Paths           []hashVector    `json:"path"`
	ValueHashes     []hashVector    `json:"value_hash"`
	Pair            []uint32        `json:"pair"` // elements of the bytes 0 to 31
	LeafOf96        bytesHex        `json:"tx_leaf_96"`
	LeafOf64        bytesHex        `json:"tx_leaf_64"`
	ReceiptLeaf     bytesHex        `json:"receipt_leaf"`
}

type permuteVector struct {
	Input  [16]uint32 `json:"input"`
	Output [16]uint32 `json:"output"`
}

type pairVector struct {
	First  bytesHex `json:"first"`
	Second bytesHex `json:"second"`
	Digest bytesHex `json:"digest"`
}

type hashVector struct {
	Message bytesHex `json:"message"`
	Digest  bytesHex `json:"digest"`
}

// filled returns the account whose 32 bytes are all i.
func filled(i byte) types.Account { return types.Account(bytes.Repeat([]byte{i}, 32)) }

// recordKey is the state key of that account.
func recordKey(i byte) []byte { return state.AccountKey(filled(i)) }

// poseidonSection takes its values from package poseidon and checks each against the naive definition.
func poseidonSection(t *testing.T) (v poseidonVectors) {
	t.Helper()
	for _, c := range roundConstants {
		v.ConstantsLE = binary.LittleEndian.AppendUint32(v.ConstantsLE, c)
	}
	sum := sha256.Sum256(v.ConstantsLE)
	v.ConstantsSHA256 = sum[:]

	var ascending, greatest [16]uint32
	for i := range ascending {
		ascending[i], greatest[i] = uint32(i), koalaBear-1
	}
	for _, input := range [][16]uint32{{}, ascending, greatest} {
		output := input
		poseidon.Permute(&output)
		if naive := naivePermute(input); naive != output {
			t.Fatalf("permute(%v) is %v, naively %v", input, output, naive)
		}
		v.Permutations = append(v.Permutations, permuteVector{input, output})
	}
	low, high := poseidon.Digest(ascending[:8]), poseidon.Digest(ascending[8:])
	most := poseidon.Digest(greatest[:8])
	for _, pair := range [][2]poseidon.Digest{{low, high}, {{}, low}, {low, {}}, {most, most}} {
		var digest [1]poseidon.Digest
		poseidon.Nodes(digest[:], [][2]poseidon.Digest{pair})
		v.Nodes = append(v.Nodes, newPairVector(t, pair, digest[0], naiveNode))
		poseidon.Leaves(digest[:], [][2]poseidon.Digest{pair})
		v.Leaves = append(v.Leaves, newPairVector(t, pair, digest[0], naiveLeaf))
	}
	storage := append(append([]byte{3}, make([]byte, 32)...), "counter"...)
	for _, key := range [][]byte{state.SupplyKey(), state.ParametersKey(), recordKey(0x11), storage} {
		v.Paths = append(v.Paths, newHashVector(t, poseidon.TagPath, key))
	}
	bytes256 := make([]byte, 256)
	for i := range bytes256 {
		bytes256[i] = byte(i)
	}
	for _, n := range []int{0, 1, 2, 3, 4, 16, 23, 24, 25, 48, 256} {
		v.ValueHashes = append(v.ValueHashes, newHashVector(t, poseidon.TagValue, bytes256[:n]))
	}
	v.Pair = naivePair(bytes256[:32])
	of96, of64 := naiveSponge(4, 96, naivePair(make([]byte, 96))), naiveSponge(4, 64, naivePair(make([]byte, 64)))
	receipt := naiveSponge(6, 20, append(naivePair(make([]byte, 32)), 1, 10_000, 0, 0))
	for to, digest := range map[*bytesHex]naiveDigest{&v.LeafOf96: of96, &v.LeafOf64: of64, &v.ReceiptLeaf: receipt} {
		b := digest.bytes()
		*to = b[:]
	}
	return v
}

func newPairVector(
	t *testing.T, pair [2]poseidon.Digest, digest poseidon.Digest, naive func(a, b naiveDigest) naiveDigest,
) pairVector {
	t.Helper()
	if want := naive(naiveDigest(pair[0]), naiveDigest(pair[1])); naiveDigest(digest) != want {
		t.Fatalf("hash of %v is %v, naively %v", pair, digest, want)
	}
	first, second, b := pair[0].Bytes(), pair[1].Bytes(), digest.Bytes()
	return pairVector{first[:], second[:], b[:]}
}

func newHashVector(t *testing.T, tag uint32, message []byte) hashVector {
	t.Helper()
	digest := poseidon.Hash(tag, message)
	if naive := naiveHash(tag, message); naiveDigest(digest) != naive {
		t.Fatalf("hash of %x with tag %d is %v, naively %v", message, tag, digest, naive)
	}
	b := digest.Bytes()
	return hashVector{message, b[:]}
}

type recordVector struct {
	Key   bytesHex `json:"key"`
	Value bytesHex `json:"value"`
}

type stateRootVector struct {
	Records []recordVector `json:"records"`
	Root    bytesHex       `json:"root"`
}

// exampleState has n records: accounts 11…, 22…, then 03… to 0a….
func exampleState(n int) []recordVector {
	records := []recordVector{}
	all := []struct {
		account byte
		record  state.Account
	}{{0x11, state.Account{Balance: 100, Nonce: 1}}, {0x22, state.Account{Balance: 5}}}
	for i := byte(3); i <= 10; i++ {
		all = append(all, struct {
			account byte
			record  state.Account
		}{i, state.Account{Balance: types.Amount(i), Nonce: uint64(i)}})
	}
	for _, a := range all[:n] {
		records = append(records, recordVector{recordKey(a.account), a.record.Encode(filled(a.account))})
	}
	return records
}

func asMap(records []recordVector) map[string][]byte {
	m := make(map[string][]byte, len(records))
	for _, r := range records {
		m[string(r.Key)] = r.Value
	}
	return m
}

func stateRoots() (vectors []stateRootVector) {
	for _, n := range []int{0, 1, 2, 10} {
		records := exampleState(n)
		root := stateRoot(asMap(records))
		vectors = append(vectors, stateRootVector{records, root[:]})
	}
	return vectors
}

type scheduleVector struct {
	Text   string   `json:"text"`
	Digest bytesHex `json:"digest"`
}

func gasSchedule() scheduleVector {
	digest := params.Prices.Digest()
	return scheduleVector{params.Prices.Text(), digest[:]}
}

// TestTreeEqualsDefinition compares package tree with the naive definition: the roots of growing states, and the
// proof of a present and of an absent key in each.
func TestTreeEqualsDefinition(t *testing.T) {
	var tr tree.Tree
	inTurn := func(n int, f func(i int)) {
		for i := range n {
			f(i)
		}
	}
	records := exampleState(10)
	for n, r := range records {
		change, err := tr.Prepare([]types.Access{{Key: r.Key, New: r.Value}}, inTurn)
		if err != nil {
			t.Fatal(err)
		}
		tr.Commit(change, inTurn)
		committed := asMap(records[:n+1])
		if want := stateRoot(committed); tr.Root() != want {
			t.Fatalf("root of %d records is %s, naively %x", n+1, tr.Root(), want)
		}
		for _, key := range [][]byte{r.Key, recordKey(0x33), recordKey(0x35)} {
			compareProofs(t, &tr, committed, key)
		}
	}
}

func compareProofs(t *testing.T, tr *tree.Tree, committed map[string][]byte, key []byte) {
	t.Helper()
	want := naiveProve(committed, key)
	got, err := tr.Prove(key, func(poseidon.Digest) (poseidon.Digest, error) {
		return poseidon.Digest(want.end.valueHash), nil
	})
	if err != nil || len(got.Siblings) != len(want.siblings) {
		t.Fatalf("proof of %x has %d siblings, naively %d, error %v", key, len(got.Siblings), len(want.siblings), err)
	}
	for i, sibling := range got.Siblings {
		if naiveDigest(sibling) != want.siblings[i] {
			t.Errorf("proof of %x: sibling %d is %v, naively %v", key, i, sibling, want.siblings[i])
		}
	}
	if got.End.Kind == tree.EndOther && naiveDigest(got.End.Path) != want.end.path {
		t.Errorf("proof of %x ends in %v, naively %v", key, got.End.Path, want.end.path)
	}
	if err := got.Verify(tr.Root(), key, committed[string(key)]); err != nil {
		t.Errorf("proof of %x: error %v", key, err)
	}
}
