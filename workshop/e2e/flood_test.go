//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestFlood runs every attack of the flood at once against a node, on a small scale, and checks the rules that do not
// depend on the machine's speed.
func TestFlood(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "flood")
	build := exec.Command("go", "build", "-o", program, "github.com/cairn-chain/cairn/workshop/flood")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	flood := exec.Command(program, "-cairn", buildBinary(t), "-dir", t.TempDir(), "-json", "-timing=false", "-attacks",
		"none", "-quiet=false",
		"-duration", "6s", "-clients", "4", "-honest", "2", "-idle", "100", "-stock", "1000", "-pool", "1000", "-memory",
		"2048", "-rate-limit", "5")
	flood.Env = environment()
	output, err := flood.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("%v\n%s\n%s", err, output, failed.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	var results []struct {
		Requests       int            `json:"requests"`
		Outcomes       map[string]int `json:"outcomes"`
		HonestIncluded int            `json:"honestIncluded"`
	}
	if err := json.Unmarshal(output, &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].HonestIncluded == 0 {
		t.Fatalf("results %s", output)
	}
	// One outcome of each attack shows that it took place.
	for _, outcome := range []string{
		"-32700 bad_json", "-32700 too_deep", "HTTP 400", "HTTP 413", "-32040 batch_size", "HTTP 429", "waiting at the end",
		"not read",
		"idle to the end", "-32001 undecodable", "-32002 bad_signature", "-32006 already_known", "-32003 nonce_too_high",
		"-32005 replacement_underpriced", "-32005 fee_too_low",
	} {
		if results[0].Outcomes[outcome] == 0 {
			t.Errorf("nothing was answered %s: %v", outcome, results[0].Outcomes)
		}
	}
}
