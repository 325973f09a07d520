package wasm

import (
	"os"
	"sync"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/cairn-chain/cairn/internal/protocol/vm"
)

// wasmPage is the unit of a memory's size in bytes.
const wasmPage = 64 << 10

// osPage is the unit in which the kernel tells what was written, in bytes. It divides wasmPage.
var osPage = os.Getpagesize()

// memory is the linear memory of one instance. Its bytes are a region that the engine lends it for a call; between
// calls it has none. It is wazero's allocator of the instance, and the guest's memory as a host sees it ([vm.Memory]).
type memory struct {
	region   *region // nil between calls
	size     int     // in use, in bytes
	initial  int     // in use when a call begins, in bytes
	swapping bool    // the next Reallocate gives the initial size
}

func newMemory(initial uint32) *memory { return &memory{initial: int(initial) * wasmPage} }

// Allocate is asked by wazero for the memory of the instance it makes.
func (m *memory) Allocate(_, _ uint64) experimental.LinearMemory { return m }

// Reallocate gives wazero the first size bytes of the region, nil if the memory may not be so large. wazero takes
// whatever bytes and length it gets ([Engine] tests at its start that it does).
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

// Free is asked by wazero when the instance is closed. The region is the engine's.
func (m *memory) Free() {}

// swap makes an instance that exists use a region, with the initial size: wazero stores the slice that it is given for
// one page more, whatever it is. It reports whether wazero took it.
func (m *memory) swap(r *region, seen api.Memory) bool {
	m.region, m.swapping = r, true
	_, ok := seen.Grow(1)
	m.swapping = false
	return ok && m.size == m.initial && seen.Size() == uint32(m.initial)
}

// begin writes what a memory of zeros holds at the beginning of a call.
func (m *memory) begin(data []vm.Segment) {
	for _, s := range data {
		copy(m.region.bytes[s.Offset:], s.Bytes)
	}
}

// Range is [vm.Memory].Range.
func (m *memory) Range(pointer, n uint32) ([]byte, bool) {
	end := uint64(pointer) + uint64(n)
	if end > uint64(m.size) {
		return nil, false
	}
	return m.region.bytes[pointer:end:end], true
}

// Pages is [vm.Memory].Pages.
func (m *memory) Pages() uint32 { return uint32(m.size / wasmPage) }

const (
	// regionSize is the most that a contract's memory may have, in bytes.
	regionSize = (maxMemoryPages - 1) * wasmPage
	// keptRegions is how many an engine keeps: what one execution takes that is nested to the most. 32 MiB.
	keptRegions = 32
	// regionCalls is how many calls are lent a region before another takes its place. All pages that a call could have
	// written and that the kernel holds are cleared after it, so one large call makes others clear more; but not for ever.
	regionCalls = 1024
)

// A region is memory for one call at a time. It is all zero when it is lent.
type region struct {
	bytes []byte
	calls int // that were lent it
}

// regions lends regions, the one used last first. The pages of that one are mapped and in the processor's caches. The
// first touch of a new page takes a fault, which is 1 to 2 µs on a virtual machine.
type regions struct {
	written *pagemap // nil: not known

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

// put takes a region back of which the first size bytes were in use.
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

// clear makes the first size bytes zero, by the pages that were ever written; by all if that cannot be known.
func (r *region) clear(size int, written *pagemap) {
	clearPage := func(page int) { clear(r.bytes[page*osPage : (page+1)*osPage]) }
	if written == nil || !written.each(r.bytes, size/osPage, clearPage) {
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
