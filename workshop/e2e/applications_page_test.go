package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// applicationsPage is docs/applications.md.
func applicationsPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/applications.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// promised returns the answer that a comment in the page gives for a call, up to an omission.
var promised = regexp.MustCompile(`# \{.*("result":[^…]*?)(?:…|\}(?:: .*)?$)`)

// The calls of docs/applications.md, run in order in a shell, get the answers in the page's comments.
func TestCallsOfTheApplicationsPage(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--ephemeral", "--block-time", "0")
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)\n```sh\n(.*?)\n```\n").FindAllStringSubmatch(applicationsPage(t), -1) {
		if !regexp.MustCompile(`(?m)^(cairn dev|go mod) `).MatchString(block[1]) {
			script.WriteString(strings.ReplaceAll(block[1], "http://127.0.0.1:8777", node.RPC) + "\n")
		}
	}
	var calls []string
	for line := range strings.Lines(script.String()) {
		if strings.HasPrefix(line, "rpc ") {
			calls = append(calls, strings.TrimSpace(line))
		}
	}
	command := exec.CommandContext(t.Context(), "sh", "-e", "-c", script.String())
	command.Dir = "../.."
	command.Env = append(
		newUser(t).of(node).environment, "PATH="+filepath.Dir(buildBinary(t))+string(os.PathListSeparator)+os.Getenv("PATH"),
	)
	output, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	var answers []string
	for line := range strings.Lines(string(output)) {
		if strings.HasPrefix(line, `{"jsonrpc":`) {
			answers = append(answers, strings.TrimSpace(line))
		}
	}
	if len(answers) != len(calls) || len(calls) < 20 {
		t.Fatalf("%d answers to %d calls: %s", len(answers), len(calls), output)
	}
	checked := 0
	for i, call := range calls {
		want := `"result":`
		if comment := promised.FindStringSubmatch(call); comment != nil {
			want = comment[1]
			checked++
		}
		if !strings.Contains(answers[i], want) || strings.Contains(answers[i], `"id":1,"error":`) {
			t.Errorf("%s\nanswers %s, want %s", call, answers[i], want)
		}
	}
	if checked < 10 {
		t.Errorf("only %d comments say what is answered", checked)
	}
}

// The program in docs/applications.md compiles, and does on a node as the page says.
func TestProgramOfTheApplicationsPage(t *testing.T) {
	t.Parallel()
	_, rest, _ := strings.Cut(applicationsPage(t), "\n```go\n")
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
	command.Dir = "../.."
	// As for the tests themselves, so that packages are not compiled again.
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	output, err := command.CombinedOutput()
	if want := "paid in block 1; dev1 has 1000150000000 units\n"; err != nil || string(output) != want {
		t.Errorf("the program printed %q (%v), want %q", output, err, want)
	}
}
