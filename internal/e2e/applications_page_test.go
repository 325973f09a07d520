package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The program in docs/applications.md compiles, and does against a node what the page says.
func TestProgramOfTheApplicationsPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/applications.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n```go\n")
	program, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("the page has no program")
	}
	source := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(source, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	node := startDev(t, "--ephemeral", "--block-time", "0")
	command := exec.CommandContext(t.Context(), "go", "run", source, node.RPC)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as the tests are run: packages are not compiled again
	output, err := command.CombinedOutput()
	if want := "paid in block 1; dev1 has 1000150000000 units\n"; err != nil || string(output) != want {
		t.Errorf("the program printed %q (%v), want %q", output, err, want)
	}
}
