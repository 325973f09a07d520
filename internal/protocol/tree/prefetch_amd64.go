//go:build !purego

package tree

// prefetch loads a node that will be read soon into the cache. It has no other effect.
//
//go:noescape
func prefetch(n *inner)
