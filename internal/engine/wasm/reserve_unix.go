//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package wasm

import (
	"fmt"
	"syscall"
)

// reserve maps size bytes of zeros. Only written pages use memory.
func reserve(size int) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	b, err := syscall.Mmap(
		-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON|noReserve,
	)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes for a contract's memory: %w", size, err)
	}
	if err := adviseSmallPages(b); err != nil {
		release(b)
		return nil, err
	}
	return b, nil
}

// release unmaps the result of reserve. It fails only for an address that is not mapped: a bug, so it panics.
func release(b []byte) {
	if b == nil {
		return
	}
	if err := syscall.Munmap(b); err != nil {
		panic(fmt.Sprintf("unmap a contract's memory: %v", err))
	}
}
