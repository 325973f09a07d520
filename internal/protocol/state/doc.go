// Package state says what the chain's state holds: the records under each key, and [Overlay], the working copy that
// a block's transactions read and write before the result is committed.
package state
