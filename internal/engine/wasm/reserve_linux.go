package wasm

import (
	"errors"
	"fmt"
	"syscall"
)

// noReserve excludes unused address space from memory accounting.
const noReserve = syscall.MAP_NORESERVE

// adviseSmallPages prevents huge pages: a first write would take 2 MiB, all to be cleared after the call.
func adviseSmallPages(b []byte) error {
	err := syscall.Madvise(b, syscall.MADV_NOHUGEPAGE)
	if err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: a kernel without huge pages
		return fmt.Errorf("advise the kernel about a contract's memory: %w", err)
	}
	return nil
}

// populateWrite is MADV_POPULATE_WRITE of madvise(2), which package syscall lacks.
const populateWrite = 23

// populate gives memory its pages at once. A kernel before 5.14 refuses, and gives each page at its first use.
func populate(b []byte) {
	const worthwhile = 16 << 10
	if len(b) >= worthwhile {
		_ = syscall.Madvise(b, populateWrite)
	}
}
