//go:build !purego

package tree

// prefetch asks memory for a node that will be read soon. Nothing depends on it.
//
//go:noescape
func prefetch(n *inner)
