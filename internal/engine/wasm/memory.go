package wasm

import (
	"os"

	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
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

// image is what a memory holds after instantiation: zeros and data.
type image struct {
	pages []int32  // by OS page: 1 + its index in data, 0 where all is zero
	data  []imaged // in the order of their first write
	bytes int      // of all data
}

// imaged is an OS page with data.
type imaged struct {
	page  int
	parts []vm.Segment // offsets are in the page; a later one is written over an earlier one
}

// newImage is of a memory of so many wasm pages with data.
func newImage(pages uint32, data []vm.Segment) *image {
	g := &image{pages: make([]int32, int(pages)*wasmPage/osPage)}
	for _, segment := range data {
		g.bytes += len(segment.Bytes)
		for at, rest := int(segment.Offset), segment.Bytes; len(rest) > 0; {
			page, offset := at/osPage, at%osPage
			if g.pages[page] == 0 {
				g.data = append(g.data, imaged{page: page})
				g.pages[page] = int32(len(g.data))
			}
			n := min(len(rest), osPage-offset)
			in := &g.data[g.pages[page]-1]
			in.parts = append(in.parts, vm.Segment{Offset: uint32(offset), Bytes: rest[:n]})
			at, rest = at+n, rest[n:]
		}
	}
	return g
}

// size is in bytes, of what it keeps.
func (g *image) size() int { return g.bytes + 4*len(g.pages) + 128*len(g.data) }

// begin writes the data to a memory that is zero where it is.
func (m *memory) begin(g *image) {
	for _, p := range g.data {
		bytes := m.osPage(p.page)
		for _, part := range p.parts {
			copy(bytes[part.Offset:], part.Bytes)
		}
	}
}

// restore makes the memory in use as it was after instantiation, but for its size. It returns how many OS pages it
// wrote below the initial size, and above: about those that the kernel holds for it.
func (m *memory) restore(g *image, written *pagemap) (below, above int) {
	// Pages of data always: a kernel that merges pages of zeros tells of one that the guest cleared as never written.
	for _, p := range g.data {
		clear(m.osPage(p.page))
	}
	m.begin(g)
	below = len(g.data)
	m.eachWritten(written, func(page int) {
		switch {
		case page >= len(g.pages):
			above++
			clear(m.osPage(page))
		case g.pages[page] == 0:
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
