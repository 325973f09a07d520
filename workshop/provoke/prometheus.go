package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"github.com/cairn-chain/cairn/workshop/internal/program"
)

// scrape is the interval of scrapes and evaluations: short compared with the shortest range.
const scrape = time.Second

var (
	ruleDuration = regexp.MustCompile(`(\[|for: )(\d+)([smhd])\b`)
	day          = regexp.MustCompile(`\b86400\b`)
	units        = map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}
)

// shorten divides the durations in alert rules: ranges, pending periods, and days in seconds.
func shorten(rules string, factor float64) (string, error) {
	var bad error
	rules = ruleDuration.ReplaceAllStringFunc(rules, func(text string) string {
		parts := ruleDuration.FindStringSubmatch(text)
		n, err := strconv.Atoi(parts[2])
		bad = errors.Join(bad, err)
		short := time.Duration(float64(n) * float64(units[parts[3]]) / factor)
		return fmt.Sprintf("%s%dms", parts[1], max(1, short.Milliseconds()))
	})
	return day.ReplaceAllString(rules, strconv.FormatFloat(86400/factor, 'f', -1, 64)), bad
}

// prometheus is a running Prometheus.
type prometheus struct {
	url     string
	process *program.Process
}

const prometheusConfig = `global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: cairn
    static_configs: [{targets: ["127.0.0.1:%[2]d"]}]
  - job_name: cairn-signer
    file_sd_configs: [{files: [cairn-signer.json]}]
  - job_name: cairn-prover
    file_sd_configs: [{files: [cairn-prover.json]}]
`

func startPrometheus(ctx context.Context, s settings, dir string) (*prometheus, error) {
	shipped, err := os.ReadFile(s.rules)
	if err != nil {
		return nil, err
	}
	rules, err := shorten(string(shipped), s.factor)
	if err != nil {
		return nil, err
	}
	config := filepath.Join(dir, "prometheus.yml")
	err = errors.Join(os.WriteFile(filepath.Join(dir, "alerts.yml"), []byte(rules), 0o600),
		os.WriteFile(config, fmt.Appendf(nil, prometheusConfig, scrape, s.firstPort+1), 0o600))
	if err != nil {
		return nil, err
	}
	address := fmt.Sprintf("127.0.0.1:%d", s.firstPort+2)
	started, err := program.Start(program.Command{
		Args: []string{
			s.prometheus, "--config.file=" + config, "--storage.tsdb.path=" + filepath.Join(dir, "tsdb"),
			"--web.listen-address=" + address,
		},
		Log: filepath.Join(dir, "prometheus.log"),
	})
	if err != nil {
		return nil, fmt.Errorf("start Prometheus, which Debian has in its package prometheus: %w", err)
	}
	p := &prometheus{"http://" + address, started}
	// It has read its rules when it responds.
	if err := p.process.Await(ctx, func(ctx context.Context) (bool, error) {
		_, err := p.alerts(ctx)
		return err == nil, nil
	}); err != nil {
		return nil, errors.Join(fmt.Errorf("no answer of Prometheus: %w", err), p.process.End(syscall.SIGTERM))
	}
	return p, nil
}

// The states of active alerts.
const (
	pending = "pending"
	firing  = "firing"
)

// await polls the alerts' states until wanted returns true. The cause must not end before.
func (p *prometheus) await(
	ctx context.Context, patience time.Duration, ended chan error, wanted func(alerts map[string]string) bool,
) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(scrape / 2)
	defer ticker.Stop()
	var last map[string]string
	for {
		alerts, err := p.alerts(ctx)
		if err == nil {
			if wanted(alerts) {
				return nil
			}
			last = alerts
		}
		select {
		case <-ticker.C:
		case err := <-ended:
			return fmt.Errorf("the alert's cause ended: %w", err)
		case <-ctx.Done():
			return fmt.Errorf("not after %s, alerts are %v: %w", patience, last, ctx.Err())
		}
	}
}

// alerts returns the states of the alerts that are pending or firing
// (https://prometheus.io/docs/prometheus/latest/querying/api/#alerts).
func (p *prometheus) alerts(ctx context.Context) (map[string]string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/api/v1/alerts", nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		Status string
		Data   struct {
			Alerts []struct {
				State  string
				Labels map[string]string
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return nil, err
	}
	if answer.Status != "success" {
		return nil, fmt.Errorf("answer %d of Prometheus, %s", response.StatusCode, answer.Status)
	}
	states := map[string]string{}
	for _, alert := range answer.Data.Alerts {
		if name := alert.Labels["alertname"]; states[name] != firing {
			states[name] = alert.State
		}
	}
	return states, nil
}
