//go:build !amd64 || purego

package sha

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// vector reports whether the kernels may run.
const vector = false

// compress is not implemented and not called, as vector is false.
func compress(*[8][lanes]uint32, *uint32, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// compressColumns is not implemented and not called, as vector is false.
func compressColumns(*[8][lanes]uint32, uint32, *field.Vector, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// search is not implemented and not called, as vector is false.
func search(*searchBlock, uint32) uint32 { panic("sha: no vector kernel on this architecture") }

// storeLanes is not implemented and not called, as vector is false.
func storeLanes(*[sha256.Size]byte, *[8][lanes]uint32) {
	panic("sha: no vector kernel on this architecture")
}

// loadPairs is not implemented and not called, as vector is false.
func loadPairs(*[2 * digestWords][lanes]uint32, *[sha256.Size]byte) {
	panic("sha: no vector kernel on this architecture")
}
