package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/contractsource"
)

// said is a module with a source's hash, and the source's archive. The archive names a toolchain that does not exist.
func said(t *testing.T) (code, archive []byte) {
	t.Helper()
	archive, err := contractsource.Source{
		Manifest: contractsource.Manifest{
			Format: 1, Language: contractsource.AssemblyScript, Name: "counter", Toolchain: map[string]string{"asc": "none"},
		},
		Files: map[string][]byte{"assembly/index.ts": []byte("//")},
	}.Archive()
	if err != nil {
		t.Fatal(err)
	}
	hash := contractsource.HashOf(archive)
	section := "\x0ccairn_source\x01" + string(hash[:])
	return append(module(t, "counter"), "\x00"+string(rune(len(section)))+section...), archive
}

// TestPublishedSourceIsFound publishes a source on a real node, which stores it, and has the command find it there.
func TestPublishedSourceIsFound(t *testing.T) {
	t.Parallel()
	node := startDev(t, "--block-time", "0", "--data-dir", t.TempDir())
	u := newUser(t).of(node)
	u.environment = append(u.environment, "CAIRN_ADMIN="+node.Admin)
	dir := t.TempDir()
	code, archive := said(t)
	wasm, tar := filepath.Join(dir, "counter.wasm"), filepath.Join(dir, "counter.source.tar")
	other := filepath.Join(dir, "other.tar")
	for path, content := range map[string][]byte{wasm: code, tar: archive, other: archive[:len(archive)-1]} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	u.succeeds(nil, "deploy", wasm, "--from", "dev0", "--alias", "said")
	u.succeeds(nil, "deploy", "../../contracts/wasm/counter.wasm", "--from", "dev0", "--alias", "silent")
	refused := func(want string, args ...string) {
		t.Helper()
		if f := u.fails(exitFailed, args...); !strings.Contains(f.Message, want) {
			t.Errorf("%q, without %q", f.Message, want)
		}
	}
	publish := func(contract, source string) []string {
		return []string{"contract", "publish", contract, "--source", source}
	}
	refused("is not published on this node", "contract", "verify", "said", "--yes")
	refused("the code contains no source hash", publish("silent", tar)...)
	refused("but the archive is 0x", publish("said", other)...)
	refused("--admin-token-file", publish("said", tar)...)
	u.environment = append(u.environment, "CAIRN_ADMIN_TOKEN_FILE="+node.Token)
	var result struct{ SourceHash, Path string }
	u.succeeds(&result, publish("said", tar)...)

	hash := contractsource.HashOf(archive)
	c, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Source(t.Context(), hash, contractsource.MaxArchiveBytes)
	if err != nil || !bytes.Equal(got, archive) || result.Path != "/sources/"+hash.String() {
		t.Errorf("%d bytes at %s, error %v", len(got), result.Path, err)
	}
	// The source is found, but its toolchain does not exist.
	refused("not checked", "contract", "verify", "said", "--yes")
	memory := startDev(t, "--block-time", "0", "--ephemeral")
	refused("in memory, and stores no sources", append(publish("said", tar), memory.AdminFlags()...)...)
}
