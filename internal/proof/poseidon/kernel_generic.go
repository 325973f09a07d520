//go:build !amd64 || purego

package poseidon

func vectorKernels() []Kernel { return nil }

// permuteLanes permutes the first n states of b.
func permuteLanes(b *block, n int) { permuteScalars(b[:n]) }
