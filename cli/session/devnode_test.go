package session

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The commands find only a running development node.
func TestDevNodeURL(t *testing.T) {
	const there = "http://127.0.0.1:18545"
	ended := exec.Command(os.Args[0], "-test.run", "^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	of := func(pid int) string { return fmt.Sprintf(`{"rpc":%q,"admin":"","pid":%d}`, there, pid) }
	for name, test := range map[string]struct{ content, want string }{
		"it runs":      {of(os.Getpid()), there},
		"it was ended": {of(ended.ProcessState.Pid()), defaultRPCURL},
		"no process":   {of(0), defaultRPCURL},
		"no address":   {fmt.Sprintf(`{"pid":%d}`, os.Getpid()), defaultRPCURL},
		"no JSON":      {"18545", defaultRPCURL},
		"no file":      {"", defaultRPCURL},
	} {
		data := t.TempDir()
		if test.content != "" {
			if err := os.MkdirAll(filepath.Join(data, "cairn"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(data, "cairn", DevNodeFile), []byte(test.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := devNodeURL([]string{"XDG_DATA_HOME=" + data}); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
