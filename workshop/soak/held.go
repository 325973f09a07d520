package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-chain/cairn/kit/loadgen"
)

// held lists the metrics of a node's resources in the order of the table's columns (memory, heap, goroutines, handles,
// disk), and its height.
var held = []struct {
	metric string
	unit   float64 // unit of the column
}{
	{"process_resident_memory_bytes", 1e6},
	{"go_memstats_heap_alloc_bytes", 1e6},
	{"go_goroutines", 1},
	{"process_open_fds", 1},
	{"cairn_store_disk_bytes", 1e6},
	{"cairn_head_height", 1},
}

// readHeld returns the columns about the resources of the node with metrics at a URL.
func readHeld(ctx context.Context, url string) (string, error) {
	var names, columns []string
	for _, h := range held {
		names = append(names, h.metric)
	}
	values, err := loadgen.ReadMetrics(ctx, url, names...)
	for _, h := range held {
		columns = append(columns, fmt.Sprintf("%.0f", values[h.metric]/h.unit))
	}
	return strings.Join(columns, " | "), err
}
