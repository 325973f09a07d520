//go:build !purego

package poseidon

import "golang.org/x/sys/cpu"

// permuteAVX512 permutes all states of b.
//
//go:noescape
func permuteAVX512(b *half)

// permuteAVX512BW permutes all states of b. It takes longer than permuteAVX2 for a half.
//
//go:noescape
func permuteAVX512BW(b *block)

// permuteAVX2 permutes all states of b.
//
//go:noescape
func permuteAVX2(b *half)

// vectorKernels returns the kernels that the CPU supports and whose registers the operating system saves, fastest
// first.
func vectorKernels() (k []Kernel) {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512IFMA {
		k = append(k, AVX512)
	}
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX2 {
		k = append(k, AVX512BW)
	}
	if cpu.X86.HasAVX2 {
		k = append(k, AVX2)
	}
	return k
}

// permuteLanes permutes the first n states of b, and may change the others. A vector kernel takes as long for few
// states as for all: the scalar kernel is faster for one state, and also for two when compared with AVX2.
func permuteLanes(b *block, n int) {
	if active == AVX512BW && n > len(half{}) {
		permuteAVX512BW(b)
		return
	}
	for first := 0; first < n; first += len(half{}) {
		states := (*half)(b[first:])
		switch count := min(n-first, len(half{})); {
		case active == AVX512 && count > 1:
			permuteAVX512(states)
		case (active == AVX2 || active == AVX512BW) && count > 2:
			permuteAVX2(states)
		default:
			permuteScalars(states[:count])
		}
	}
}
