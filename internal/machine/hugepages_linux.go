//go:build (amd64 || arm64) && !race

package machine

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePages is the size in bytes of the first part of the heap, to which HugePages gives huge pages.
const hugePages = 2 << 30

// HugePages lets the first 2 GiB of the heap have pages of 2 MiB where Linux gives them only to those that ask, as it
// does by default on most systems. Memory that the heap takes then costs one page fault instead of 512. HugePages
// changes nothing if GOMEMLIMIT is less.
func HugePages() error {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(mode, []byte("[madvise]")) || debug.SetMemoryLimit(-1) < hugePages {
		return nil
	}
	trial, err := unix.Mmap(-1, 0, hugePages, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil // there is no room, and Go would end the process for that
	}
	if err := unix.Munmap(trial); err != nil {
		return fmt.Errorf("unmap memory: %w", err)
	}
	// Go takes all of this memory from the system for a slice. The collector then frees it for other objects, and the
	// system keeps the advice. A Builder does not clear what it grows by, so that no page is used yet.
	var part strings.Builder
	part.Grow(hugePages)
	part.WriteByte(0)
	begin := unsafe.StringData(part.String())
	const alignment = 64 << 10 // at least a page's
	skip := int(-uintptr(unsafe.Pointer(begin)) % alignment)
	err = unix.Madvise(unsafe.Slice(begin, hugePages)[skip:], unix.MADV_HUGEPAGE)
	runtime.KeepAlive(&part)
	part.Reset()
	debug.FreeOSMemory()
	if err != nil {
		return fmt.Errorf("ask for huge pages: %w", err)
	}
	return nil
}
