//go:build !linux || (!amd64 && !arm64) || race

package machine

// HugePages changes nothing on this system, nor with the race detector, which would touch all of the memory.
func HugePages() error { return nil }
