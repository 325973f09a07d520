//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package wasm

import (
	"fmt"
	"syscall"
)

// reserve maps so many bytes of zeros. Memory is used only for the pages that are written.
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

// release unmaps what reserve mapped. It fails only for an address that is no mapping's: a bug that must not go on.
func release(b []byte) {
	if b == nil {
		return
	}
	if err := syscall.Munmap(b); err != nil {
		panic(fmt.Sprintf("unmap a contract's memory: %v", err))
	}
}
