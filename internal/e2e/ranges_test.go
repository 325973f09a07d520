package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// lyingUpstream is a node behind a proxy that changes the ranges it serves, and counts them.
func lyingUpstream(t *testing.T, node *process, lies, asked *atomic.Int64) string {
	t.Helper()
	target, err := url.Parse(node.RPC)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasPrefix(r.Request.URL.Path, "/proof/") || !strings.Contains(r.Request.URL.Path, "-") {
			return nil
		}
		asked.Add(1)
		if lies.Load() == 0 || r.StatusCode != http.StatusOK {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		body[len(body)-100] ^= 1
		r.Body = io.NopCloser(bytes.NewReader(body))
		return r.Body.Close()
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// TestCatchUpByRanges has a prover make ranges of sixteen blocks. The command line and a relaying replica verify them,
// and a replica without state catches up by them: it has the primary's headers then, and fewer proofs of blocks. An
// upstream that lies about a range is left for one that does not, and the ranges can be had from the replica itself.
func TestCatchUpByRanges(t *testing.T) {
	primary := startDev(t, "--ephemeral", "--block-time", "0", "--proof-bits", "100", "--range-blocks", "16")
	u := newUser(t).of(primary)
	info, err := connect(t, primary).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const blocks = 35
	for range 3 {
		u.succeeds(nil, "send", "dev1", "1", "--from", "dev0")
		if _, err := connect(t, primary).Dev().Mine(t.Context(), blocks/3-1); err != nil {
			t.Fatal(err)
		}
	}
	u.succeeds(nil, "send", "dev1", "1", "--from", "dev0")
	if _, err := connect(t, primary).Dev().Mine(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	awaitRanges := func(node *process, newest types.Height) {
		t.Helper()
		for ctx, c := t.Context(), connect(t, node); ; <-time.After(loadPause) {
			now, err := c.NodeInfo(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if len(now.RangeProofs) == 1 && now.RangeProofs[0].Newest == newest && now.RangeProofs[0].Blocks == 16 {
				return
			}
		}
	}
	awaitRanges(primary, 32)
	file := filepath.Join(t.TempDir(), "range.proof")
	u.succeeds(nil, "proof", "get", "1-16", "--bits", "100", "-o", file)
	u.succeeds(nil, "proof", "verify", file, "--bits", "100")
	u.fails(1, "proof", "get", "2-17", "--bits", "100")
	encoded, err := connect(t, primary).RangeProof(t.Context(), 17, 32, proof.MaxBundleBytes)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := proof.VerifyRange(encoded, 100); err != nil || v.FromHeight != 17 || v.Height != 32 {
		t.Errorf("%+v, %v", v, err)
	}

	var lies, asked atomic.Int64
	lies.Store(1)
	follow := func(name string, upstreams ...string) *process {
		args := []string{
			"node", "--data-dir", filepath.Join(t.TempDir(), name), "--mode", "replica", "--verify", "stateless",
			"--proof-bits", "100", "--genesis-hash", info.GenesisHash.String(),
		}
		for _, upstream := range upstreams {
			args = append(args, "--upstream", upstream)
		}
		return start(t, args...)
	}
	replica := follow("replica", lyingUpstream(t, primary, &lies, &asked), primary.RPC)
	awaitBlock(t, replica, primary, blocks)
	if asked.Load() == 0 {
		t.Error("the lying upstream was not asked for a range")
	}
	own, err := connect(t, replica).NodeInfo(t.Context())
	if err != nil || own.Verification != api.VerificationRanges || len(own.RangeProofs) != 1 ||
		own.Proofs == nil || own.Proofs.Oldest != 33 {
		t.Errorf("node info %+v, %v", own, err)
	}
	lies.Store(0)
	asked.Store(0)
	second := follow("second", lyingUpstream(t, replica, &lies, &asked))
	awaitBlock(t, second, primary, blocks)
	if asked.Load() != 2 {
		t.Errorf("the replica of the replica took %d ranges", asked.Load())
	}
	relaying := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "relaying"), "--mode", "replica", "--proof-bits",
		"100", "--range-blocks", "16", "--upstream", primary.RPC, "--genesis-hash", info.GenesisHash.String())
	awaitBlock(t, relaying, primary, blocks)
	awaitRanges(relaying, 32)
}
