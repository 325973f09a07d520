//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package wasm

// reserve allocates size bytes of zeros.
func reserve(size int) ([]byte, error) { return make([]byte, size), nil }

func release([]byte) {}

func populate([]byte) {}
