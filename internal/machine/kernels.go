package machine

import (
	"fmt"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Kernels selects the process's implementations of the two costliest computations. An empty name selects the fastest
// one that the processor supports. All implementations give the same results.
type Kernels struct {
	Hash      string // hash of the state: avx512, avx512bw, avx2 or scalar
	Signature string // signature verification: avx512 or portable
}

// Use selects the kernels for the process and runs the self-test of the hash kernel. It must be called before all other
// work of a node.
func (k Kernels) Use() error {
	if k.Hash != "" {
		if err := poseidon.Use(poseidon.Kernel(k.Hash)); err != nil {
			return err
		}
	}
	if err := poseidon.SelfTest(); err != nil {
		return fmt.Errorf("hash kernel %s: %w", poseidon.Active(), err)
	}
	switch k.Signature {
	case "":
		return nil
	case "avx512", "portable":
		return bip340.UseLanes(k.Signature == "avx512")
	}
	return fmt.Errorf("unknown signature kernel %q: use avx512 or portable", k.Signature)
}

// ActiveKernels returns the names of the kernels in use, and reports whether they are the fastest implementations.
func ActiveKernels() (k Kernels, fastest bool) {
	k = Kernels{Hash: string(poseidon.Active()), Signature: "portable"}
	if bip340.Lanes() {
		k.Signature = "avx512"
	}
	return k, poseidon.Active() == poseidon.AVX512 && bip340.Lanes()
}
