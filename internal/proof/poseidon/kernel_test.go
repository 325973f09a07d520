package poseidon

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// withKernels runs f under each kernel that this machine has.
func withKernels(t *testing.T, f func(t *testing.T)) {
	before := Active()
	for _, k := range Available() {
		t.Run(string(k), func(t *testing.T) {
			if err := Use(k); err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := Use(before); err != nil {
					t.Fatal(err)
				}
			}()
			f(t)
		})
	}
}

// element draws 0, P − 1, something near them, near P/2, a power of two or one less, or anything.
func element(r *rand.Rand) uint32 {
	switch r.Uint32N(8) {
	case 0:
		return 0
	case 1:
		return P - 1
	case 2:
		return r.Uint32N(4)
	case 3:
		return P - 1 - r.Uint32N(4)
	case 4:
		return P/2 - 2 + r.Uint32N(4)
	case 5:
		return (1<<r.Uint32N(31) - r.Uint32N(2)) % P
	}
	return r.Uint32N(P)
}

func TestPermuteVector(t *testing.T) {
	want := [width]uint32{
		610090613, 935319874, 1893335292, 796792199, 356405232, 552237741, 55134556, 1215104204,
		1823723405, 1133298033, 1780633798, 1453946561, 710069176, 1128629550, 1917333254, 1175481618,
	}
	var s [width]uint32
	for i := range s {
		s[i] = uint32(i)
	}
	if got := referencePermute(s); got != want {
		t.Errorf("reference: %v, want %v", got, want)
	}
	Permute(&s)
	if s != want {
		t.Errorf("Permute: %v, want %v", s, want)
	}
}

// Every kernel must equal the reference in every lane: for states of one edge value only, for states of zeros except in
// one lane, and for mixtures.
func TestKernelsEqualReference(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var states [][width]uint32
	for _, v := range []uint32{0, 1, 2, P - 1, P - 2, P / 2, P/2 + 1, 1 << 24, 1<<24 - 1, 1 << 30, 1<<16 - 1, 1 << 15} {
		var all [width]uint32
		for i := range all {
			all[i] = v
			var one [width]uint32
			one[i] = v
			states = append(states, one)
		}
		states = append(states, all)
	}
	for len(states)%lanes != 0 || len(states) < 1000 {
		var s [width]uint32
		for i := range s {
			s[i] = element(r)
		}
		states = append(states, s)
	}
	want := make([][width]uint32, len(states))
	for i := range states {
		want[i] = referencePermute(states[i])
	}
	withKernels(t, func(t *testing.T) {
		for first := 0; first < len(states); first += lanes {
			b := block(states[first : first+lanes])
			permuteLanes(&b, lanes)
			for i := range b {
				if b[i] != want[first+i] {
					t.Fatalf("state %v in lane %d: %v, want %v", states[first+i], i, b[i], want[first+i])
				}
			}
		}
	})
}

// The kernels must equal the scalar one for far more states than the reference could compute in time.
func TestKernelsEqualScalar(t *testing.T) {
	if testing.Short() {
		t.Skip("slow under the race detector, and has only one goroutine")
	}
	withKernels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for range 3000 {
			var b block
			for i := range b {
				for j := range b[i] {
					b[i][j] = element(r)
				}
			}
			want := b
			permuteScalars(want[:])
			got := b
			permuteLanes(&got, lanes)
			if got != want {
				t.Fatalf("states %v: %v, want %v", b, got, want)
			}
		}
	})
}

func TestUse(t *testing.T) {
	before := Active()
	for _, k := range Available() {
		if err := Use(k); err != nil {
			t.Errorf("Use(%q): error %v", k, err)
		}
		if Active() != k {
			t.Errorf("after Use(%q) the kernel is %q", k, Active())
		}
	}
	if err := Use(before); err != nil {
		t.Fatal(err)
	}
	if err := Use("sse9"); err == nil {
		t.Error("an unknown kernel was accepted")
	}
	if Active() != before {
		t.Errorf("a refused kernel changed the one in use from %q to %q", before, Active())
	}
}

// benchmarkKernels runs f, which makes n hashes, under each kernel.
func benchmarkKernels(b *testing.B, name string, n int, f func()) {
	before := Active()
	for _, k := range Available() {
		b.Run(fmt.Sprintf("%s/%s", k, name), func(b *testing.B) {
			if err := Use(k); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				f()
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mhash/s")
		})
	}
	if err := Use(before); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkNodes(b *testing.B) {
	for _, n := range []int{1, 2, 3, 16, 32, 1024} {
		dst, src := make([]Digest, n), make([][2]Digest, n)
		benchmarkKernels(b, fmt.Sprint(n), n, func() { Nodes(dst, src) })
	}
}

func BenchmarkLeaves(b *testing.B) {
	dst, src := make([]Digest, 1024), make([][2]Digest, 1024)
	benchmarkKernels(b, "1024", len(dst), func() { Leaves(dst, src) })
}

func BenchmarkHashMany(b *testing.B) {
	for _, size := range []int{16, 33, 16384} { // an account's value, its key, and the longest value
		dst, msgs := make([]Digest, 64), make([][]byte, 64)
		for i := range msgs {
			msgs[i] = make([]byte, size)
		}
		benchmarkKernels(b, fmt.Sprintf("%d bytes", size), len(dst), func() { HashMany(TagValue, dst, msgs) })
	}
}
