// Package exec is the state transition: what makes a transaction and a block valid, what applying one does, and what
// the block's header says of it (docs/protocol.md). It is a function of values: no clock, no disk, no goroutine.
//
// The admission rule exists once, in two halves: [CheckStatic] and [CheckAt]. The pool, the builder of blocks and the
// importer of others' blocks all ask these.
package exec
