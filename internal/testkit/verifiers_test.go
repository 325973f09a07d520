package testkit

import (
	"bytes"
	"flag"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/protocol/blockproof"
	"github.com/cairn-chain/cairn/internal/testkit/provenchain"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

var everyByte = flag.Bool("every-byte", false, "let TestChangedBundles change every byte of a bundle")

// bothRefuse has both verifiers refuse a bundle.
func bothRefuse(t *testing.T, name string, bundle []byte) {
	t.Helper()
	if _, err := proof.Verify(bundle, 100); err == nil {
		t.Errorf("%s: accepted", name)
	}
	if err := naiveVerifyBundle(bundle, 100); err == nil {
		t.Errorf("%s: accepted by the second verifier", name)
	}
}

// TestBothVerifiersAccept has both verifiers check blocks of all kinds, and a requirement of more bits.
func TestBothVerifiersAccept(t *testing.T) {
	var inserted, deleted, read int
	for _, b := range provenchain.Make(t, 100) {
		for _, a := range b.Bundle.Accesses {
			switch {
			case !a.Changed():
				read++
			case len(a.Old) == 0:
				inserted++
			case len(a.New) == 0:
				deleted++
			}
		}
		encoded := b.Bundle.Encode()
		if _, err := proof.Verify(encoded, 100); err != nil {
			t.Errorf("%s: error %v", b.Name, err)
		}
		if err := naiveVerifyBundle(encoded, 100); err != nil {
			t.Errorf("%s: the second verifier: error %v", b.Name, err)
		}
		if len(b.Bundle.Accesses) == 0 {
			continue // it has no STARK proof
		}
		if _, err := proof.Verify(encoded, 128); err == nil {
			t.Errorf("%s: 100 bits pass for 128", b.Name)
		}
		if err := naiveVerifyBundle(encoded, 128); err == nil {
			t.Errorf("%s: 100 bits pass for 128 with the second verifier", b.Name)
		}
	}
	if inserted == 0 || deleted == 0 || read == 0 {
		t.Errorf("%d keys were inserted, %d deleted, %d only read", inserted, deleted, read)
	}
}

// TestChangedBundles changes bytes of each part, truncates and lengthens: both verifiers refuse.
func TestChangedBundles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	blocks := provenchain.Make(t, 100)
	b := blocks[len(blocks)-1].Bundle
	encoded := b.Encode()
	said := len(encoded) - len(b.Proof)
	changed := 0
	for i := 0; i < len(encoded); i++ {
		c := bytes.Clone(encoded)
		c[i] ^= 1 << (i % 8)
		switch sampled := i < said && i%37 == 0 || i >= said && i%3989 == 0; {
		case sampled:
			bothRefuse(t, "a changed byte", c)
		case *everyByte:
			if _, err := proof.Verify(c, 100); err == nil {
				t.Errorf("byte %d changed: accepted", i)
			}
		default:
			continue
		}
		changed++
	}
	for _, n := range []int{0, 1, 279, 560, said - 1, said, said + 9, len(encoded) - 32, len(encoded) - 1} {
		bothRefuse(t, "cut", encoded[:n])
	}
	bothRefuse(t, "a byte more", append(bytes.Clone(encoded), 0))
	longer := b
	longer.Proof = append(bytes.Clone(b.Proof), 0)
	bothRefuse(t, "a proof with a byte more", longer.Encode())
	t.Logf("%d of %d bytes changed, none accepted", changed, len(encoded))
}

// TestForgedBundles uses other lists, lets the producer seal other roots or headers, and combines parts of two blocks:
// both verifiers refuse, as no proof shows that.
func TestForgedBundles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	blocks := provenchain.Make(t, 100)
	b, before := blocks[len(blocks)-1].Bundle, blocks[len(blocks)-2].Bundle
	producer, forged := provenchain.Producer(t), 0
	sign := func(h *types.SignedHeader) {
		t.Helper()
		hash := h.Header.Hash()
		signature, err := producer.Sign(hash[:], [32]byte{})
		if err != nil {
			t.Fatal(err)
		}
		h.Seal.Signature = signature
	}
	forge := func(name string, change func(b *blockproof.Bundle)) {
		t.Helper()
		c := b
		c.Accesses = slices.Clone(b.Accesses)
		change(&c)
		sign(&c.Header)
		bothRefuse(t, name, c.Encode())
		forged++
	}
	same := b
	if sign(&same.Header); !bytes.Equal(same.Encode(), b.Encode()) {
		t.Error("signing again gives another bundle")
	}
	for i, a := range b.Accesses {
		forge("an access less", func(c *blockproof.Bundle) { c.Accesses = slices.Delete(c.Accesses, i, i+1) })
		forge("an access twice", func(c *blockproof.Bundle) { c.Accesses = slices.Insert(c.Accesses, i, a) })
		forge("another new value", func(c *blockproof.Bundle) { c.Accesses[i].New = append(bytes.Clone(a.New), 1) })
		forge("another old value", func(c *blockproof.Bundle) { c.Accesses[i].Old = append(bytes.Clone(a.Old), 1) })
		forge("another key", func(c *blockproof.Bundle) { c.Accesses[i].Key = append(bytes.Clone(a.Key), 0) })
		forge("an access more", func(c *blockproof.Bundle) {
			c.Accesses = slices.Insert(c.Accesses, i+1, types.Access{Key: append(bytes.Clone(a.Key), 0)})
		})
		if i > 0 {
			forge("two swapped", func(c *blockproof.Bundle) { c.Accesses[i], c.Accesses[i-1] = c.Accesses[i-1], c.Accesses[i] })
		}
	}
	for i := 0; i < 4; i++ {
		c := b.Encode()
		c[2*types.SignedHeaderBytes-68+i] = 1 // a byte of the seal's variant
		bothRefuse(t, "a seal of another kind", c)
	}
	forge("another time", func(c *blockproof.Bundle) { c.Header.Header.Timestamp++ })
	forge("another root", func(c *blockproof.Bundle) { c.Header.Header.StateRoot[31] ^= 1 })
	forge("the root before", func(c *blockproof.Bundle) { c.Header.Header.StateRoot = c.Parent.Header.StateRoot })
	forge("no digest for a root", func(c *blockproof.Bundle) { c.Header.Header.StateRoot[0] = 0xff })
	forge("another chain", func(c *blockproof.Bundle) { c.Header.Header.ChainID++ })
	forge("another height", func(c *blockproof.Bundle) { c.Header.Header.Height++ })
	forge("another root before", func(c *blockproof.Bundle) {
		c.Parent.Header.StateRoot = before.Parent.Header.StateRoot
		sign(&c.Parent)
		c.Header.Header.Parent = c.Parent.Header.Hash()
	})
	forge("another block's proof", func(c *blockproof.Bundle) { c.Proof = before.Proof })
	forge("another block's list", func(c *blockproof.Bundle) { c.Accesses = before.Accesses })
	forge("another block's list and proof", func(c *blockproof.Bundle) {
		c.Accesses, c.Proof = before.Accesses, before.Proof
	})
	forge("another block's parent", func(c *blockproof.Bundle) { c.Parent = before.Parent })
	forge("no proof", func(c *blockproof.Bundle) { c.Proof = nil })
	forge("an empty block's proof", func(c *blockproof.Bundle) { c.Proof = blocks[1].Bundle.Proof })
	forge("an empty block", func(c *blockproof.Bundle) { c.Accesses, c.Proof = nil, blocks[1].Bundle.Proof })
	t.Logf("%d forged bundles, none accepted", forged)
}
