// Package wasm runs contracts: it is [vm.Engine] over wazero, compiled to machine code.
//
// A call takes a few microseconds to set up because instances are used again. After each call an instance is made as it
// was after instantiation: the globals by the reset function that instrumentation adds, the memory by writing back what
// the kernel's page table says was written, its size by handing wazero the short slice again. What a call sees is the
// same as in an instance of its own.
//
// Machine code is kept on disk in files that are authenticated before a byte of them is run ([Options.Dir]). A module is
// compiled as a whole and loaded by its skeleton ([vm.Skeleton]).
package wasm
