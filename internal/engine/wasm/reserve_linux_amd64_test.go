package wasm

import (
	"syscall"
	"testing"
	"unsafe"
)

// On arm64, the tests run in an emulator, which ignores this advice.
func TestPopulate(t *testing.T) {
	const size = 64 << 10
	b, err := reserve(size)
	if err != nil {
		t.Fatal(err)
	}
	defer release(b)
	resident := func() (pages int) {
		inCore := make([]byte, size/syscall.Getpagesize())
		if _, _, errno := syscall.Syscall(syscall.SYS_MINCORE, uintptr(unsafe.Pointer(&b[0])), size,
			uintptr(unsafe.Pointer(&inCore[0]))); errno != 0 {
			t.Fatal(errno)
		}
		for _, page := range inCore {
			pages += int(page & 1)
		}
		return pages
	}
	if got := resident(); got != 0 {
		t.Fatalf("new memory has %d pages, want 0", got)
	}
	if err := syscall.Madvise(b[:1], populateWrite); err == syscall.EINVAL {
		t.Skip("this kernel gives memory its pages only at their first use")
	}
	populate(b)
	if got, want := resident(), size/syscall.Getpagesize(); got != want {
		t.Errorf("populated memory has %d pages, want %d", got, want)
	}
}
