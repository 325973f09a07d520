// Package wasmgen makes WebAssembly modules for tests: an assembler that can also write what is wrong, and a generator
// of random contracts.
package wasmgen
