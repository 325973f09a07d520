//go:build !amd64 || purego

package tree

// prefetch does nothing on processors that this package does not know how to ask.
func prefetch(*inner) {}
