//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// TestBalancers kills a replica behind nginx and behind HAProxy with the shipped configurations, while clients read and
// send: none of them may notice. `make balance` does more.
func TestBalancers(t *testing.T) {
	balance := filepath.Join(t.TempDir(), "balance")
	build := exec.Command("go", "build", "-o", balance, "github.com/cairn-chain/cairn/deploy/balance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	// What opens connections gets no ports below those that Linux gives; several runs on a machine seldom get the same.
	port := 10_000 + os.Getpid()%1_500*8
	run := exec.Command(balance, "-program", buildBinary(t), "-configs", filepath.Join("..", "..", "deploy"),
		"-port", strconv.Itoa(port), "-calm", "1s", "-kill-only")
	run.Env = append(environment(), "TMPDIR="+t.TempDir())
	output, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	t.Logf("%s", output)
}
