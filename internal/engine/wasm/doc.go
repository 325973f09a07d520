// Package wasm runs contracts: it is [vm.Engine] over wazero, compiled to machine code.
//
// A call takes a few microseconds to set up because instances are used again, and because the engine lends each call a
// stack and memory that others used before. After a call the globals are as after instantiation, by the reset function
// that instrumentation adds, and what the kernel's page table says was written of the memory is zero. What a call sees
// is the same as in an instance and memory of its own.
//
// Machine code is kept on disk in files that are authenticated before a byte of them is run ([Options.Dir]). A module
// is compiled as a whole and loaded by its skeleton ([vm.Skeleton]).
package wasm
