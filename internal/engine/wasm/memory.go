package wasm

import (
	"os"
	"sync"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// wasmPage is the unit of a memory's size, in bytes.
const wasmPage = 64 << 10

// osPage is the kernel's page size in bytes. It divides wasmPage.
var osPage = os.Getpagesize()

// memory is the linear memory of one instance. Its bytes are a region that the engine lends it for a call. It
// implements wazero's allocator for the instance, and [vm.Memory] for hosts.
type memory struct {
	region   *region // nil between calls
	size     int     // current size, in bytes
	initial  int     // size when a call begins, in bytes
	swapping bool    // the next Reallocate returns the initial size
}

func newMemory(initial uint32) *memory { return &memory{initial: int(initial) * wasmPage} }

// Allocate returns m as the memory of the instance that wazero is creating.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate returns the first size bytes of the region, or nil if the memory may not be so large. wazero accepts any
// bytes and length ([Engine] tests that at its start).
func (m *memory) Reallocate(size uint64) []byte {
	if m.swapping {
		size = uint64(m.initial)
	}
	if size > uint64(len(m.region.bytes)) {
		return nil
	}
	m.size = int(size)
	return m.region.bytes[:size:size]
}

// Free does nothing: the region belongs to the engine.
func (m *memory) Free() {}

// swap makes an existing instance use another region, at the initial size. It asks wazero for one more page: wazero
// stores the slice that it gets, whatever its size. swap reports whether wazero did so.
func (m *memory) swap(r *region, seen api.Memory) bool {
	m.region, m.swapping = r, true
	_, ok := seen.Grow(1)
	m.swapping = false
	return ok && m.size == m.initial && seen.Size() == uint32(m.initial)
}

// begin writes the initial data into a zeroed memory.
func (m *memory) begin(data []vm.Segment) {
	for _, s := range data {
		copy(m.region.bytes[s.Offset:], s.Bytes)
	}
}

// Range implements [vm.Memory].
func (m *memory) Range(pointer, n uint32) ([]byte, bool) {
	end := uint64(pointer) + uint64(n)
	if end > uint64(m.size) {
		return nil, false
	}
	return m.region.bytes[pointer:end:end], true
}

// Pages implements [vm.Memory].
func (m *memory) Pages() uint32 { return uint32(m.size / wasmPage) }

const (
	// regionSize is the maximum size of a contract's memory, in bytes.
	regionSize = (maxMemoryPages - 1) * wasmPage
	// keptRegions is the number of free regions that an engine keeps, 32 MiB: enough for one execution of maximum
	// nesting.
	keptRegions = 32
	// regionCalls is the number of calls after which a region is discarded. After each call, every resident page within
	// the used size is cleared, so one large call makes later ones clear more; this bounds how many.
	regionCalls = 1024
)

// A region is memory for one call at a time. It is zeroed when it is lent.
type region struct {
	bytes []byte
	calls int // calls that used it
}

// regions lends regions, the most recently used one first: its pages are mapped and in the processor's caches. The
// first touch of a new page causes a fault, which takes 1 to 2 µs on a virtual machine.
type regions struct {
	written *pagemap // nil if unavailable

	mu     sync.Mutex
	free   []*region // last used last
	closed bool
}

func (s *regions) take() (*region, error) {
	s.mu.Lock()
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		s.mu.Unlock()
		return r, nil
	}
	s.mu.Unlock()
	bytes, err := reserve(regionSize)
	return &region{bytes: bytes}, err
}

// put takes back a region whose first size bytes were in use.
func (s *regions) put(r *region, size int) {
	r.calls++
	again := r.calls < regionCalls
	if again {
		r.clear(size, s.written)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !again || s.closed || len(s.free) == keptRegions {
		release(r.bytes)
		return
	}
	s.free = append(s.free, r)
}

// clear zeroes the first size bytes: the pages that were ever written, or all if these are unknown. A small memory is
// zeroed whole, which takes a quarter of the time of asking the kernel.
func (r *region) clear(size int, written *pagemap) {
	clearPage := func(page int) { clear(r.bytes[page*osPage : (page+1)*osPage]) }
	if size <= wasmPage || written == nil || !written.each(r.bytes, size/osPage, clearPage) {
		clear(r.bytes[:size])
	}
}

func (s *regions) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.free {
		release(r.bytes)
	}
	s.free, s.closed = nil, true
	if s.written != nil {
		s.written.close()
	}
}
