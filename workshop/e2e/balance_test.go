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
// send, and finally the primary. It does the same with members of a cluster. `make balance` does more.
func TestBalancers(t *testing.T) {
	t.Parallel()
	balance := filepath.Join(t.TempDir(), "balance")
	build := exec.Command("go", "build", "-o", balance, "github.com/cairn-chain/cairn/workshop/balance")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	binary := buildBinary(t)
	for i, nodes := range []string{"replicas", "cluster"} {
		t.Run(nodes, func(t *testing.T) {
			t.Parallel()
			// Outgoing connections get no ports below Linux's range; concurrent runs on a machine seldom get the same.
			port := 10_000 + os.Getpid()%800*24 + i*12
			run := exec.Command(balance, "-program", binary, "-configs", filepath.Join("..", "..", "deploy"),
				"-port", strconv.Itoa(port), "-calm", "1s", "-kill-only", "-cluster="+strconv.FormatBool(nodes == "cluster"))
			run.Env = append(environment(), "TMPDIR="+t.TempDir())
			output, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Logf("%s", output)
		})
	}
}
