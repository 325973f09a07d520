package snapshot

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// A program that shares no code with this one checks a snapshot of many chunks by the description of the format: each
// chunk alone, and all together.
func TestIndependentReader(t *testing.T) {
	for _, tool := range []string{"python3", "zstd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the independent reader needs %s: error %v", tool, err)
		}
	}
	c := newTestChain(t, 8)
	c.grow(blockOf{accounts: 30, contracts: 4})
	c.grow(blockOf{accounts: 30, contracts: 4, storage: 30, valueBytes: 60})
	dir := t.TempDir()
	m, err := create(t.Context(), c.store, dir, 1, 900)
	must(t, err)
	command := exec.CommandContext(t.Context(), "python3", "../../../workshop/e2e/independent/snapshot.py", filepath.Join(dir, "2"))
	command.Env = append(command.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("it disagrees: %v\n%s", err, output)
	}
	var found struct{ Height, Chunks, Entries uint64 }
	must(t, json.Unmarshal(output, &found))
	// The chain's own two keys, in addition to those that the manifest counts.
	if want := m.Accounts + m.Contracts + m.StorageEntries + 2; found.Entries != want || found.Chunks != m.ChunkCount ||
		m.ChunkCount < 10 {
		t.Errorf("it found %+v, there are %d entries in %d chunks", found, want, m.ChunkCount)
	}
}
