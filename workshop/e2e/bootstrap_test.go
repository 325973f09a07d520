package e2e

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/proof"
	"github.com/cairn-chain/cairn/types"
)

// mirror is an upstream that forwards all requests to a node, and changes the chunks of snapshots.
type mirror struct {
	server *httptest.Server
	chunk  func(r *http.Request, data []byte) []byte // may change the answer, and wait

	mu    sync.Mutex
	asked []string // paths of chunks
}

func newMirror(t *testing.T, node *process, chunk func(r *http.Request, data []byte) []byte) *mirror {
	t.Helper()
	target, err := url.Parse(node.RPC)
	if err != nil {
		t.Fatal(err)
	}
	m := &mirror{chunk: chunk}
	m.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, ".zst") {
				return nil
			}
			m.mu.Lock()
			m.asked = append(m.asked, r.Request.URL.Path)
			m.mu.Unlock()
			data, err := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(m.chunk(r.Request, data)))
			return err
		},
	})
	t.Cleanup(m.server.Close)
	return m
}

// requests returns the number of requests for each chunk.
func (m *mirror) requests() (times map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	times = make(map[string]int)
	for _, path := range m.asked {
		times[path]++
	}
	return times
}

func untouched(_ *http.Request, data []byte) []byte { return data }

// damaged is a chunk with one bit flipped.
func damaged(_ *http.Request, data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

// snapshotCluster is a primary that made a snapshot under load.
func snapshotCluster(t *testing.T) (c *cluster, offered *api.StateSnapshot) {
	t.Helper()
	c = newCluster(t)
	if err := c.primary.Stop(); err != nil {
		t.Fatal(err)
	}
	c.primary = start(t, "node", "--data-dir", c.path("primary"), "--block-time", "250ms", "--rate-limit", "0",
		"--snapshot-interval", "10", "--snapshot-keep", "1000")
	primary := c.client(c.primary)
	defer primary.Close()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTime)
	defer cancel()
	c.under(c.primary, func() { offered = waitSnapshot(ctx, t, primary) })
	if offered.Accounts < uint64(len(c.load.senders)) {
		t.Errorf("the snapshot has %d accounts, there are %d senders", offered.Accounts, len(c.load.senders))
	}
	return c, offered
}

// fromSnapshot returns the arguments of a replica that begins with a snapshot.
func (c *cluster) fromSnapshot(name string, upstreams ...string) []string {
	arguments := []string{
		"node", "--data-dir", c.path(name), "--mode", "replica", "--bootstrap", "snapshot", "--genesis-hash", c.hash,
	}
	for _, upstream := range upstreams {
		arguments = append(arguments, "--upstream", upstream)
	}
	return arguments
}

// TestReplicaFromSnapshot begins replicas from a snapshot that a primary made under load. Each has the same state,
// without the earlier blocks, and follows the primary, even after a restart.
func TestReplicaFromSnapshot(t *testing.T) {
	t.Parallel()
	c, offered := snapshotCluster(t)
	good, bad := newMirror(t, c.primary, untouched), newMirror(t, c.primary, damaged)
	node := start(t, c.fromSnapshot("replica", bad.server.URL, good.server.URL)...)
	c.requireSnapshotOf(node, offered)
	if len(bad.requests()) == 0 {
		t.Error("nobody was given a damaged chunk")
	}
	if err := node.Stop(); err != nil {
		t.Fatal(err)
	}
	fetched := len(good.requests())
	node = start(t, c.fromSnapshot("replica", good.server.URL)...)
	c.requireSnapshotOf(node, offered)
	c.requireProofsOf(node)
	if len(good.requests()) != fetched {
		t.Error("a replica that has a chain fetched a snapshot")
	}

	user, other := newUser(t), types.BlockHash{1}.String()
	path := filepath.Join(c.path("replica"), "snapshots")
	var listed []struct{ Path string }
	user.succeeds(&listed, "snapshot", "list", "--data-dir", c.path("replica"))
	if len(listed) != 1 {
		t.Fatalf("%s holds %v", path, listed)
	}
	user.succeeds(nil, "snapshot", "verify", listed[0].Path, "--genesis-hash", c.hash)
	refused := append(c.fromSnapshot("x", c.primary.RPC), anyPorts...)
	user.fails(exitUsage, append(refused, "--mode", "archive")...)
	user.fails(exitUsage, append(refused, "--mode", "primary")...)
	user.fails(exitUsage, append(refused, "--bootstrap", "elsewhere")...)
	user.fails(exitUsage, append(refused, "--bootstrap-hash", "0x12")...)
	user.fails(exitUsage, append(refused, "--bootstrap", "genesis", "--bootstrap-hash", other)...)
	if failed := user.fails(
		exitFailed, append(refused, "--bootstrap-hash", other)...,
	); !strings.Contains(failed.Message, "no upstream offers a snapshot") {
		t.Errorf("a snapshot of another block: %s", failed.Message)
	}
	if failed := user.fails(
		exitFailed, append(c.fromSnapshot("x", node.RPC), append(anyPorts, "--bootstrap-hash", other)...)...,
	); !strings.Contains(failed.Message, other) {
		t.Errorf("a snapshot of another block, from a replica: %s", failed.Message)
	}
}

