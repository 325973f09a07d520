// Package vm says which WebAssembly modules are contracts and what running them costs (docs/protocol.md, "Contracts").
//
// [Check] parses and validates a module by the rules of WebAssembly Core 1.0 and of the protocol. It rewrites the
// module so that any engine that runs WebAssembly gives the same result for the same gas: the rewritten module counts
// its own gas and its own frames. [Engine] is what runs it, [Host] what it may ask of the chain.
package vm
