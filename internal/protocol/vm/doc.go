// Package vm defines which WebAssembly modules are contracts and the gas that they use (docs/protocol.md, "Contracts").
//
// [Check] parses and validates a module by the rules of WebAssembly Core 1.0 and of the protocol. It rewrites the
// module so that any WebAssembly engine gives the same result for the same gas: the rewritten module counts its own gas
// and its own frames. An [Engine] runs it; a [Host] serves its calls to the chain.
package vm
