// Package state defines the records in the chain's state and their keys. [Overlay] is the working copy that a block's
// transactions read and write before the result is committed.
package state
