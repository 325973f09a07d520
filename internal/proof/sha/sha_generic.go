//go:build !amd64 || purego

package sha

import (
	"crypto/sha256"

	"github.com/cairn-chain/cairn/internal/proof/field"
)

// vector says whether compress may run.
const vector = false

// compress is not there: vector says so.
func compress(*[8][lanes]uint32, *uint32, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// compressColumns is not there: vector says so.
func compressColumns(*[8][lanes]uint32, uint32, *field.Vector, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}

// storeLanes is not there: vector says so.
func storeLanes(*[sha256.Size]byte, *[8][lanes]uint32) {
	panic("sha: no vector kernel on this architecture")
}

// loadPairs is not there: vector says so.
func loadPairs(*[2 * digestWords][lanes]uint32, *[sha256.Size]byte) {
	panic("sha: no vector kernel on this architecture")
}
