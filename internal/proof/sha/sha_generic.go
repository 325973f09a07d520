//go:build !amd64 || purego

package sha

// vector says whether compress may run.
const vector = false

// compress is not there: vector says so.
func compress(*[8][lanes]uint32, *uint32, uintptr, uintptr) {
	panic("sha: no vector kernel on this architecture")
}
