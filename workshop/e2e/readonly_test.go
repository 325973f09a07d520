package e2e

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/api"
)

// lookingCommands only read a data directory DIR; OUT is a file elsewhere.
var lookingCommands = [][]string{
	{"doctor", "--data-dir", "DIR"},
	{"db", "check", "--data-dir", "DIR"},
	{"db", "export", "--data-dir", "DIR", "--out", "OUT"},
	{"snapshot", "list", "--data-dir", "DIR"},
	{"snapshot", "verify", "DIR/snapshots/HEIGHT"},
	{"snapshot", "export", "DIR/snapshots/HEIGHT", "--out", "OUT"},
	{"quarantine", "list", "--data-dir", "DIR"},
	{"cluster", "recover", "--data-dir", "DIR"}, // it asks a node, and none answers
	{"promote", "--from-dead", "--data-dir", "DIR", "--protocol-key", "DIR/protocol.key", "--alone"},
}

// Commands that only read a data directory write nothing there: no file, mode, owner, time or byte of it changes. This
// includes commands that ask for a confirmation, before they are answered.
func TestLookingWritesNothing(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "chain")
	u := newUser(t)
	u.succeeds(nil, "init", dir, "--block-time", "100ms")
	node := start(t, "node", "--data-dir", dir, "--prove", "off")
	h := &handover{t: t}
	h.await(node, "some blocks further", func(s api.SyncStatus) bool { return s.LocalHeight >= 6 })
	node.Kill()                                              // the database's log is not empty
	u.succeeds(nil, "snapshot", "create", "--data-dir", dir) // the only one, so that none of this height exists
	u.succeeds(nil, "cluster", "init", "--data-dir", dir, "--name", "a", "--address", "127.0.0.1:9")
	snapshots, err := filepath.Glob(filepath.Join(dir, "snapshots", "*"))
	if err != nil || len(snapshots) == 0 {
		t.Fatalf("snapshots %q, error %v", snapshots, err)
	}
	height := filepath.Base(snapshots[0])
	before := lookAtTree(t, dir)
	for i, command := range lookingCommands {
		replace := strings.NewReplacer("DIR", dir, "OUT", filepath.Join(root, fmt.Sprint(i)), "HEIGHT", height)
		args := make([]string, len(command))
		for j, arg := range command {
			args[j] = replace.Replace(arg)
		}
		r := u.run(args...)
		if r.stdout == "" && r.stderr == "" {
			t.Errorf("it says nothing: got %s", r)
		}
		if after := lookAtTree(t, dir); !maps.Equal(before, after) {
			t.Errorf("it changes the directory: got %s", r)
			for name := range maps.All(after) {
				if before[name] != after[name] {
					t.Errorf("%s: %s, was %s", name, after[name], before[name])
				}
			}
			before = after
		}
	}
}

// lookAtTree returns a complete description of the files of a directory.
func lookAtTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		var content []byte
		if info.Mode().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		found[path] = fmt.Sprintf("%s %v %d %x", info.Mode(), info.ModTime(), info.Size(), sha256.Sum256(content))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
