package poseidon

import (
	"fmt"
	"slices"
)

// Kernel is an implementation of the permutation. All give the same results.
type Kernel string

// Kernels, fastest first.
const (
	AVX512   Kernel = "avx512"   // amd64 assembly with AVX-512 F and IFMA
	AVX512BW Kernel = "avx512bw" // amd64 assembly with AVX-512 F and BW
	AVX2     Kernel = "avx2"     // amd64 assembly with AVX2
	Scalar   Kernel = "scalar"   // Go; the only one on other architectures and with the build tag purego
)

var active = Available()[0]

// Active returns the kernel in use. By default it is the fastest that the CPU and the operating system support.
func Active() Kernel { return active }

// Available returns the kernels that Use accepts, fastest first.
func Available() []Kernel { return append(vectorKernels(), Scalar) }

// Use selects the kernel. It must not be called while another goroutine hashes. It returns an error, and changes
// nothing, if k is unknown or the CPU does not support it.
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
