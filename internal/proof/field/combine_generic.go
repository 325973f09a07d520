//go:build !amd64 || purego

package field

// vector reports whether the kernels may run.
const vector = false

// combineLanes is not implemented and not called, as vector is false.
func combineLanes(*Planar, *Vector, *uint64, uintptr, uintptr) {
	panic("field: no vector kernel on this architecture")
}

// innerProductLanes is not implemented and not called, as vector is false.
func innerProductLanes(*[2 * Degree][lanes / 2]uint64, *Element, *Planar, uintptr) {
	panic("field: no vector kernel on this architecture")
}

// addScalarLanes is not implemented and not called, as vector is false.
func addScalarLanes(*Element, *Element, uint32, uintptr) {
	panic("field: no vector kernel on this architecture")
}
