// Package wasm runs contracts. It implements [vm.Engine] with wazero, and compiles contracts to machine code.
//
// A call takes only a few microseconds to set up, because instances are reused, and the engine lends each call a stack
// and memory that earlier calls used. After a call, the reset function that instrumentation adds restores the globals,
// and the pages of memory that the kernel's page table reports as written are zeroed. A call cannot distinguish this
// from an instance and memory of its own.
//
// Machine code is kept on disk in files that are authenticated before any of it is executed ([Options.Dir]). A module
// is compiled as a whole and loaded by its skeleton ([vm.Skeleton]).
package wasm
