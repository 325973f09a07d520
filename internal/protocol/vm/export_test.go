package vm

import "math"

// RewriteCore validates and rewrites a module by WebAssembly 1.0 alone, without the additional rules of contracts:
// floats, imports of any kind and a start function are allowed.
func RewriteCore(code []byte) ([]byte, error) {
	p, err := parse(code, bounds{
		floats:    true,
		types:     math.MaxInt,
		params:    math.MaxInt,
		imports:   math.MaxInt,
		functions: math.MaxInt,
		exports:   math.MaxInt,
		globals:   math.MaxInt,
		mutable:   math.MaxInt,
		indices:   math.MaxInt,
		data:      math.MaxInt,
		body:      math.MaxUint32,
		locals:    1 << 16,
		allLocals: 1 << 20,
		nesting:   math.MaxInt,
		targets:   math.MaxUint32,
		slots:     math.MaxInt32,
	}, false, 0)
	if err != nil {
		return nil, err
	}
	return p.assemble(), nil
}
