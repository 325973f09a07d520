package loadgen

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// metricsInterval is the interval between polls of a node's metrics.
	metricsInterval = 500 * time.Millisecond
	// maxMetrics bounds the size of the metrics response, in bytes.
	maxMetrics = 4 << 20
)

// NodeReport summarizes a node's metrics during a run.
type NodeReport struct {
	MemoryMiB     float64 `json:"memoryMiB"`     // peak resident memory
	Goroutines    float64 `json:"goroutines"`    // peak
	CPUSeconds    float64 `json:"cpuSeconds"`    // used
	Blocks        float64 `json:"blocks"`        // produced
	BlockTime     float64 `json:"blockTime"`     // mean production time, in ms
	BlockLate     float64 `json:"blockLate"`     // mean delay of a block's start beyond its interval, in ms
	Notifications float64 `json:"notifications"` // sent to subscribers
	Dropped       float64 `json:"dropped"`       // subscribers dropped for not reading
}

// Metrics of a node, as listed in the operators' documentation.
const (
	metricMemory     = "process_resident_memory_bytes"
	metricGoroutines = "go_goroutines"
	metricCPU        = "process_cpu_seconds_total"
	metricBlocks     = "cairn_block_duration_seconds_count"
	metricBlockTime  = "cairn_block_duration_seconds_sum"
	metricBlockLate  = "cairn_block_late_seconds_sum"
	metricSent       = "cairn_push_sent_total"
	metricDropped    = "cairn_push_dropped_total"
)

// scraper polls a node's metrics.
type scraper struct {
	url string

	mu          sync.Mutex // guards the fields below
	first, last map[string]float64
	most        map[string]float64
}

// newScraper makes the first poll of the metrics.
func newScraper(ctx context.Context, url string) (*scraper, error) {
	s := &scraper{url: url, most: map[string]float64{}}
	if err := s.look(ctx); err != nil {
		return nil, fmt.Errorf("metrics of the node: %w", err)
	}
	return s, nil
}

// follow polls until ctx ends, and calls dropped with the number of subscribers dropped so far. It ignores failures, as
// the next poll makes up for them.
func (s *scraper) follow(ctx context.Context, dropped func(float64)) {
	ticker := time.NewTicker(metricsInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if s.look(ctx) == nil {
			dropped(s.gained(metricDropped))
		}
	}
}

func (s *scraper) look(ctx context.Context) error {
	values, err := ReadMetrics(ctx, s.url)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == nil {
		s.first = values
	}
	s.last = values
	for name, value := range values {
		s.most[name] = max(s.most[name], value)
	}
	return nil
}

// ReadMetrics returns a node's metrics without labels, by name, from their URL. It returns an error if one of names is
// missing.
func ReadMetrics(ctx context.Context, url string, names ...string) (map[string]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
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
		return nil, fmt.Errorf("%s: HTTP status %s", url, response.Status)
	}
	values, err := readMetrics(http.MaxBytesReader(nil, response.Body, maxMetrics))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	for _, name := range names {
		if _, ok := values[name]; !ok {
			return nil, fmt.Errorf("%s: there is no metric %s", url, name)
		}
	}
	return values, nil
}

// readMetrics parses the metrics without labels of Prometheus' text format (version 0.0.4).
func readMetrics(r io.Reader) (map[string]float64, error) {
	values := map[string]float64{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || strings.HasPrefix(fields[0], "#") || strings.Contains(fields[0], "{") {
			continue
		}
		value, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return nil, fmt.Errorf("%s is not a number: %w", fields[0], err)
		}
		values[fields[0]] = value
	}
	return values, lines.Err()
}

// gained returns the increase of a counter.
func (s *scraper) gained(name string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[name] - s.first[name]
}

func (s *scraper) report() *NodeReport {
	mean := func(sum string) float64 { return 1000 * s.gained(sum) / max(1, s.gained(metricBlocks)) }
	r := &NodeReport{
		CPUSeconds:    s.gained(metricCPU),
		Blocks:        s.gained(metricBlocks),
		BlockTime:     mean(metricBlockTime),
		BlockLate:     mean(metricBlockLate),
		Notifications: s.gained(metricSent),
		Dropped:       s.gained(metricDropped),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.MemoryMiB, r.Goroutines = s.most[metricMemory]/(1<<20), s.most[metricGoroutines]
	return r
}
