package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestContractBuildRefuses(t *testing.T) {
	d := newDesk(t, nil)
	empty := t.TempDir()
	if o := d.run(t, "contract", "build", empty); o.exit != 1 ||
		!strings.Contains(o.err, "neither Cargo.toml (Rust) nor assembly/index.ts") {
		t.Errorf("an empty directory: %d %s", o.exit, o.err)
	}
	t.Setenv("RUSTFLAGS", "-Cdebuginfo=2")
	if o := d.run(t, "contract", "build", empty); !strings.Contains(o.err, "RUSTFLAGS is set, but ignored") {
		t.Errorf("RUSTFLAGS: %s", o.err)
	}
	if _, err := os.Stat(filepath.Join(empty, "build")); !os.IsNotExist(err) {
		t.Errorf("something was written: error %v", err)
	}
}
