package wasm

import (
	"errors"
	"fmt"
	"syscall"
)

// noReserve keeps address space from counting as memory.
const noReserve = syscall.MAP_NORESERVE

// adviseSmallPages keeps a first write from taking 2 MiB, all of which would have to be cleared after the call.
func adviseSmallPages(b []byte) error {
	err := syscall.Madvise(b, syscall.MADV_NOHUGEPAGE)
	if err != nil && !errors.Is(err, syscall.EINVAL) { // EINVAL: a kernel without huge pages
		return fmt.Errorf("advise the kernel about a contract's memory: %w", err)
	}
	return nil
}
