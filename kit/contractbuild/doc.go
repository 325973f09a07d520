// Package contractbuild makes the module of a contract from its source: the same bytes in any directory, by any user.
//
// A [contractsource.Source] is all that goes in, and has one encoding as an archive. [Collect] takes it from a project's directory,
// and [Build] unpacks it in a new one. Build runs the language's compiler there with fixed flags and a fixed
// environment, and holds the result to the rules of the chain. So who has the archive and the same toolchain gets the
// same module, and a build is what a verification repeats. Nothing of a source is run while it is compiled: build
// scripts, procedural macros and JavaScript are refused.
package contractbuild
