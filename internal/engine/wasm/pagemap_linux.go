//go:build linux && (amd64 || arm64)

package wasm

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// pagemap reads from /proc/self/pagemap which pages of private anonymous memory were ever written (or read, which maps
// a page of zeros). One system call covers 1 MiB. No page is protected, so writes are not slowed down.
type pagemap struct {
	file *os.File
	fd   uintptr
}

// openPagemap fails if the kernel does not report pages (some sandboxes, kernels without CONFIG_PROC_PAGE_MONITOR).
func openPagemap() (*pagemap, error) {
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil, err
	}
	p := &pagemap{file: file, fd: file.Fd()}
	if err := p.test(); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *pagemap) close() { p.file.Close() } //nolint:errcheck // open for reading only

// Bits of an entry; see Documentation/admin-guide/mm/pagemap.rst of the kernel.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
)

// each calls f for every page among the first pages of a mapping that was ever touched. It reports false if the kernel
// fails to answer; f was then not called for all of them.
func (p *pagemap) each(mapping []byte, pages int, f func(page int)) bool {
	var entries [256]uint64
	first := int64(uintptr(unsafe.Pointer(unsafe.SliceData(mapping)))) / int64(osPage)
	for done := 0; done < pages; {
		n := min(len(entries), pages-done)
		// Raw: the call does not block, and notifying the scheduler would cost more than the call.
		read, _, errno := syscall.RawSyscall6(syscall.SYS_PREAD64, p.fd, uintptr(unsafe.Pointer(&entries)), uintptr(n*8),
			uintptr((first+int64(done))*8), 0, 0)
		if errno != 0 || read != uintptr(n*8) {
			return false
		}
		for i, entry := range entries[:n] {
			if entry&(pagePresent|pageSwapped) != 0 {
				f(done + i)
			}
		}
		done += n
	}
	return true
}

// test checks that written pages are reported, and untouched ones are not.
func (p *pagemap) test() error {
	const pages = 300 // more than one read
	b, err := reserve(pages * osPage)
	if err != nil {
		return err
	}
	defer release(b)
	written := 0
	for page := 3; page < pages; page += 7 {
		b[page*osPage+page] = 1
		written++
	}
	found, wrong := 0, 0
	ok := p.each(b, pages, func(page int) {
		found++
		if page%7 != 3 {
			wrong++
		}
	})
	if !ok || wrong > 0 || found != written {
		return fmt.Errorf("%s reports %d of %d written pages, and also %d pages that were not written", p.file.Name(), found-wrong, written, wrong)
	}
	return nil
}
