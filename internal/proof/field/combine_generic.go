//go:build !amd64 || purego

package field

// vector reports whether the kernels may run.
const vector = false

// combineLanes has a kernel on amd64 only. Callers check vector first.
func combineLanes(*Planar, *Vector, *uint64, uintptr, uintptr) {
	panic("field: no vector kernel on this architecture")
}

// innerProductLanes has a kernel on amd64 only. Callers check vector first.
func innerProductLanes(*[2 * Degree][lanes / 2]uint64, *Element, *Planar, uintptr) {
	panic("field: no vector kernel on this architecture")
}

// addScalarLanes has a kernel on amd64 only. Callers check vector first.
func addScalarLanes(*Element, *Element, uint32, uintptr) {
	panic("field: no vector kernel on this architecture")
}
