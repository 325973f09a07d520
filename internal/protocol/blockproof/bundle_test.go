package blockproof

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/cairn-chain/cairn/codec"
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
	"github.com/cairn-chain/cairn/internal/proof/stark"
	"github.com/cairn-chain/cairn/internal/proof/transcript"
	"github.com/cairn-chain/cairn/internal/protocol/params"
	"github.com/cairn-chain/cairn/types"
)

// producer signs the headers of tests.
func producer(tb testing.TB) crypto.PrivateKey {
	tb.Helper()
	k, err := crypto.NewPrivateKey([32]byte{31: 9})
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

func sign(tb testing.TB, h types.Header) types.SignedHeader {
	tb.Helper()
	k := producer(tb)
	h.Producer = k.PublicKey()
	hash := h.Hash()
	signature, err := k.Sign(hash[:], [32]byte{})
	if err != nil {
		tb.Fatal(err)
	}
	return types.SignedHeader{Header: h, Seal: types.Seal{Signature: signature}}
}

// newBundle is a block's bundle, at the given height.
func newBundle(tb testing.TB, height types.Height) Bundle {
	tb.Helper()
	s := newState()
	s.apply(tb, map[string][]byte{key(1): {1}, key(2): {2}, key(3): {3}})
	statement, accesses, w := s.apply(tb, map[string][]byte{key(1): {9}, key(2): {2}, key(3): nil, key(4): {4}})
	parent := types.SignedHeader{Header: types.Header{
		ChainID: 7, Height: height - 1, StateRoot: statement.PreRoot, Producer: producer(tb).PublicKey(),
	}}
	if height > 1 {
		parent = sign(tb, parent.Header)
	}
	header := sign(tb, types.Header{
		ChainID: 7, Height: height, Parent: parent.Header.Hash(), StateRoot: statement.PostRoot,
	})
	statement, err := NewStatement(&parent.Header, &header.Header, accesses)
	if err != nil {
		tb.Fatal(err)
	}
	segments, err := collect(Trace(statement, accesses, w, goroutines))
	if err != nil {
		tb.Fatal(err)
	}
	return Bundle{parent, header, accesses, prove(tb, segments)}
}

func TestBundle(t *testing.T) {
	for _, height := range []types.Height{1, 5} {
		b := newBundle(t, height)
		decoded, err := DecodeBundle(b.Encode())
		if err != nil || !reflect.DeepEqual(decoded, b) {
			t.Fatalf("height %d: decoding gives another bundle, error %v", height, err)
		}
		if bits, err := decoded.Verify(100, InOrder); err != nil || bits != 100 {
			t.Fatalf("height %d: %d bits, error %v", height, bits, err)
		}
		for name, change := range map[string]func(b *Bundle){
			"height": func(b *Bundle) { b.Header.Header.Height++; b.Header = sign(t, b.Header.Header) },
			"chain":  func(b *Bundle) { b.Header.Header.ChainID++; b.Header = sign(t, b.Header.Header) },
			"root": func(b *Bundle) {
				b.Header.Header.StateRoot[31] ^= 1
				b.Header = sign(t, b.Header.Header)
			},
			"another value written": func(b *Bundle) {
				b.Accesses = slices.Clone(b.Accesses)
				i := slices.IndexFunc(b.Accesses, types.Access.Changed)
				b.Accesses[i].New = append([]byte{7}, b.Accesses[i].New...)
			},
			"a read that is written": func(b *Bundle) {
				b.Accesses = slices.Clone(b.Accesses)
				i := slices.IndexFunc(b.Accesses, func(a types.Access) bool { return !a.Changed() })
				b.Accesses[i].New = append([]byte{7}, b.Accesses[i].New...)
			},
			"timestamp":     func(b *Bundle) { b.Header.Header.Timestamp++; b.Header = sign(t, b.Header.Header) },
			"parent":        func(b *Bundle) { b.Parent = sign(t, types.Header{Height: height - 1, ChainID: 7}) },
			"header's seal": func(b *Bundle) { b.Header.Seal.Signature[7] ^= 1 },
			"parent's seal": func(b *Bundle) { b.Parent.Seal.Signature[7] ^= 1 },
			"a read less":   func(b *Bundle) { b.Accesses = append(b.Accesses[:1:1], b.Accesses[2:]...) },
			"a write less":  func(b *Bundle) { b.Accesses = b.Accesses[1:] },
			"an empty seal": func(b *Bundle) { b.Header.Seal = types.Seal{} },
		} {
			changed := b
			change(&changed)
			if _, err := changed.Verify(100, InOrder); !errors.Is(err, ErrStatement) && !errors.Is(err, ErrProof) {
				t.Errorf("height %d, %s: error %v", height, name, err)
			}
		}
		unsigned := b
		unsigned.Parent.Seal = types.Seal{} // as genesis has it, and no other block
		if _, err := unsigned.Verify(100, InOrder); errors.Is(err, ErrStatement) != (height > 1) {
			t.Errorf("height %d, a parent that nobody signed: error %v", height, err)
		}
	}
}

// TestStatementIsOfTheBlocksParent has headers that do not follow each other, with a root at which a proof could begin:
// an attacker who invents a parent chooses the root before the block.
func TestStatementIsOfTheBlocksParent(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	accesses := []types.Access{{Key: []byte{1}, Old: []byte{2}, New: []byte{3}}}
	for name, test := range map[string]struct {
		before func(parent *types.Header) // it is linked to
		after  func(parent *types.Header) // changes the header so that it no longer follows its parent
		want   error
	}{
		"the parent":             {},
		"another header":         {after: func(h *types.Header) { h.Timestamp++ }, want: ErrStatement},
		"another root":           {after: func(h *types.Header) { h.StateRoot[31] ^= 1 }, want: ErrStatement},
		"one of another chain":   {before: func(h *types.Header) { h.ChainID++ }, want: ErrStatement},
		"one of the same height": {before: func(h *types.Header) { h.Height++ }, want: ErrStatement},
	} {
		parent := types.Header{Height: 4, ChainID: 7, StateRoot: types.StateRoot{5}}
		if test.before != nil {
			test.before(&parent)
		}
		header := types.Header{Height: 5, ChainID: 7, Parent: parent.Hash()}
		if test.after != nil {
			test.after(&parent)
		}
		if _, err := NewStatement(&parent, &header, accesses); !errors.Is(err, test.want) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
}

// TestBundleBytes changes every byte outside the proof, whose own bytes other tests change.
func TestBundleBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newBundle(t, 2)
	encoded := b.Encode()
	for i := range len(encoded) - len(b.Proof) {
		changed := bytes.Clone(encoded)
		changed[i] ^= 1 << (i % 8)
		if decoded, err := DecodeBundle(changed); err == nil {
			if _, err := decoded.Verify(100, InOrder); err == nil {
				t.Errorf("byte %d changed: accepted", i)
			}
		}
	}
	for i := 0; i < len(encoded); i += 499 {
		if _, err := DecodeBundle(encoded[:i]); err == nil {
			t.Errorf("cut at %d: decoded", i)
		}
	}
	if _, err := DecodeBundle(append(encoded, 0)); err == nil {
		t.Error("a byte more: decoded")
	}
}

func FuzzDecodeBundle(f *testing.F) {
	accesses := []types.Access{{Key: []byte{1}, Old: []byte{2}}, {Key: []byte{3}, New: []byte{4, 5}}}
	parent := sign(f, types.Header{Height: 1})
	header := types.Header{Height: 2, Parent: parent.Header.Hash()}
	b := Bundle{parent, sign(f, header), accesses, make([]byte, 50)}
	f.Add(b.Encode())
	f.Add(make([]byte, 2*types.SignedHeaderBytes+16))
	f.Fuzz(func(t *testing.T, data []byte) {
		decoded, err := DecodeBundle(data)
		if err != nil {
			return
		}
		if !bytes.Equal(decoded.Encode(), data) {
			t.Fatal("decoding and encoding changes the bundle")
		}
	})
}

// invented returns a bundle of a block that used the given gas, with n entries that were never accessed and a proof of
// the given size.
func invented(tb testing.TB, gas types.Gas, n, proof int) (encoded []byte, parent, header types.SignedHeader) {
	tb.Helper()
	accesses := make([]types.Access, n)
	for i := range accesses {
		accesses[i].Key = binary.BigEndian.AppendUint64(nil, uint64(i))
	}
	parent = sign(tb, types.Header{ChainID: 7, Height: 4})
	header = sign(tb, types.Header{
		ChainID: 7, Height: 5, Parent: parent.Header.Hash(), GasUsed: gas,
	})
	b := Bundle{parent, header, accesses, make([]byte, proof)}
	return b.Encode(), parent, header
}

// A list that the block's gas cannot have paid for is refused before it is read, whatever gas the bundle claims.
func TestListIsBoundedByGas(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const gas = 21_000
	for _, test := range []struct {
		name    string
		claimed types.Gas
		entries int
		refused bool
	}{
		{"as many as can be", gas, params.MostAccesses(gas), false},
		{"one more", gas, params.MostAccesses(gas) + 1, true},
		{"many more", gas, 2_000_000, true},
		{"another header's gas", 1_000_000_000, params.MostAccesses(gas) + 1, true},
	} {
		encoded, parent, header := invented(t, test.claimed, test.entries, 0)
		header.Header.GasUsed = gas
		var err error
		bytes := testing.AllocsPerRun(1, func() { _, err = DecodeBundleOf(encoded, parent, header) })
		if refused := errors.Is(err, codec.ErrTooLong); refused != test.refused || !refused && err != nil {
			t.Errorf("%s: error %v", test.name, err)
		}
		if test.refused && bytes > 100 {
			t.Errorf("%s: refused with %v allocations", test.name, bytes)
		}
	}
	b := Bundle{
		Header:   types.SignedHeader{Header: types.Header{GasUsed: gas}},
		Accesses: []types.Access{{Key: []byte("k"), Old: make([]byte, params.MostListBytes(gas))}},
	}
	if _, err := DecodeBundle(b.Encode()); !errors.Is(err, codec.ErrTooLong) {
		t.Errorf("a long value: error %v, want %v", err, codec.ErrTooLong)
	}
}

// A false proof of these accesses, or a weak one, is refused before a path is hashed.
func TestNoProofIsRefusedBeforeTheListIsHashed(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	good := newBundle(t, 5)
	segments, err := decodeProof(good.Proof)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		bits   int
		change func(s []Proven)
		want   error
	}{
		"weak":            {128, func([]Proven) {}, ErrWeak},
		"unknown level":   {100, func(s []Proven) { s[0].argument[1] = 7 }, stark.ErrHeader},
		"short":           {100, func(s []Proven) { s[0].argument = s[0].argument[:1000] }, transcript.ErrShort},
		"another list":    {100, func(s []Proven) { s[0].levels = s[0].levels[1:] }, ErrProof},
		"no bits at all":  {1_000, func([]Proven) {}, ErrWeak},
		"nothing changed": {100, func([]Proven) {}, nil},
	} {
		b := good
		changed := slices.Clone(segments)
		for i := range changed {
			changed[i].argument = bytes.Clone(changed[i].argument)
		}
		test.change(changed)
		b.Proof = EncodeProof(changed)
		hashed := 0
		_, err := b.Verify(test.bits, func(n int, f func(int)) { hashed += n; InOrder(n, f) })
		if test.want == nil {
			if err != nil || hashed == 0 {
				t.Errorf("%s: %v, %d pieces hashed", name, err, hashed)
			}
		} else if !errors.Is(err, test.want) || !errors.Is(err, ErrProof) || hashed != 0 {
			t.Errorf("%s: %v, %d pieces hashed", name, err, hashed)
		}
	}
}

