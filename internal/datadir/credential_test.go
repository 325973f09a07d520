package datadir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A unit reads root's key as a systemd credential, whose mode an access list widens. Any other key is read in place.
func TestKeyIsACredential(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cairn_protocol.key"), []byte(strings.Repeat("07", 32)+"\n"), 0o440); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if _, err := ReadProtocolKey("/etc/cairn/protocol.key"); err != nil {
		t.Errorf("a credential: error %v", err)
	}
	if _, err := ReadProtocolKey("/etc/cairn/other.key"); !os.IsNotExist(err) || !strings.Contains(err.Error(), "/etc/cairn/other.key") {
		t.Errorf("no credential: got %v, want that there is no /etc/cairn/other.key", err)
	}
	if _, err := ReadProtocolKey(filepath.Join(dir, "cairn_protocol.key")); err == nil || !strings.Contains(err.Error(), "chmod") {
		t.Errorf("a file that others may read: got %v, want it refused", err)
	}
}
