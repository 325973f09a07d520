// Package wasmgen makes WebAssembly modules for tests: with an assembler that can also write invalid modules, and with
// a generator of random contracts.
package wasmgen