// A segment is refused while it is read if it has more leaves than its entries can lead to, more positions than its
// table has, or an argument longer than the remaining input.
func TestSegmentsAreBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	segment := func(entries, others, argument int) Proven {
		s := Proven{part{bytes.Repeat([]byte{9}, entries), make([]other, others), []uint32{1}, poseidon.Digest{}},
			make([]byte, argument)}
		for i := range s.others {
			s.others[i] = other{level: 9, path: poseidon.Digest{uint32(i)}}
		}
		return s
	}
	const most = 1<<maxLogRows + 1
	for _, test := range []struct {
		name                      string
		entries, others, argument int
		refused                   bool
	}{
		{"two leaves an entry", 3, 6, 1, false},
		{"a leaf more", 3, 7, 1, true},
		{"as many positions as there are", most - 70_000, 70_000, 1, false},
		{"a position more", most - 70_000, 70_001, 1, true},
		{"the longest argument", 1, 0, maxArgument, false},
		{"a longer one", 1, 0, maxArgument + 1, true},
	} {
		proof := EncodeProof([]Proven{segment(test.entries, test.others, test.argument)})
		if _, err := decodeProof(proof); test.refused != errors.Is(err, codec.ErrTooLong) || !test.refused && err != nil {
			t.Errorf("%s: error %v", test.name, err)
		}
	}
}

