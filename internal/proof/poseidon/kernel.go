package poseidon

import (
	"fmt"
	"slices"
)

// Kernel is an implementation of the permutation. All give the same results.
type Kernel string

// The kernels, fastest first.
const (
	AVX512   Kernel = "avx512"   // amd64 assembly with AVX-512 F and IFMA
	AVX512BW Kernel = "avx512bw" // amd64 assembly with AVX-512 F and BW
	AVX2     Kernel = "avx2"     // amd64 assembly with AVX2
	Scalar   Kernel = "scalar"   // Go; the only one on other architectures and with the build tag purego
)

var active = Available()[0]

// Active is the kernel in use; at first the fastest that the CPU and the operating system allow.
func Active() Kernel { return active }

// Available lists the kernels that Use accepts, fastest first.
func Available() []Kernel { return append(vectorKernels(), Scalar) }

// Use chooses the kernel. It must not run while another goroutine hashes. It returns an error, and changes nothing,
// when k is unknown or the CPU lacks what it needs.
func Use(k Kernel) error {
	if !slices.Contains(Available(), k) {
		return fmt.Errorf("poseidon: kernel %q is not available here, only %q", k, Available())
	}
	active = k
	return nil
}

// permuteScalars permutes states one after the other.
func permuteScalars(b [][width]uint32) {
	for i := range b {
		permuteScalar(&b[i])
	}
}