// requireProofsOf waits until a replica that began with a snapshot has taken a proof from its upstream. It fails the
// test unless that proof is sound. No proof may be announced for the snapshot's block, which came without its parent.
func (c *cluster) requireProofsOf(node *process) {
	t := c.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTime)
	defer cancel()
	replica := c.client(node)
	defer replica.Close()
	info, err := replica.NodeInfo(ctx)
	for ; err == nil && info.Proofs == nil; info, err = replica.NodeInfo(ctx) {
		<-time.After(loadPause)
	}
	if err != nil || info.Proofs.Oldest <= info.OldestHeight {
		t.Fatalf("proofs of blocks %+v, blocks from %d on, error %v", info.Proofs, info.OldestHeight, err)
	}
	bundle, err := replica.ProofBundle(ctx, info.Proofs.Oldest, proof.MaxBundleBytes)
	if err != nil {
		t.Fatal(err)
	}
	if verdict, err := proof.Verify(bundle, 128); err != nil || verdict.Height != info.Proofs.Oldest {
		t.Errorf("got %+v, error %v, want Height %v", verdict, err, info.Proofs.Oldest)
	}
	if _, err := replica.ProofBundle(
		ctx, info.OldestHeight, proof.MaxBundleBytes,
	); !errors.Is(err, api.ErrProofNotStored) {
		t.Errorf("the block of the snapshot: error %v", err)
	}
}

// TestBootstrapKilled kills a replica that begins with a snapshot: while it fetches, when it serves nothing yet, and
// while it imports. It resumes with the data that it has.
func TestBootstrapKilled(t *testing.T) {
	t.Parallel()
	c, offered := snapshotCluster(t)
	held, release := make(chan struct{}, 1), make(chan struct{})
	upstream := newMirror(t, c.primary, func(r *http.Request, data []byte) []byte {
		if isFirst(r.URL.Path) {
			return data
		}
		select {
		case held <- struct{}{}:
		default:
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
		return data
	})
	arguments := c.fromSnapshot("replica", upstream.server.URL)
	address := freeAddress(t)
	node := launchAt(t, address, arguments...)
	select {
	case <-held:
	case <-time.After(catchUpTime):
		t.Fatal("it does not ask for the second chunk")
	}
	if connection, err := net.Dial("tcp", address); err == nil {
		t.Errorf("it listens before it has a state, error %v, want an error", connection.Close())
	}
	if _, err := os.Stat(node.ready); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it says that it serves: error %v, want %v", err, fs.ErrNotExist)
	}
	for _, second := range [][]string{
		append(c.fromSnapshot("replica", c.primary.RPC), anyPorts...),
		append([]string{
			"node", "--data-dir", c.path("replica"), "--mode", "replica", "--upstream", c.primary.RPC, "--genesis-hash", c.hash,
		}, anyPorts...),
		{"snapshot", "import", c.primary.RPC, "--data-dir", c.path("replica"), "--genesis-hash", c.hash},
	} {
		if refused := newUser(t).fails(
			exitFailed, second...,
		); !strings.Contains(refused.Message, "in use by another process") {
			t.Errorf("%v in the same directory: %s", second, refused.Message)
		}
	}
	node.Kill()
	close(release)

	importing := filepath.Join(c.path("replica"), "db.importing")
	tries := 1
	for ; !killImporting(t, c.path("replica"), arguments); tries++ {
		if tries == *kills {
			t.Fatalf("none of %d kills hit an import", tries)
		}
	}
	t.Logf("kill %d hit the import", tries)
	fetched := upstream.requests()
	for path, times := range fetched {
		if isFirst(path) && times != 1 {
			t.Errorf("%s was there whole and was asked for %d times", path, times)
		}
	}
	c.requireSnapshotOf(start(t, arguments...), offered)
	if again := upstream.requests(); !maps.Equal(again, fetched) {
		t.Errorf("chunks were asked for %v times in the end, %v when the import was killed", again, fetched)
	}
	if exists(t, importing) {
		t.Error("what the killed import left is there")
	}
}

