//go:build linux && (amd64 || arm64)

package wasm

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// pagemap reads from /proc/self/pagemap which pages of private anonymous memory were ever written. One system call
// tells it for 1 MiB; no page is protected and no write is slower for it.
type pagemap struct {
	file *os.File
	fd   uintptr
}

// openPagemap returns nil where the kernel does not tell (some sandboxes, kernels without CONFIG_PROC_PAGE_MONITOR).
func openPagemap() *pagemap {
	file, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	p := &pagemap{file: file, fd: file.Fd()}
	if p.test() != nil {
		p.close()
		return nil
	}
	return p
}

func (p *pagemap) close() { p.file.Close() } //nolint:errcheck // open for reading only

// Bits of an entry, see Documentation/admin-guide/mm/pagemap.rst of the kernel. A page that was only read shows as the
// shared page of zeros, which the kernel counts as a file's.
const (
	pagePresent = 1 << 63
	pageSwapped = 1 << 62
	pageOfFile  = 1 << 61
)

// each calls f for each of the first pages of a mapping that was ever written. It reports false, before it called f for
// all of them, if the kernel does not answer.
func (p *pagemap) each(mapping []byte, pages int, f func(page int)) bool {
	var entries [256]uint64
	first := int64(uintptr(unsafe.Pointer(unsafe.SliceData(mapping)))) / int64(osPage)
	for done := 0; done < pages; {
		n := min(len(entries), pages-done)
		// Raw: the call does not wait, and telling the scheduler costs more than the call.
		read, _, errno := syscall.RawSyscall6(syscall.SYS_PREAD64, p.fd, uintptr(unsafe.Pointer(&entries)), uintptr(n*8),
			uintptr((first+int64(done))*8), 0, 0)
		if errno != 0 || read != uintptr(n*8) {
			return false
		}
		for i, entry := range entries[:n] {
			if entry&(pagePresent|pageSwapped) != 0 && entry&pageOfFile == 0 {
				f(done + i)
			}
		}
		done += n
	}
	return true
}

// test checks that written pages show, and that others do not.
func (p *pagemap) test() error {
	const pages = 300 // more than one read
	b, err := reserve(pages * osPage)
	if err != nil {
		return err
	}
	defer release(b)
	var sum byte
	for page := range pages {
		if page%7 == 3 {
			b[page*osPage+page] = 1
		} else if page%7 == 4 {
			sum += b[page*osPage] // read only
		}
	}
	var found, wrong int
	ok := p.each(b, pages, func(page int) {
		found++
		if page%7 != 3 {
			wrong++
		}
	})
	if !ok || sum != 0 || wrong > 0 || found != (pages-3+6)/7 {
		return fmt.Errorf("%s: %d pages found, %d of them unwritten", p.file.Name(), found, wrong)
	}
	return nil
}
