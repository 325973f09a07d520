package blockproof

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/internal/proof/field"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/internal/protocol/tree"
	"github.com/cairn-chain/cairn/types"
)

// blocksOf returns random changes of a few keys, one map per block, with reads, writes, deletions and empty blocks.
func blocksOf(r *rand.Rand, before map[string][]byte, n int) (blocks []map[string][]byte) {
	now := maps.Clone(before)
	for range n {
		changes := map[string][]byte{}
		for range r.IntN(6) {
			k := key(r.IntN(24))
			switch r.IntN(4) {
			case 0:
				changes[k] = nil
			case 1:
				changes[k] = now[k]
			default:
				changes[k] = []byte{byte(r.IntN(3)), 1}
			}
		}
		maps.Copy(now, changes)
		blocks = append(blocks, changes)
	}
	return blocks
}

// rangeOf returns the range of blocks on a state of 12 keys, without the proof, and the segments that prove it. Two
// copies of the state are used: one for the single blocks, and one for the whole range.
func rangeOf(tb testing.TB, r *rand.Rand, height types.Height, n int) (Range, []Segment) {
	tb.Helper()
	base := map[string][]byte{}
	for i := range 12 {
		base[key(i)] = []byte{byte(i), 1}
	}
	one, all := newState(), newState()
	one.apply(tb, base)
	all.apply(tb, base)
	before := types.Header{ChainID: 7, Height: height - 1, StateRoot: one.tree.Root()}
	made := Range{Headers: []types.SignedHeader{{Header: before}}}
	if height > 1 {
		made.Headers[0] = sign(tb, before)
	}
	var lists [][]types.Access
	var witnesses []tree.Witness
	for i, changes := range blocksOf(r, one.values, n) {
		statement, accesses, w := one.apply(tb, changes)
		lists, witnesses = append(lists, accesses), append(witnesses, w)
		made.Headers = append(made.Headers, sign(tb, types.Header{
			ChainID:   7,
			Height:    height + types.Height(i),
			Parent:    made.Headers[i].Header.Hash(),
			StateRoot: statement.PostRoot,
			GasUsed:   1_000_000,
		}))
	}
	var err error
	if made.Accesses, err = UnionAccesses(lists); err != nil {
		tb.Fatal(err)
	}
	union := map[string][]byte{}
	for _, a := range made.Accesses {
		union[string(a.Key)] = a.New
	}
	_, accesses, w := all.apply(tb, union)
	if all.tree.Root() != one.tree.Root() || !slices.EqualFunc(accesses, made.Accesses, sameAccess) {
		tb.Fatalf("the union of %d blocks is another change than they are", n)
	}
	joined, err := tree.JoinWitnesses(made.Accesses, lists, witnesses)
	if err == nil && !bytes.Equal(joined.Encode(), w.Encode()) || err != nil && !errors.Is(err, tree.ErrUnopened) {
		tb.Fatalf("the witnesses of %d blocks make another: error %v", n, err)
	}
	statement, err := NewRangeStatement(made.Headers, made.Accesses)
	if err != nil {
		tb.Fatal(err)
	}
	segments, err := collect(Trace(statement, made.Accesses, w, goroutines))
	if err != nil {
		tb.Fatal(err)
	}
	return made, segments
}

// rootsOf are the elements of the roots before and after the blocks of a range.
func rootsOf(tb testing.TB, headers []types.SignedHeader) field.Vector {
	tb.Helper()
	var roots [2]poseidon.Digest
	for i, h := range []types.SignedHeader{headers[0], headers[len(headers)-1]} {
		var err error
		if roots[i], err = poseidon.ParseDigest(h.Header.StateRoot); err != nil {
			tb.Fatal(err)
		}
	}
	return elementsOf(&roots[0], &roots[1])
}

func sameAccess(a, b types.Access) bool {
	return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Old, b.Old) && bytes.Equal(a.New, b.New)
}

var ranges = flag.Int("ranges", 300, "random ranges that TestRandomRanges makes")

// TestRandomRanges: the union of the lists of any blocks is their combined change. With it the circuit leads from the
// tree's root before them to its root after them.
func TestRandomRanges(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(5, 6))
	blocks, rows := 0, 0
	for n := range *ranges {
		made, segments := rangeOf(t, r, 1+types.Height(r.IntN(2)), 1+r.IntN(8))
		check(t, segments)
		last := len(segments) - 1
		for i := range segments {
			rows += segments[i].Rows()
		}
		if last >= 0 {
			public := slices.Concat(segments[0].Instance.Public[:digestSize], segments[last].Instance.Public[digestSize:])
			if want := rootsOf(t, made.Headers); !slices.Equal(public, want) {
				t.Fatalf("range %d: the circuit leads from another root than the tree, or to another", n)
			}
		}
		blocks += len(made.Headers) - 1
		if n%1000 == 999 {
			t.Logf("%d ranges so far", n+1)
		}
	}
	t.Logf("%d ranges, %d blocks, %d rows", *ranges, blocks, rows)
}

