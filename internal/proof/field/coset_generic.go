//go:build !amd64 || purego

package field

// evaluateBlock is not implemented and not called, as vector is false.
func evaluateBlock(dst, coefficients, twiddles *Element) {
	panic("field: no vector kernel on this architecture")
}

// combineFour is not implemented and not called, as vector is false.
func combineFour(values, twiddles *Element, h uintptr) {
	panic("field: no vector kernel on this architecture")
}

// combineEight is not implemented and not called, as vector is false.
func combineEight(values, twiddles *Element, h uintptr) {
	panic("field: no vector kernel on this architecture")
}
