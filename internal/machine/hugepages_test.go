//go:build linux && (amd64 || arm64) && !race

package machine

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"
)

// TestHugePages checks that new objects are in huge pages if these are requested, and that memory is taken only as it
// is used.
func TestHugePages(t *testing.T) {
	before := resident(t)
	if err := HugePages(); err != nil {
		t.Fatal(err)
	}
	if grown := resident(t) - before; grown > 64<<20 {
		t.Errorf("%d bytes are in use for it", grown)
	}
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if err != nil || !bytes.Contains(mode, []byte("[madvise]")) {
		return // the system gives huge pages to all, or to none
	}
	object := make([]byte, 128<<20)
	if flags := flagsOf(t, uintptr(unsafe.Pointer(&object[len(object)/2]))); !strings.Contains(flags+" ", " hg ") {
		t.Errorf("the flags of a new object's memory are %s, want hg", flags)
	}
	runtime.KeepAlive(object)
}

// resident returns the memory that the process uses, in bytes.
func resident(t *testing.T) (bytes int) {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var total, pages int
	if _, err := fmt.Sscan(string(statm), &total, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// flagsOf returns the kernel's flags of the mapping that holds an address.
func flagsOf(t *testing.T, address uintptr) string {
	file, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	within := false
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var from, to uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &from, &to); n == 2 {
			within = from <= address && address < to
		}
		if flags, found := strings.CutPrefix(lines.Text(), "VmFlags:"); found && within {
			return flags
		}
	}
	t.Fatal("no mapping holds the object")
	return ""
}
