package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/kit/loadgen"
)

// held is a node's use of resources at one time.
type held struct {
	memory, heap        float64 // MB
	goroutines, handles float64
	disk                float64 // MB
	height              float64
}

const heldHeader = "memory MB | heap MB | goroutines | handles | disk MB | height |"

func (h held) String() string {
	var b strings.Builder
	for _, value := range []float64{h.memory, h.heap, h.goroutines, h.handles, h.disk, h.height} {
		fmt.Fprintf(&b, "%.0f | ", value)
	}
	return strings.TrimSpace(b.String())
}

// readHeld returns the resources of the node with metrics at a URL.
func readHeld(ctx context.Context, url string) (held, error) {
	const (
		memory, heap  = "process_resident_memory_bytes", "go_memstats_heap_alloc_bytes"
		goroutines    = "go_goroutines"
		handles, disk = "process_open_fds", "cairn_store_disk_bytes"
		height        = "cairn_head_height"
	)
	v, err := loadgen.ReadMetrics(ctx, url, memory, heap, goroutines, handles, disk, height)
	return held{v[memory] / 1e6, v[heap] / 1e6, v[goroutines], v[handles], v[disk] / 1e6, v[height]}, err
}
