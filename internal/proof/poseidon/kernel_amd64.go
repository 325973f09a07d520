//go:build !purego

package poseidon

import "golang.org/x/sys/cpu"

// permuteAVX512 permutes all states of b.
//
//go:noescape
func permuteAVX512(b *block)

// permuteAVX2 permutes all states of b.
//
//go:noescape
func permuteAVX2(b *block)

// vectorKernels are those that the CPU has and whose registers the operating system saves, fastest first.
func vectorKernels() (k []Kernel) {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA {
		k = append(k, AVX512)
	}
	if cpu.X86.HasAVX2 {
		k = append(k, AVX2)
	}
	return k
}

// permuteLanes permutes the first n states of b, and may change the others. A vector kernel takes as long for few
// states as for all: the scalar one is sooner done with one state, and than AVX2 with two.
func permuteLanes(b *block, n int) {
	switch {
	case active == AVX512 && n > 1:
		permuteAVX512(b)
	case active == AVX2 && n > 2:
		permuteAVX2(b)
	default:
		permuteScalars(b, n)
	}
}
