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

// The committed files are what the generator makes.
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

// The Grain LFSR gives the constants that the protocol names.
func TestGrain(t *testing.T) {
	var all []byte
	constants := grain()
	for _, round := range constants {
		for _, c := range round {
			all = binary.LittleEndian.AppendUint32(all, uint32(c))
		}
	}
	sum := sha256.Sum256(all)
	if got, want := hex.EncodeToString(sum[:]), "74ed29164a30d2f1f9554b614c43ba7c339b9db5f5cdd3bda9cece52509bceb7"; got != want {
		t.Errorf("SHA-256 of the constants is %s, want %s", got, want)
	}
	for i, want := range map[int]uint64{0: 0x7ee56a48, 64: 0x54dfeb5d, 65: 0x7d40afd6, 447: 0x07e2d7ef} {
		if got := constants[i/width][i%width]; got != want {
			t.Errorf("constant %d is %#08x, want %#08x", i, got, want)
		}
	}
}

// The eigenvectors of M are the powers of roots of unity: M·v = λ·v for v_i = w^(−ki). All eigenvalues are distinct
// and none is 0; as each vector has 1 in lane 0, no M-invariant subspace lies where lane 0 is 0, so that no
// difference passes by the s-boxes of the partial rounds forever.
func TestEigenvalues(t *testing.T) {
	pm := derive()
	seen := map[uint64]bool{0: true}
	for k := range width {
		lambda := pm.lambda[reverse4(k)]
		var v vector
		for i := range v {
			v[i] = inv(pow(omega, uint64(k*i)))
		}
		if got, want := mds(v), v.times(lambda); got != want {
			t.Errorf("eigenvector %d: M·v = %v, want %v", k, got, want)
		}
		if seen[lambda] {
			t.Errorf("eigenvalue %d occurs twice or is 0", lambda)
		}
		seen[lambda] = true
	}
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
			t.Errorf("p·p^−1 mod 2^%d = %d", bits, got)
		}
	}
	if pow(omega, width/2) != p-1 {
		t.Error("omega is not a primitive 16th root of unity")
	}
}
