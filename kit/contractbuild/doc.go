// Package contractbuild builds the module of a contract from its source, reproducibly: the same bytes in any directory,
// for any user.
//
// A [contractsource.Source] is the complete input, with one encoding as an archive. [Collect] reads it from a project
// directory, and [Build] unpacks it into a new directory. Build runs the language's compiler there with fixed flags and
// a fixed environment, and checks the result against the rules of the chain. Anyone with the archive and the same
// toolchain therefore gets the same module, and can verify a contract by repeating its build. Compiling runs no code of
// the source: build scripts, procedural macros and JavaScript are refused.
package contractbuild