func TestUnionOfListsThatDoNotMeet(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	lists := [][]types.Access{
		{{Key: []byte{1}, Old: []byte{1}, New: []byte{2}}},
		{{Key: []byte{1}, Old: []byte{3}, New: []byte{4}}},
	}
	if _, err := UnionAccesses(lists); !errors.Is(err, ErrAccesses) {
		t.Errorf("a value that no block left: error %v, want %v", err, ErrAccesses)
	}
	full := make([]types.Access, params.MostAccesses(MaxRangeGas)/2+MaxRange*params.MostAccesses(0))
	if _, err := UnionAccesses([][]types.Access{full, full}); !errors.Is(err, ErrAccesses) {
		t.Errorf("more accesses than a range has: error %v, want %v", err, ErrAccesses)
	}
}

// TestRangeGas refuses ranges of blocks that used more gas together than a range may, and does not overflow.
func TestRangeGas(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	for _, c := range []struct {
		gas  []types.Gas
		fits bool
	}{
		{nil, true}, {[]types.Gas{MaxRangeGas}, true}, {[]types.Gas{MaxRangeGas, 1}, false},
		{[]types.Gas{1 << 63, 1 << 63}, false}, {[]types.Gas{MaxRangeGas / 2, MaxRangeGas / 2}, true},
	} {
		headers := []types.SignedHeader{{}}
		for i, gas := range c.gas {
			headers = append(headers, types.SignedHeader{Header: types.Header{
				Height: types.Height(i + 1), Parent: headers[i].Header.Hash(), GasUsed: gas,
			}})
		}
		if got := FitsRange(headers[1:]); got != c.fits {
			t.Errorf("%v: got %t, want %t", c.gas, got, c.fits)
		}
		if _, err := DecodeRange((&Range{Headers: headers}).Encode()); (err == nil) != c.fits {
			t.Errorf("%v: decoding: error %v", c.gas, err)
		}
		_, err := NewRangeStatement(headers, nil)
		if wrong := len(c.gas) > 0 && c.fits != (err == nil); wrong || err != nil && !errors.Is(err, ErrStatement) {
			t.Errorf("%v: error %v", c.gas, err)
		}
	}
}

// TestRange proves ranges, and checks that the verifier refuses every way of putting one together wrongly.
func TestRange(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	r := rand.New(rand.NewPCG(1, 9))
	for _, height := range []types.Height{1, 5} {
		made, segments := rangeOf(t, r, height, 6)
		made.Proof = prove(t, segments)
		decoded, err := DecodeRange(made.Encode())
		if err != nil || !reflect.DeepEqual(decoded, made) {
			t.Fatalf("height %d: decoding gives another range, error %v", height, err)
		}
		if of, err := DecodeRangeOf(made.Encode(), made.Headers); err != nil || !reflect.DeepEqual(of, made) {
			t.Fatalf("height %d: decoding with the headers gives another range, error %v", height, err)
		}
		if proof, err := ProofInRange(made.Encode()); err != nil || !bytes.Equal(proof, made.Proof) {
			t.Fatalf("height %d: another proof is in it, error %v", height, err)
		}
		if most := MostRangeBytes(made.Headers[1:]); int64(len(made.Encode())) > most {
			t.Errorf("height %d: %d bytes, at most %d", height, len(made.Encode()), most)
		}
		if bits, err := decoded.Verify(100, InOrder); err != nil || bits != 100 {
			t.Fatalf("height %d: %d bits, error %v", height, bits, err)
		}
		if _, err := decoded.Verify(128, InOrder); !errors.Is(err, ErrWeak) {
			t.Errorf("height %d: 128 bits: error %v, want %v", height, err, ErrWeak)
		}
		other, otherSegments := rangeOf(t, r, height, 6)
		other.Proof = prove(t, otherSegments)
		changed := slices.IndexFunc(made.Accesses, types.Access.Changed)
		for name, change := range map[string]func(r *Range){
			"shortened":        func(r *Range) { r.Headers = r.Headers[:len(r.Headers)-1] },
			"the first left":   func(r *Range) { r.Headers = r.Headers[1:] },
			"one left out":     func(r *Range) { r.Headers = slices.Delete(slices.Clone(r.Headers), 2, 3) },
			"one twice":        func(r *Range) { r.Headers = slices.Insert(slices.Clone(r.Headers), 2, r.Headers[2]) },
			"two exchanged":    func(r *Range) { swap(&r.Headers, 2, 3) },
			"spliced":          func(r *Range) { r.Headers = append(r.Headers[:3:3], other.Headers[3:]...) },
			"others' headers":  func(r *Range) { r.Headers = other.Headers },
			"others' proof":    func(r *Range) { r.Proof = other.Proof },
			"others' accesses": func(r *Range) { r.Accesses = other.Accesses },
			"no block":         func(r *Range) { r.Headers = r.Headers[:1] },
			"nothing":          func(r *Range) { r.Headers = nil },
			"an access less":   func(r *Range) { r.Accesses = r.Accesses[1:] },
			"an access twice":  func(r *Range) { r.Accesses = append(r.Accesses[:1:1], r.Accesses...) },
			"an access more": func(r *Range) {
				r.Accesses = append(r.Accesses[:len(r.Accesses):len(r.Accesses)], types.Access{Key: []byte{9}})
			},
			"an access of a block in between": func(r *Range) {
				r.Accesses = slices.Clone(r.Accesses)
				r.Accesses[changed].Old, r.Accesses[changed].New = r.Accesses[changed].New, r.Accesses[changed].Old
			},
			"an access of another range": func(r *Range) {
				r.Accesses = slices.Clone(r.Accesses)
				k := slices.IndexFunc(other.Accesses, func(a types.Access) bool {
					return !slices.ContainsFunc(r.Accesses, func(b types.Access) bool { return sameAccess(a, b) })
				})
				at := slices.IndexFunc(r.Accesses, func(a types.Access) bool {
					return string(a.Key) >= string(other.Accesses[k].Key)
				})
				if at < 0 {
					at = len(r.Accesses)
				}
				if at < len(r.Accesses) && string(r.Accesses[at].Key) == string(other.Accesses[k].Key) {
					r.Accesses[at] = other.Accesses[k]
				} else {
					r.Accesses = slices.Insert(r.Accesses, at, other.Accesses[k])
				}
			},
			"overlapped": func(r *Range) { r.Headers = append(r.Headers[:4:4], r.Headers[3:]...) },
			"the value of a block in between": func(r *Range) {
				r.Accesses = slices.Clone(r.Accesses)
				r.Accesses[changed].New = []byte{77}
			},
			"a value from nowhere": func(r *Range) {
				r.Accesses = slices.Clone(r.Accesses)
				r.Accesses[changed].Old = []byte{77}
			},
			"not signed": func(r *Range) {
				r.Headers = slices.Clone(r.Headers)
				r.Headers[3].Seal.Signature[5] ^= 1
			},
			"signed by nobody": func(r *Range) {
				r.Headers = slices.Clone(r.Headers)
				r.Headers[1].Seal = types.Seal{}
			},
		} {
			forged := made
			change(&forged)
			_, err := forged.Verify(100, InOrder)
			if !errors.Is(err, ErrStatement) && !errors.Is(err, ErrProof) && !errors.Is(err, ErrAccesses) {
				t.Errorf("height %d, %s: error %v", height, name, err)
			}
		}
	}
}

