// Package exec is the state transition (docs/protocol.md): the validity of transactions and blocks, the effects of a
// transaction, and the block header that results. It is a function of values: it uses no clock, disk or goroutine.
//
// The admission rule exists once, in two halves: [CheckStatic] and [CheckAt]. The pool, the block builder and the
// importer all use them.
package exec
