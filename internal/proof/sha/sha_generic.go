//go:build !amd64 || purego

package sha

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// vector reports whether the kernels may run.
const vector = false

// compress has a kernel on amd64 only. Callers check vector first.
func compress(*[8][lanes]uint32, *uint32, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// compressColumns has a kernel on amd64 only. Callers check vector first.
func compressColumns(*[8][lanes]uint32, uint32, *field.Vector, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// search has a kernel on amd64 only. Callers check vector first.
func search(*searchBlock, uint32) uint32 { panic("sha: no vector kernel on this architecture") }

// storeLanes has a kernel on amd64 only. Callers check vector first.
func storeLanes(*[sha256.Size]byte, *[8][lanes]uint32) {
	panic("sha: no vector kernel on this architecture")
}

// loadPairs has a kernel on amd64 only. Callers check vector first.
func loadPairs(*[2 * digestWords][lanes]uint32, *[sha256.Size]byte) {
	panic("sha: no vector kernel on this architecture")
}
