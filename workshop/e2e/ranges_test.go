package e2e

import (
	"bytes"
	"io"
	"math/rand/v2"
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

// servingRanges is a node behind a proxy that passes each served range to look, which may change it; nil stands for one
// that the node does not have.
func servingRanges(t *testing.T, node *process, look func(served []byte)) string {
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
		if r.StatusCode != http.StatusOK {
			look(nil)
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		look(body)
		err = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		return err
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// lyingUpstream is a node behind a proxy that changes the ranges it serves, and counts them.
func lyingUpstream(t *testing.T, node *process, lies, asked *atomic.Int64) string {
	t.Helper()
	return servingRanges(t, node, func(served []byte) {
		asked.Add(1)
		if lies.Load() != 0 && served != nil {
			served[len(served)-100] ^= 1
		}
	})
}

// awaitRanges returns once a node has the proofs of all ranges of sixteen blocks up to the given one.
func awaitRanges(t *testing.T, node *process, newest types.Height) {
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

// blockHash returns the hash of a node's block.
func blockHash(t *testing.T, node *process, height types.Height) string {
	t.Helper()
	block, err := connect(t, node).BlockByNumber(t.Context(), api.AtHeight(height), false)
	if err != nil || block == nil {
		t.Fatalf("block %d: error %v", height, err)
	}
	return block.Hash.String()
}

// TestCatchUpByRanges has a prover make ranges of sixteen blocks. The command line and a relaying replica verify them,
// and a replica without state catches up by them: it then has the primary's headers, and fewer proofs of blocks. It
// leaves an upstream that lies about a range for an honest one, and then serves the ranges itself.
func TestCatchUpByRanges(t *testing.T) {
	t.Parallel()
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
	awaitRanges(t, primary, 32)
	file := filepath.Join(t.TempDir(), "range.proof")
	u.succeeds(nil, "proof", "get", "1-16", "--bits", "100", "-o", file)
	u.succeeds(nil, "proof", "verify", file, "--bits", "100")
	u.fails(1, "proof", "get", "2-17", "--bits", "100")
	var walked struct {
		FromHeight, Height types.Height
		BlockHash          types.BlockHash
		ProducerShown      bool
		Ranges, Blocks     int
	}
	u.succeeds(&walked, "proof", "chain", "35", "--bits", "100", "--trusted-header", "0:"+info.GenesisHash.String())
	if walked.FromHeight != 1 || walked.Height != 35 || walked.Ranges != 2 || walked.Blocks != 3 || !walked.ProducerShown {
		t.Errorf("the chain is verified: got %+v", walked)
	}
	from34 := "34:" + blockHash(t, primary, 34)
	u.succeeds(&walked, "proof", "chain", "--bits", "100", "--trusted-header", from34)
	if walked.FromHeight != 35 || walked.Height < 35 || walked.Ranges != 0 {
		t.Errorf("the chain is verified from block 34: got %+v", walked)
	}
	u.fails(1, "proof", "chain", "--bits", "100", "--trusted-header", "0:"+types.BlockHash{1}.String())
	u.fails(1, "proof", "chain", "--bits", "128", "--trusted-header", "0:"+info.GenesisHash.String())
	liar := newUser(t)
	liar.environment = append(liar.environment, "CAIRN_RPC_URL="+servingRanges(t, primary, func(served []byte) {
		if served != nil {
			served[len(served)-100] ^= 1
		}
	}))
	liar.fails(1, "proof", "chain", "--bits", "100", "--trusted-header", "0:"+info.GenesisHash.String())
	u.fails(2, "proof", "chain", "--bits", "100", "--trusted-header", "35")
	u.fails(2, "proof", "chain", "34", "--trusted-header", from34)
	encoded, err := connect(t, primary).RangeProof(t.Context(), 17, 32, proof.MaxBundleBytes)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := proof.VerifyRange(encoded, 100); err != nil || v.FromHeight != 17 || v.Height != 32 {
		t.Errorf("got %+v, error %v, want FromHeight 17 and Height 32", v, err)
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
		t.Errorf("node info %+v, error %v", own, err)
	}
	lies.Store(0)
	asked.Store(0)
	second := follow("second", lyingUpstream(t, replica, &lies, &asked))
	awaitBlock(t, second, primary, blocks)
	if asked.Load() != 2 {
		t.Errorf("the replica of the replica took %d ranges, want 2", asked.Load())
	}
	relaying := start(t, "node", "--data-dir", filepath.Join(t.TempDir(), "relaying"), "--mode", "replica", "--proof-bits",
		"100", "--range-blocks", "16", "--upstream", primary.RPC, "--genesis-hash", info.GenesisHash.String())
	awaitBlock(t, relaying, primary, blocks)
	awaitRanges(t, relaying, 32)
}

// TestKilledBetweenRanges kills a replica without state at random moments after a range was sent to it: while it
// verifies and executes the range, or puts its blocks on disk. Each time it has all blocks of a range or none, and
// continues.
func TestKilledBetweenRanges(t *testing.T) {
	t.Parallel()
	const kills = 6
	const blocks = 16*kills + 3
	primary := startDev(t, "--ephemeral", "--block-time", "0", "--proof-bits", "100", "--range-blocks", "16")
	u := newUser(t).of(primary)
	info, err := connect(t, primary).NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range kills {
		u.succeeds(nil, "send", "dev1", "1", "--from", "dev0")
		if _, err := connect(t, primary).Dev().Mine(t.Context(), 15); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := connect(t, primary).Dev().Mine(t.Context(), blocks-16*kills); err != nil {
		t.Fatal(err)
	}
	awaitRanges(t, primary, 16*kills)
	sent := make(chan struct{}, 1)
	upstream := servingRanges(t, primary, func([]byte) {
		select {
		case sent <- struct{}{}:
		default:
		}
	})
	dir := filepath.Join(t.TempDir(), "replica")
	args := []string{
		"node", "--data-dir", dir, "--mode", "replica", "--verify", "stateless", "--proof-bits", "100",
		"--genesis-hash", info.GenesisHash.String(), "--upstream", upstream,
	}
	seed := uint64(time.Now().UnixNano())
	random, told := rand.New(rand.NewPCG(seed, 0)), types.Height(0)
	var heads []types.Height
	for range kills {
		replica := launch(t, args...)
		select {
		case <-sent:
		case <-replica.Ended():
			t.Fatal(replica.EndedEarly())
		}
		<-time.After(time.Duration(random.Int64N(int64(40 * time.Millisecond))))
		replica.Kill()
		select { // of the node that is gone
		case <-sent:
		default:
		}
		var report struct{ Head types.Height }
		u.succeeds(&report, "db", "check", "--data-dir", dir)
		if report.Head < told || report.Head < 16*kills && report.Head%16 != 0 {
			t.Errorf("seed %d: the head is block %d after block %d", seed, report.Head, told)
		}
		told, heads = report.Head, append(heads, report.Head)
		if told >= 16*kills {
			break
		}
	}
	t.Logf("after the kills the heads were %d", heads)
	awaitBlock(t, start(t, args...), primary, blocks)
}