// However the positions are distributed, the number in the segments that are checked at once is bounded.
func TestPositionsCheckedAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	segments := func(entries ...int) (s []Proven) {
		for _, n := range entries {
			s = append(s, Proven{part: part{levels: make([]uint8, n)}})
		}
		return s
	}
	for want, s := range map[int][]Proven{
		1: segments(positionsAtOnce+1, 1),
		2: segments(positionsAtOnce-1, 1, 1),
		3: segments(1, 1, 1),
		8: segments(1, 1, 1, 1, 1, 1, 1, 1, 1),
	} {
		if got := checkedAtOnce(s); got != want {
			t.Errorf("%d segments at once, want %d", got, want)
		}
	}
}

// Until a list is refused, it takes some hundred bytes per entry, however long its values are: the header's digest and
// the paths copy nothing.
func TestRefusingTakesBoundedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	const entries, value = 5_000, 2_000
	accesses := make([]types.Access, entries)
	values := make([]byte, value+entries)
	for i := range accesses {
		accesses[i] = types.Access{Key: binary.BigEndian.AppendUint32(nil, uint32(i)), Old: values[i : i+value]}
	}
	header := sign(t, types.Header{ChainID: 7, Height: 1})
	parent := types.SignedHeader{Header: types.Header{ChainID: 7}}
	header.Header.Parent = parent.Header.Hash()
	header = sign(t, header.Header)
	argument := make([]byte, maxArgument)
	copy(argument, stark.Header{Level: 2, LogRows: maxLogRows}.Append(nil))
	b := Bundle{parent, header, accesses, EncodeProof([]Proven{{
		part{bytes.Repeat([]byte{9}, entries), nil, []uint32{1}, poseidon.Digest{}}, argument,
	}})}
	var err error
	took := testing.Benchmark(func(tb *testing.B) {
		for range tb.N {
			_, err = b.Verify(128, InOrder)
		}
	}).AllocedBytesPerOp()
	if !errors.Is(err, ErrProof) || took > entries*value*3/4 {
		t.Errorf("refused with %v, for %d bytes of memory", err, took)
	}
	t.Logf("%d bytes", took)
}

func TestProofInIsTheBundles(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	b := newBundle(t, 5)
	encoded := b.Encode()
	got, err := ProofIn(encoded)
	if err != nil || !bytes.Equal(got, b.Proof) {
		t.Fatalf("%d bytes, error %v", len(got), err)
	}
	for at := range len(encoded) - len(b.Proof) {
		if _, err := ProofIn(encoded[:at]); err == nil {
			t.Fatalf("cut at %d: no error", at)
		}
	}
	if _, err := ProofIn(append(encoded, 0)); err == nil {
		t.Error("longer: no error")
	}
}
