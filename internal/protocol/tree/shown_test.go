package tree

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/types"
)

// hexBytes is hex without a prefix in JSON.
type hexBytes []byte

func (b *hexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// shownVector is a Merkle proof of docs/vectors.json.
type shownVector struct {
	Name    string
	Root    hexBytes `json:"state_root"`
	Encoded hexBytes
	Holds   bool
	Why     string
	Proof   struct {
		Key      hexBytes
		Value    hexBytes // null for an empty one
		Siblings []hexBytes
		End      struct {
			Type      string
			Path      hexBytes
			ValueHash hexBytes `json:"valueHash"`
		}
	}
}

func TestShownVectors(t *testing.T) {
	var v struct {
		Proofs struct{ State []shownVector }
	}
	content, err := os.ReadFile("../../../docs/vectors.json")
	if err == nil {
		err = json.Unmarshal(content, &v)
	}
	if err != nil || len(v.Proofs.State) == 0 {
		t.Fatalf("%d vectors, error %v", len(v.Proofs.State), err)
	}
	for _, c := range v.Proofs.State {
		t.Run(c.Name, c.run)
	}
}

// shownWhys are parts of the errors for the reasons in the vectors.
var shownWhys = map[string]string{
	"another root":                     "to a different root",
	"an element that is not below p":   poseidon.ErrNotCanonical.Error(),
	"the value and the end":            "presence instead of absence",
	"the other path is on another way": "does not show absence",
	"the other path is the key's":      "does not show absence",
}

func (c *shownVector) run(t *testing.T) {
	p, err := types.DecodeMerkleProof(c.Encoded)
	if c.Why == "more than 248 siblings" {
		if !errors.Is(err, codec.ErrTooLong) {
			t.Fatalf("error %v, want ErrTooLong", err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(p.Encode()) != string(c.Encoded) {
		t.Errorf("encoded as %x", p.Encode())
	}
	kinds := map[string]types.EndKind{"leaf": types.EndLeaf, "empty": types.EndEmpty, "other": types.EndOther}
	if string(p.Key) != string(c.Proof.Key) || string(p.Value) != string(c.Proof.Value) ||
		len(p.Siblings) != len(c.Proof.Siblings) || p.End.Kind != kinds[c.Proof.End.Type] {
		t.Fatalf("decoded %+v, want %+v", p, c.Proof)
	}
	for i := range p.Siblings {
		if string(p.Siblings[i][:]) != string(c.Proof.Siblings[i]) {
			t.Fatalf("sibling %d: %x, want %x", i, p.Siblings[i], c.Proof.Siblings[i])
		}
	}
	if p.End.Kind == types.EndOther &&
		(string(p.End.Path[:]) != string(c.Proof.End.Path) || string(p.End.ValueHash[:]) != string(c.Proof.End.ValueHash)) {
		t.Fatalf("end %+v, want %+v", p.End, c.Proof.End)
	}
	err = VerifyShown(types.StateRoot(c.Root), &p)
	switch {
	case c.Holds && err != nil:
		t.Errorf("refused: error %v", err)
	case !c.Holds && !errors.Is(err, ErrMerkleProof):
		t.Errorf("error %v, want ErrMerkleProof", err)
	case !c.Holds && (shownWhys[c.Why] == "" || !strings.Contains(err.Error(), shownWhys[c.Why])):
		t.Errorf("error %q for the reason %q", err, c.Why)
	}
}

// The tree's proofs hold in the form that is shown, and not with any part changed.
func TestShown(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 30 {
		values := make(map[string][]byte)
		var accesses []types.Access
		for range r.IntN(40) {
			key := []byte{byte(r.IntN(60)), byte(r.IntN(2))}
			if values[string(key)] == nil {
				values[string(key)] = []byte{1 + byte(r.IntN(9))}
				accesses = append(accesses, types.Access{Key: key, New: values[string(key)]})
			}
		}
		var tree Tree
		hashes := make(map[poseidon.Digest]poseidon.Digest)
		if len(accesses) > 0 {
			change, err := tree.Prepare(accesses, forwards)
			if err != nil {
				t.Fatal(err)
			}
			for _, leaf := range change.Leaves() {
				hashes[leaf.Path] = leaf.ValueHash
			}
			tree.Commit(change, forwards)
		}
		for range 20 {
			key := []byte{byte(r.IntN(60)), byte(r.IntN(2))}
			p, err := tree.Prove(key, func(path poseidon.Digest) (poseidon.Digest, error) { return hashes[path], nil })
			if err != nil {
				t.Fatal(err)
			}
			shown := p.Of(key, values[string(key)])
			checkShown(t, tree.Root(), shown)
		}
	}
}

func checkShown(t *testing.T, root types.StateRoot, shown types.MerkleProof) {
	t.Helper()
	decoded, err := types.DecodeMerkleProof(shown.Encode())
	if err != nil {
		t.Fatal(err)
	}
	if err := VerifyShown(root, &decoded); err != nil {
		t.Fatalf("%x: error %v", shown.Key, err)
	}
	for name, change := range map[string]func(p *types.MerkleProof){
		"another key":    func(p *types.MerkleProof) { p.Key = append([]byte{9}, p.Key...) },
		"another value":  func(p *types.MerkleProof) { p.Value = append([]byte{9}, p.Value...) },
		"unknown end":    func(p *types.MerkleProof) { p.End.Kind += 3 },
		"a path":         func(p *types.MerkleProof) { p.End.Path[31] ^= 1 },
		"a value hash":   func(p *types.MerkleProof) { p.End.ValueHash[31] ^= 1 },
		"a path above p": func(p *types.MerkleProof) { p.End.Path[0] |= 0x80 },
		"more siblings":  func(p *types.MerkleProof) { p.Siblings = append(p.Siblings, [32]byte{31: 1}) },
		"249 siblings":   func(p *types.MerkleProof) { p.Siblings = make([][32]byte, 249) },
	} {
		changed, err := types.DecodeMerkleProof(shown.Encode())
		if err != nil {
			t.Fatal(err)
		}
		change(&changed)
		if name == "another key" && shown.End.Kind != types.EndLeaf {
			continue // the changed key may be absent at the same position
		}
		if err := VerifyShown(root, &changed); !errors.Is(err, ErrMerkleProof) {
			t.Errorf("%x, %s: error %v, want ErrMerkleProof", shown.Key, name, err)
		}
	}
}
