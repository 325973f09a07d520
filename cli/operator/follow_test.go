package operator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file with the upstreams' key that others can read is refused, as for every other secret.
func TestUpstreamKeyIsSecret(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("a key of the upstream\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := followSettings{Upstream: []string{"http://127.0.0.1:8777"}, UpstreamKeyFile: file}
	if f, err := s.config(); err != nil || f.KeyFile != file {
		t.Errorf("got %q, want %q, error %v", f.KeyFile, file, err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := s.config(); err == nil || !strings.Contains(err.Error(), "--upstream-key-file") ||
		!strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that others may read: error %v", err)
	}
}