// killImporting starts a replica and kills it once its import has begun. It reports whether the import was still
// running; if not, the replica has only downloaded the snapshot.
func killImporting(t *testing.T, dir string, arguments []string) bool {
	t.Helper()
	database, importing := filepath.Join(dir, "db"), filepath.Join(dir, "db.importing")
	node := launch(t, arguments...)
	for deadline := time.After(catchUpTime); !exists(t, importing) && !exists(t, database); {
		select {
		case <-time.After(time.Millisecond):
		case <-deadline:
			t.Fatal("no import begins")
		}
	}
	node.Kill()
	if !exists(t, database) {
		return true
	}
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Name() != "snapshots" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, entry.Name())))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// isFirst reports whether a path is that of a snapshot's first chunk, the genesis.
func isFirst(path string) bool { return strings.HasSuffix(path, "/000000.zst") }

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// requireSnapshotOf waits until a replica has the primary's newest block. It fails the test unless the replica began at
// or after the offered snapshot, with the primary's blocks and balances.
func (c *cluster) requireSnapshotOf(node *process, offered *api.StateSnapshot) {
	t := c.t
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTime)
	defer cancel()
	primary, replica := c.client(c.primary), c.client(node)
	defer primary.Close()
	defer replica.Close()
	head, err := primary.BlockNumber(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for local := types.Height(0); local < head; {
		status, err := replica.SyncStatus(ctx)
		if err != nil {
			t.Fatal(err)
		}
		local = status.LocalHeight
		<-time.After(loadPause)
	}
	info, err := replica.NodeInfo(ctx)
	if err != nil || info.OldestHeight < offered.Height {
		t.Fatalf("the oldest height is %d, the snapshot was of %d, error %v", info.OldestHeight, offered.Height, err)
	}
	for _, height := range []types.Height{info.OldestHeight, head} {
		want, err := primary.BlockByNumber(ctx, api.AtHeight(height), false)
		got, gotErr := replica.BlockByNumber(ctx, api.AtHeight(height), false)
		if err := errors.Join(err, gotErr); err != nil || want == nil || got == nil || want.Hash != got.Hash ||
			want.StateRoot != got.StateRoot {
			t.Fatalf("block %d is not the same: got %+v, %+v, error %v", height, want, got, err)
		}
	}
	for i, s := range c.load.senders {
		want, err := primary.Balance(ctx, s.account, api.AtHeight(head))
		got, gotErr := replica.Balance(ctx, s.account, api.AtHeight(head))
		if err := errors.Join(err, gotErr); err != nil || got != want {
			t.Fatalf("sender %d has %d, at the primary %d, error %v", i, got, want, err)
		}
	}
}
