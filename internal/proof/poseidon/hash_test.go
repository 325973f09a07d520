package poseidon

import (
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
)

func unhex(t *testing.T, s string) (b [32]byte) {
	t.Helper()
	if n, err := hex.Decode(b[:], []byte(s)); err != nil || n != len(b) {
		t.Fatalf("%q: %d bytes, error %v", s, n, err)
	}
	return b
}

func digest(r *rand.Rand) (d Digest) {
	for i := range d {
		d[i] = element(r)
	}
	return d
}

func TestSelfTest(t *testing.T) {
	withKernels(t, func(t *testing.T) {
		if err := SelfTest(); err != nil {
			t.Error(err)
		}
	})
}

func TestHashVectors(t *testing.T) {
	var all [256]byte
	for i := range all {
		all[i] = byte(i)
	}
	account := func(i byte) []byte {
		key := []byte{33: 0}[:33]
		key[0] = 1
		for j := 1; j < len(key); j++ {
			key[j] = i
		}
		return key
	}
	for _, c := range []struct {
		name string
		tag  uint32
		msg  []byte
		want string
	}{
		{"empty value", TagValue, nil, "106e155643318e2f0dd4149d7ef724d6692030fc33c7dff366d1699c6840d31f"},
		{"value of one zero byte", TagValue, []byte{0}, "2d00010809310b476a98e8076faa90a91feb065041e49b424b3c8ba7715762b5"},
		{"value of 256 bytes", TagValue, all[:], "3894b9ca7cde9129017146a040cc52fd453643f80a5b6c03456164205f55f2ca"},
		{"path of an account", TagPath, account(0x11), "0843b49b52a7d2dd3944c4595513f99223c57e937cbc9fe46f8ff2973b7a202c"},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, c.want)
			if got := Hash(c.tag, c.msg).Bytes(); got != want {
				t.Errorf("Hash: %x, want %x", got, want)
			}
			if got := referenceHash(c.tag, c.msg).Bytes(); got != want {
				t.Errorf("reference: %x, want %x", got, want)
			}
		})
	}
}

// For any number of pairs, and so any use of the lanes, the results equal the reference's.
func TestNodesAndLeavesEqualReference(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	src := make([][2]Digest, 2*lanes+3)
	nodes, leaves := make([]Digest, len(src)), make([]Digest, len(src))
	for i := range src {
		src[i] = [2]Digest{digest(r), digest(r)}
		nodes[i] = referenceNode(src[i][0], src[i][1])
		leaves[i] = referenceLeaf(src[i][0], src[i][1])
	}
	withKernels(t, func(t *testing.T) {
		for n := range len(src) + 1 {
			for _, c := range []struct {
				name string
				hash func([]Digest, [][2]Digest)
				want []Digest
			}{{"Nodes", Nodes, nodes}, {"Leaves", Leaves, leaves}} {
				got := make([]Digest, n)
				c.hash(got, src[:n])
				for i := range got {
					if got[i] != c.want[i] {
						t.Fatalf("%s of %d: number %d is %v, want %v", c.name, n, i, got[i], c.want[i])
					}
				}
			}
		}
	})
}

// A leaf is the sponge over its 16 elements and a node is not, so the same pair gives different digests.
func TestLeafIsNoNode(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	src := [][2]Digest{{digest(r), digest(r)}, {}}
	nodes, leaves := make([]Digest, 2), make([]Digest, 2)
	Nodes(nodes, src)
	Leaves(leaves, src)
	for i := range src {
		if nodes[i] == leaves[i] {
			t.Errorf("node and leaf of %v are equal", src[i])
		}
	}
}

func TestHashManyEqualsReference(t *testing.T) {
	var random [32]byte
	r := rand.NewChaCha8(random)
	message := func(n int) []byte {
		b := make([]byte, n)
		if _, err := r.Read(b); err != nil {
			t.Fatal(err)
		}
		return b
	}
	var msgs [][]byte
	for n := range 71 {
		msgs = append(msgs, message(n))
	}
	msgs = append(msgs, message(16384), message(255), message(256), nil, message(16384), make([]byte, 16384), message(1))
	for i := range msgs[len(msgs)-2] {
		msgs[len(msgs)-2][i] = 0xff
	}
	want := make([]Digest, len(msgs))
	for i, m := range msgs {
		want[i] = referenceHash(TagValue, m)
		if got := Hash(TagValue, m); got != want[i] {
			t.Errorf("Hash of %d bytes: %v, want %v", len(m), got, want[i])
		}
	}
	withKernels(t, func(t *testing.T) {
		shuffle := rand.New(rand.NewPCG(9, 10))
		for round := range 4 {
			order := shuffle.Perm(len(msgs))
			shuffled := make([][]byte, len(msgs))
			for i, j := range order {
				shuffled[i] = msgs[j]
			}
			got := make([]Digest, len(msgs))
			HashMany(TagValue, got, shuffled)
			for i, j := range order {
				if got[i] != want[j] {
					t.Fatalf("round %d: message %d of %d bytes: %v, want %v", round, i, len(msgs[j]), got[i], want[j])
				}
			}
		}
		for n := range lanes + 2 { // numbers of messages around a full set of lanes
			got := make([]Digest, n)
			HashMany(TagValue, got, msgs[:n])
			for i := range got {
				if got[i] != want[i] {
					t.Fatalf("%d messages: number %d is %v, want %v", n, i, got[i], want[i])
				}
			}
		}
	})
}