func swap(headers *[]types.SignedHeader, i, j int) {
	*headers = slices.Clone(*headers)
	(*headers)[i], (*headers)[j] = (*headers)[j], (*headers)[i]
}

// TestRangeOfOneBlock: a block's proof is not valid for the range of that block, nor the reverse.
func TestRangeOfOneBlock(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newBundle(t, 5)
	r := Range{Headers: []types.SignedHeader{b.Parent, b.Header}, Accesses: b.Accesses, Proof: b.Proof}
	if _, err := r.Verify(100, InOrder); !errors.Is(err, ErrProof) {
		t.Errorf("a block's proof for its range: error %v, want %v", err, ErrProof)
	}
	made, segments := rangeOf(t, rand.New(rand.NewPCG(3, 3)), 5, 1)
	made.Proof = prove(t, segments)
	if _, err := made.Verify(100, InOrder); err != nil {
		t.Fatal(err)
	}
	block := Bundle{made.Headers[0], made.Headers[1], made.Accesses, made.Proof}
	if _, err := block.Verify(100, InOrder); !errors.Is(err, ErrProof) {
		t.Errorf("a range's proof for its block: error %v, want %v", err, ErrProof)
	}
	if _, err := DecodeBundle(made.Encode()); err == nil {
		t.Error("a range is decoded as a bundle")
	}
	if _, err := DecodeRange(block.Encode()); err == nil {
		t.Error("a bundle is decoded as a range")
	}
}

// TestRangeBytes changes every byte outside the proof, whose own bytes other tests change.
func TestRangeBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	made, segments := rangeOf(t, rand.New(rand.NewPCG(4, 4)), 5, 2)
	made.Proof = prove(t, segments)
	encoded := made.Encode()
	for i := range len(encoded) - len(made.Proof) {
		forged := bytes.Clone(encoded)
		forged[i] ^= 1 << (i % 8)
		if decoded, err := DecodeRange(forged); err == nil {
			if _, err := decoded.Verify(100, InOrder); err == nil {
				t.Errorf("byte %d changed: accepted", i)
			}
		}
	}
	for i := 0; i < len(encoded); i += 499 {
		if _, err := DecodeRange(encoded[:i]); err == nil {
			t.Errorf("cut at %d: decoded", i)
		}
	}
	if _, err := DecodeRange(append(encoded, 0)); err == nil {
		t.Error("a byte more: decoded")
	}
}

func FuzzDecodeRange(f *testing.F) {
	r := Range{Headers: []types.SignedHeader{{}, {}}, Accesses: []types.Access{{Key: []byte{1}}}, Proof: make([]byte, 9)}
	f.Add(r.Encode())
	f.Add(fmt.Append([]byte(rangeMagic), "12345678"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if decoded, err := DecodeRange(data); err == nil && !bytes.Equal(decoded.Encode(), data) {
			t.Fatal("decoding and encoding changes the range")
		}
	})
}
