package machine

import (
	"fmt"

	"github.com/cairn-chain/cairn/crypto/bip340"
	"github.com/cairn-chain/cairn/internal/proof/poseidon"
)

// Kernels choose the process's code of the two costliest computations, each empty for the fastest that the processor
// has. All choices give the same results.
type Kernels struct {
	Hash      string // of the state: avx512, avx512bw, avx2 or scalar
	Signature string // verification: avx512 or portable
}

// Use switches the process to the kernels and tests the one that hashes. It comes before all else that a node does.
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
	return fmt.Errorf("unknown signature kernel %q: it is avx512 or portable", k.Signature)
}

// ActiveKernels are the names of the kernels in use, and whether they are the fastest that there are.
func ActiveKernels() (k Kernels, fastest bool) {
	k = Kernels{Hash: string(poseidon.Active()), Signature: "portable"}
	if bip340.Lanes() {
		k.Signature = "avx512"
	}
	return k, poseidon.Active() == poseidon.AVX512 && bip340.Lanes()
}
