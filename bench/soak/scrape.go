package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxMetrics bounds what is read of a node's metrics, in bytes.
const maxMetrics = 4 << 20

// held is a node's metrics without labels, by name.
type held map[string]float64

// line is the part of a table's line about what a node holds: memory, heap, goroutines, handles, disk, and its height.
func (h held) line() string {
	return fmt.Sprintf("%.0f | %.0f | %.0f | %.0f | %.0f | %.0f", h["process_resident_memory_bytes"]/1e6, h["go_memstats_heap_alloc_bytes"]/1e6,
		h["go_goroutines"], h["process_open_fds"], h["cairn_store_disk_bytes"]/1e6, h["cairn_head_height"])
}

// scrape reads metrics in Prometheus's text format.
func scrape(ctx context.Context, url string) (held, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, response.Status)
	}
	h := held{}
	lines := bufio.NewScanner(io.LimitReader(response.Body, maxMetrics))
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if number, err := strconv.ParseFloat(value, 64); err == nil {
			h[name] = number
		}
	}
	return h, lines.Err()
}
