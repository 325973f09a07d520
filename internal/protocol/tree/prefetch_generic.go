//go:build !amd64 || purego

package tree

// prefetch does nothing on architectures without an implementation.
func prefetch(*inner) {}
