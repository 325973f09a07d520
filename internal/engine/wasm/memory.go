package wasm

import (
	"os"
	"slices"

	"github.com/tetratelabs/wazero/experimental"
)

// wasmPage is the unit of a memory's size in bytes.
const wasmPage = 64 << 10

// osPage is the unit in which the kernel tells what was written, in bytes. It divides wasmPage.
var osPage = os.Getpagesize()

// memory is the linear memory of one instance: address space for the most it may have, of which wazero gets the part in
// use. It never moves. It is wazero's allocator of the instance, and the guest's memory as a host sees it ([vm.Memory]).
type memory struct {
	reserved  []byte // maximum size
	size      int    // in use, in bytes
	initial   int    // in use after instantiation, in bytes
	shrinking bool   // the next Reallocate gives the initial size
}

// newMemory reserves address space for maximum pages.
func newMemory(initial, maximum uint32) (*memory, error) {
	reserved, err := reserve(int(maximum) * wasmPage)
	if err != nil {
		return nil, err
	}
	return &memory{reserved: reserved, initial: int(initial) * wasmPage}, nil
}

// Allocate is asked by wazero for the memory of the instance it makes.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate gives wazero the first size bytes, nil if the memory may not be so large. wazero takes whatever length it
// gets, so a shorter slice undoes memory.grow ([Engine] tests at its start that it does).
func (m *memory) Reallocate(size uint64) []byte {
	if m.shrinking {
		size = uint64(m.initial)
	}
	if size > uint64(len(m.reserved)) {
		return nil
	}
	m.size = int(size)
	return m.reserved[:size:size]
}

// Free gives the address space back. wazero calls it when the instance is closed.
func (m *memory) Free() {
	release(m.reserved)
	m.reserved, m.size = nil, 0
}

// Range is [vm.Memory].Range.
func (m *memory) Range(pointer, n uint32) ([]byte, bool) {
	end := uint64(pointer) + uint64(n)
	if end > uint64(m.size) {
		return nil, false
	}
	return m.reserved[pointer:end:end], true
}

// Pages is [vm.Memory].Pages.
func (m *memory) Pages() uint32 { return uint32(m.size / wasmPage) }

// image is what a memory holds after instantiation.
type image struct {
	pages [][]byte // by OS page; nil is all zero
	data  []int    // indices of those that are not nil
}

// size is in bytes, of what it keeps.
func (g *image) size() int { return len(g.data)*osPage + len(g.pages)*24 }

// capture copies what a new instance's memory holds.
func (m *memory) capture(written *pagemap) *image {
	g := &image{pages: make([][]byte, m.initial/osPage)}
	m.eachWritten(written, func(page int) {
		bytes := m.osPage(page)
		for _, b := range bytes {
			if b != 0 {
				g.pages[page] = slices.Clone(bytes)
				g.data = append(g.data, page)
				return
			}
		}
	})
	return g
}

// restore makes the memory in use as it was after instantiation, but for its size. It returns how many OS pages it
// wrote below the initial size, and above: about those that the kernel holds for it.
func (m *memory) restore(g *image, written *pagemap) (below, above int) {
	// Pages of data always: a kernel that merges pages of zeros tells of one that the guest cleared as never written.
	for _, page := range g.data {
		copy(m.osPage(page), g.pages[page])
	}
	below = len(g.data)
	m.eachWritten(written, func(page int) {
		switch {
		case page >= len(g.pages):
			above++
			clear(m.osPage(page))
		case g.pages[page] == nil:
			below++
			clear(m.osPage(page))
		}
	})
	return below, above
}

func (m *memory) osPage(i int) []byte { return m.reserved[i*osPage : (i+1)*osPage] }

// eachWritten calls f for each OS page in use that was ever written; for all if that cannot be known.
func (m *memory) eachWritten(written *pagemap, f func(page int)) {
	pages := m.size / osPage
	if written != nil && written.each(m.reserved, pages, f) {
		return
	}
	for page := range pages {
		f(page)
	}
}
