package operator

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/storage/kv"
)

// A member of a cluster is never restored from a copy, and no message about its damage says so.
func TestDamagedMemberIsReplaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "member.id"), make([]byte, 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if member, err := datadir.IsMember(dir); err != nil || !member {
		t.Fatalf("got %t, %v, want the directory of a member", member, err)
	}
	err := datadir.Explain(dir, kv.ErrDamaged)
	if text := err.Error(); !errors.Is(err, kv.ErrDamaged) || strings.Contains(text, "restore") ||
		!strings.Contains(text, "cairn cluster remove") {
		t.Errorf("got %q, want that the member is removed, and nothing of a copy", text)
	}
}
