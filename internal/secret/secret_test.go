package secret

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrittenIsReadByItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte("an older one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("secret")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if got, err := Read(path); err != nil || string(got) != "secret" {
		t.Errorf("%q, %v; want secret", got, err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that a group may read: %v, want advice to chmod 600", err)
	}
}

func TestReadHex(t *testing.T) {
	digits := strings.Repeat("0a", Size)
	for _, c := range []struct {
		content string
		ok      bool
	}{
		{digits, true}, {"0x" + digits + "\n", true}, {digits[2:], false}, {digits + "0a", false},
		{strings.Repeat("g", 2*Size), false}, {"", false},
	} {
		path := filepath.Join(t.TempDir(), "secret")
		if err := Write(path, []byte(c.content)); err != nil {
			t.Fatal(err)
		}
		got, err := ReadHex(path)
		if (err == nil) != c.ok || c.ok && !bytes.Equal(got[:], bytes.Repeat([]byte{10}, Size)) {
			t.Errorf("%q: %x, %v; want success: %v", c.content, got, err, c.ok)
		}
	}
}
