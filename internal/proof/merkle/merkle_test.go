package merkle

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

func row(i int) []byte { return []byte{byte(i), byte(i >> 8), 7, 0} }

func build(log int) *Tree {
	nodes := make([]Digest, 2<<log)
	column := make(field.Vector, 1<<log)
	for i := range column {
		column[i] = field.New(uint64(binary.LittleEndian.Uint32(row(i))))
	}
	Leaves(nodes[1<<log:], []field.Vector{column}, 0)
	return New(nodes, serial)
}

// naive computes the root by its definition.
func naive(leaves []Digest) Digest {
	if len(leaves) == 1 {
		return leaves[0]
	}
	left, right := naive(leaves[:len(leaves)/2]), naive(leaves[len(leaves)/2:])
	return sha256.Sum256(append(append([]byte{1, 0, 0, 0}, left[:]...), right[:]...))
}

func TestRootIsTheDefinition(t *testing.T) {
	for log := range 13 {
		tree := build(log)
		for i, leaf := range tree.nodes[1<<log:] {
			if want := sha256.Sum256(append(make([]byte, 4), row(i)...)); leaf != want {
				t.Errorf("leaf %d is %x, want %x", i, leaf, want)
			}
		}
		if got, want := tree.Root(), naive(tree.nodes[1<<log:]); got != want {
			t.Errorf("root of 2^%d leaves is %x, want %x", log, got, want)
		}
	}
}

var errShort = errors.New("short")

// verify reads the siblings from opening and returns the number of remaining bytes.
func verify(root *Digest, log int, indices []int, rows, opening []byte) (left int, err error) {
	err = Verify(root, log, indices, rows, func() (d Digest, err error) {
		if len(opening) < Size {
			return d, errShort
		}
		d, opening = Digest(opening[:Size]), opening[Size:]
		return d, nil
	})
	return len(opening), err
}

func TestOpenings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := rapid.IntRange(0, 9).Draw(t, "log")
		opened := rapid.SliceOfN(rapid.Bool(), 1<<log, 1<<log).Draw(t, "opened")
		tree := build(log)
		var indices []int
		var rows []byte
		for i, is := range opened {
			if is {
				indices, rows = append(indices, i), append(rows, row(i)...)
			}
		}
		if len(indices) == 0 {
			return
		}
		opening := tree.AppendOpening(nil, indices)
		root := tree.Root()
		if left, err := verify(&root, log, indices, rows, append(opening, 9)); err != nil || left != 1 {
			t.Fatalf("honest opening: %d bytes left, error %v", left, err)
		}
		if len(opening) > 0 {
			if _, err := verify(&root, log, indices, rows, opening[:len(opening)-1]); !errors.Is(err, errShort) {
				t.Fatalf("cut opening: error %v, want %v", err, errShort)
			}
			at := rapid.IntRange(0, len(opening)-1).Draw(t, "at")
			opening[at] ^= 1
			if _, err := verify(&root, log, indices, rows, opening); !errors.Is(err, ErrRoot) {
				t.Fatalf("changed opening: error %v, want %v", err, ErrRoot)
			}
			opening[at] ^= 1
		}
		at := rapid.IntRange(0, len(rows)-1).Draw(t, "row")
		rows[at] ^= 1
		if _, err := verify(&root, log, indices, rows, opening); !errors.Is(err, ErrRoot) {
			t.Fatalf("changed row: error %v, want %v", err, ErrRoot)
		}
	})
}

// No choice of leaves has more siblings, and some choice has as many.
func TestMostSiblings(t *testing.T) {
	const log = 4
	tree := build(log)
	most := make([]int, 1<<log+1)
	for chosen := 1; chosen < 1<<(1<<log); chosen++ {
		var indices []int
		for i := range 1 << log {
			if chosen>>i&1 == 1 {
				indices = append(indices, i)
			}
		}
		n := len(indices)
		most[n] = max(most[n], len(tree.AppendOpening(nil, indices))/len(Digest{}))
	}
	for n := 1; n <= 1<<log; n++ {
		if got := MostSiblings(n, log); got != most[n] {
			t.Errorf("%d leaves: %d siblings at most, want %d", n, got, most[n])
		}
	}
}
