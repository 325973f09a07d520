package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
)

// The committed files equal the generator's output.
func TestFilesAreCurrent(t *testing.T) {
	for name, want := range files() {
		got, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s differs from what the generator makes: run go generate", name)
		}
	}
}

// The Grain LFSR produces the constants that the protocol names.
func TestGrain(t *testing.T) {
	var all []byte
	constants := grain()
	for _, round := range constants {
		for _, c := range round {
			all = binary.LittleEndian.AppendUint32(all, uint32(c))
		}
	}
	sum := sha256.Sum256(all)
	if got, want := hex.EncodeToString(sum[:]),
		"74ed29164a30d2f1f9554b614c43ba7c339b9db5f5cdd3bda9cece52509bceb7"; got != want {
		t.Errorf("SHA-256 of the constants is %s, want %s", got, want)
	}
	for i, want := range map[int]uint64{0: 0x7ee56a48, 64: 0x54dfeb5d, 65: 0x7d40afd6, 447: 0x07e2d7ef} {
		if got := constants[i/width][i%width]; got != want {
			t.Errorf("constant %d is %#08x, want %#08x", i, got, want)
		}
	}
}

// M has the 16 eigenvectors v_i = w^(−ki), each with 1 in lane 0, for distinct eigenvalues that are not 0, even when
// raised to any power up to 1000. Three things follow about differences that pass the partial rounds linearly
// (Grassi et al., eprint 2020/500):
//   - lane 0 after m rounds is Σ a_k·λ_k^m for a difference Σ a_k·v_k: by Vandermonde's determinant no difference
//     keeps it 0 for 16 rounds;
//   - a subspace that M^l takes to itself, l ≤ 1000, is spanned by eigenvectors of M, hence not without lane 0;
//   - the unit vector of lane 0 is the sum of all eigenvectors over 16: such a subspace with it is the whole space.
//
// So no subspace trail repeats within 1000 rounds, whether s-boxes are active in it or not.
func TestEigenvalues(t *testing.T) {
	pm := derive()
	for k := range width {
		var v vector
		for i := range v {
			v[i] = inv(pow(omega, uint64(k*i)))
		}
		if got, want := mds(v), v.times(pm.lambda[reverse4(k)]); got != want {
			t.Errorf("eigenvector %d: M·v = %v, want %v", k, got, want)
		}
	}
	for power := uint64(1); power <= 1000; power++ {
		seen := map[uint64]bool{0: true}
		for k, lambda := range pm.lambda {
			raised := pow(lambda, power)
			if seen[raised] {
				t.Errorf("eigenvalue %d to the power %d occurs twice or is 0", k, power)
			}
			seen[raised] = true
		}
	}
}

// The bounds claimed in the kernels' comments, computed from the matrix: random inputs do not come near them.
func TestBounds(t *testing.T) {
	var sums, differences int64 // sizes of the coefficients of the convolutions on 32-bit lanes
	for i := range width / 2 {
		sums += mdsColumn[i] + mdsColumn[i+8]
		differences += max(mdsColumn[i]-mdsColumn[i+8], mdsColumn[i+8]-mdsColumn[i])
	}
	below := func(what string, got, limit float64) {
		if got >= limit {
			t.Errorf("%s reaches %g, not below %g", what, got, limit)
		}
	}
	// reduction by 2^32: the amount that it adds to the product's share, and the product of sizes a and x
	product := func(a, x, most float64) float64 { return a*x/(1<<32) + most }

	below("scalar: matrix", 16*float64(sums)*(1<<32)+p, 1<<45)
	reduced := 127*(1<<24) + 1<<21 + 0.0 // reduce24 of that
	below("scalar: reduced", reduced, 1<<31)
	square := product(reduced, reduced, p)
	below("scalar: square times number, before its reduction", square*reduced, 1<<63)
	below("scalar: cube", product(square, reduced, p), 1<<32)

	matrix := 16*float64(sums)*2*p + p
	square = matrix*matrix/(1<<52) + p
	below("AVX-512: square", square, 1<<52)
	below("AVX-512: cube", square*matrix/(1<<52)+p, 2*p)
	below("AVX-512: s-box difference", (p+127*(1<<24))*float64(1<<20)+2*p+2*p, 1<<52)

	signedCube := func(x float64) float64 { return product(product(x, x, p/2.), x, p/2.) }
	below("32-bit lanes: first square", product(p, p, p/2.), p)
	below("32-bit lanes: first cube", signedCube(p), p)
	folded := inverse16*float64(1<<15) + p/float64(1<<16) + 1
	below("32-bit lanes: sum of two, to be split", 2*folded+1<<15, 1<<31)
	high := 2*folded/(1<<16) + 1
	result := inverse16*float64(1<<15) + float64(sums+differences)*(high+0.5) + 2 + inverse16
	below("32-bit lanes: low accumulator", float64(sums+differences)*(1<<15)+1<<17, 1<<31)
	below("32-bit lanes: matrix", result, 1.02*(1<<30))
	below("32-bit lanes: cube", signedCube(result)+1<<15, 1<<31)
}

func TestField(t *testing.T) {
	for _, a := range []uint64{0, 1, 2, 3, p - 1, p / 2, 0x12345678} {
		if got := pow(cubeRoot(a), 3); got != a {
			t.Errorf("cubeRoot(%d)³ = %d", a, got)
		}
		if got := mul(a, inv(a)); a != 0 && got != 1 {
			t.Errorf("%d·inv = %d", a, got)
		}
	}
	for _, bits := range []int{32, 52} {
		if got := inverseMod2(bits) * p & (1<<bits - 1); got != 1 {
			t.Errorf("p·p^−1 mod 2^%d = %d, want 1", bits, got)
		}
	}
	if pow(omega, width/2) != p-1 {
		t.Error("omega is not a primitive 16th root of unity")
	}
}