func TestHashesDoNotAllocate(t *testing.T) {
	const n = 3*lanes + 1
	dst, src, msgs := make([]Digest, n), make([][2]Digest, n), make([][]byte, n)
	for i := range msgs {
		msgs[i] = make([]byte, 3*i)
	}
	withKernels(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Nodes":    func() { Nodes(dst, src) },
			"Leaves":   func() { Leaves(dst, src) },
			"HashMany": func() { HashMany(TagPath, dst, msgs) },
			"Hash":     func() { dst[0] = Hash(TagPath, msgs[n-1]) },
		} {
			if a := testing.AllocsPerRun(10, f); a != 0 {
				t.Errorf("%s allocates %v times, want 0", name, a)
			}
		}
	})
}

// Goroutines share no state: results are the same when many hash at once, each on a fresh, small stack.
func TestConcurrentUse(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	src := make([][2]Digest, 2*lanes)
	want := make([]Digest, len(src))
	for i := range src {
		src[i] = [2]Digest{digest(r), digest(r)}
		want[i] = referenceLeaf(src[i][0], src[i][1])
	}
	withKernels(t, func(t *testing.T) {
		results := make([][]Digest, 16)
		var all sync.WaitGroup
		for i := range results {
			results[i] = make([]Digest, len(src))
			all.Go(func() { Leaves(results[i], src) })
		}
		all.Wait()
		for i, got := range results {
			if !slices.Equal(got, want) {
				t.Errorf("goroutine %d: %v, want %v", i, got, want)
			}
		}
	})
}

func FuzzHashMany(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add([]byte("a message of more than one block of twenty-four bytes"), uint16(9))
	f.Fuzz(func(t *testing.T, data []byte, cut uint16) {
		i := min(int(cut), len(data))
		msgs := [][]byte{data[:i], data, data[i:]}
		got := make([]Digest, len(msgs))
		HashMany(TagPath, got, msgs)
		for i, m := range msgs {
			if want := referenceHash(TagPath, m); got[i] != want {
				t.Errorf("%x: %v, want %v", m, got[i], want)
			}
		}
	})
}

func FuzzParseDigest(f *testing.F) {
	f.Add(make([]byte, 32))
	f.Add([]byte{31: 1})
	f.Add([]byte{0x7f, 0, 0, 0, 31: 0}) // P − 1
	f.Add([]byte{0x7f, 0, 0, 1, 31: 0}) // P
	f.Add([]byte{28: 0x7f, 31: 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var b [32]byte
		copy(b[:], data)
		d, err := ParseDigest(b)
		canonical := true
		for i := 0; i < len(b); i += 4 {
			canonical = canonical && uint32(b[i])<<24|uint32(b[i+1])<<16|uint32(b[i+2])<<8|uint32(b[i+3]) < P
		}
		if canonical != (err == nil) || err != nil && !errors.Is(err, ErrNotCanonical) {
			t.Fatalf("%x: canonical %v, error %v", b, canonical, err)
		}
		if err == nil && d.Bytes() != b {
			t.Errorf("%x decodes to %v and encodes to %x", b, d, d.Bytes())
		}
	})
}

func TestParseDigest(t *testing.T) {
	good := unhex(t, "00000001000000020000000300000004000000050000000600000007"+"7f000000")
	d, err := ParseDigest(good)
	if err != nil || d != (Digest{1, 2, 3, 4, 5, 6, 7, P - 1}) {
		t.Errorf("ParseDigest: got %v, error %v", d, err)
	}
	for i := range d {
		for _, v := range []uint32{P, P + 1, 1<<32 - 1} {
			bad := d
			bad[i] = v
			if got, err := ParseDigest(bad.Bytes()); !errors.Is(err, ErrNotCanonical) || got != (Digest{}) {
				t.Errorf("element %d = %d: %v, %v", i, v, got, err)
			}
		}
	}
	if d.IsZero() || !(Digest{}).IsZero() {
		t.Error("IsZero")
	}
}
