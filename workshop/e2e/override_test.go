package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-chain/cairn/types"
)

// TestOverrideIsFollowed loses a producer's key: another node continues by an emergency override. A follower of headers
// accepts its blocks only with the same override.
func TestOverrideIsFollowed(t *testing.T) {
	t.Parallel()
	h := newHandover(t)
	h.awaitSynced(h.next)
	info, err := connect(t, h.first).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := h.first.Stop(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "parameters.json")
	var forced struct {
		Height  types.Height
		Setting string
	}
	newUser(t).of(h.next).succeeds(&forced, "promote", "--override", file, "--yes")
	if err := h.next.Stop(); err != nil {
		t.Fatal(err)
	}
	override := strings.Fields(forced.Setting)
	next := start(t, append([]string{"node", "--data-dir", h.command[2], "--mode", "primary", "--block-time",
		"200ms", "--protocol-key", h.keys[1]}, override...)...)
	u := newUser(t).of(next)
	u.succeeds(nil, "watch", "blocks", "--from", fmt.Sprint(forced.Height), "--count", "1")
	var r receipt
	u.succeeds(&r, "configure", "--admin-key", h.admin, "--target-bps", "4000")
	trusted := []string{"--trusted-header", "0:" + info.GenesisHash.String()}
	proofs := map[string][]string{
		"headers":         append([]string{"proof", "headers"}, trusted...),
		"each with proof": append([]string{"proof", "headers", "--each-proof"}, trusted...),
		"inclusion": append([]string{"proof", "inclusion", r.TransactionHash.String(), "--out",
			filepath.Join(dir, "tx.proof")}, trusted...),
	}
	for name, command := range proofs {
		if refused := u.fails(exitFailed, command...); !strings.Contains(refused.Message, "refused") {
			t.Errorf("%s without the override: got %q, want %q", name, refused.Message, "refused")
		}
		u.succeeds(nil, append(command, override...)...)
	}
	if _, err := os.Stat(filepath.Join(dir, "tx.proof")); err != nil {
		t.Error(err)
	}
}
