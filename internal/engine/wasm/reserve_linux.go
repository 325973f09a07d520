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
