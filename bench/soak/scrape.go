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
