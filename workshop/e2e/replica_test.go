package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/types"
)

// catchUpTime bounds the time until a replica has every block, once nothing hinders it.
const catchUpTime = 3 * time.Minute

// link is a proxy with a fixed address in front of a node whose ports change at each restart. It can have the faults of
// a bad network.
type link struct {
	server *httptest.Server
	target atomic.Pointer[url.URL]
	faulty atomic.Bool

	mu      sync.Mutex // guards the fields below
	random  *rand.Rand
	earlier []byte
	faults  int
}

func newLink(t *testing.T, seed uint64) *link {
	t.Helper()
	l := &link{random: rand.New(rand.NewPCG(seed, 3))}
	straight := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(l.target.Load()) },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	l.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.faulty.Load() {
			l.bend(w, r)
			return
		}
		straight.ServeHTTP(w, r)
	}))
	t.Cleanup(l.server.Close)
	return l
}

// to connects the link to a node.
func (l *link) to(t *testing.T, node *process) {
	t.Helper()
	target, err := url.Parse(node.RPC)
	if err != nil {
		t.Fatal(err)
	}
	l.target.Store(target)
}

// bend answers a request with the node's answer, or with something else.
func (l *link) bend(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	target := *l.target.Load()
	target.Path, target.RawQuery = r.URL.Path, r.URL.RawQuery
	request, err := http.NewRequestWithContext(r.Context(), r.Method, target.String(), bytes.NewReader(body))
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	request.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(http.ErrAbortHandler) // a broken connection
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil || len(answer) == 0 {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", response.Header.Get("Content-Type"))
	l.mu.Lock()
	fault, place := l.random.IntN(12), l.random.IntN(len(answer))
	earlier := l.earlier
	l.earlier = answer
	if fault < 6 {
		l.faults++
	}
	l.mu.Unlock()
	switch fault {
	case 0:
		panic(http.ErrAbortHandler)
	case 1: // cut off
		w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
		answer = answer[:place]
	case 2: // a flipped bit
		answer[place] ^= 1
	case 3: // a digit, so that the JSON stays valid
		if at := bytes.IndexAny(answer[place:], "0123456789"); at >= 0 {
			answer[place+at] = '0' + (answer[place+at]-'0'+1)%10
		}
	case 4:
		answer = earlier
	case 5:
		<-time.After(time.Second)
	}
	w.WriteHeader(response.StatusCode)
	_, _ = w.Write(answer) // the client has gone and needs no answer
}

// cluster is a primary and its followers.
type cluster struct {
	t        *testing.T
	dir      string
	hash     string
	load     *load
	primary  *process
	links    map[string]*link // to the primary, by follower
	begun    time.Time
	includes int
}

// newCluster starts the primary of a new network.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{t: t, dir: t.TempDir(), load: newLoad(512), links: map[string]*link{}, begun: time.Now()}
	newUser(t).succeeds(nil, append([]string{"init", c.path("primary")}, c.load.allocations()...)...)
	for i, name := range []string{"replica", "archive"} {
		c.links[name] = newLink(t, uint64(i))
	}
	c.startPrimary()
	sdk := c.client(c.primary)
	defer sdk.Close()
	info, err := sdk.NodeInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c.hash, c.load.chainID = info.GenesisHash.String(), info.ChainID
	return c
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) startPrimary() {
	c.t.Helper()
	c.primary = start(c.t, "node", "--data-dir", c.path("primary"), "--block-time", "250ms", "--rate-limit", "0")
	for _, l := range c.links {
		l.to(c.t, c.primary)
	}
}

// follow starts a node that follows the primary, with only its address and the genesis hash.
func (c *cluster) follow(mode string) *process {
	c.t.Helper()
	return start(
		c.t, "node", "--data-dir", c.path(mode), "--mode", mode, "--upstream", c.links[mode].server.URL,
		"--genesis-hash", c.hash,
	)
}

func (c *cluster) client(node *process) *client.Client {
	c.t.Helper()
	sdk, err := client.New(node.RPC, client.WithRetry(0))
	if err != nil {
		c.t.Fatal(err)
	}
	return sdk
}

// under runs an action while a node is sent transactions.
func (c *cluster) under(node *process, happens func()) {
	c.t.Helper()
	if err := c.load.prepare(); err != nil {
		c.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(c.t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- c.load.run(ctx, node.RPC) }()
	happens()
	cancel()
	if err := <-ended; err != nil {
		c.t.Fatal(err)
	}
}

// caughtUp waits until a node has every block of the primary, and compares all of them byte for byte, including their
// roots.
func (c *cluster) caughtUp(node *process) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), catchUpTime)
	defer cancel()
	primary, follower := c.client(c.primary), c.client(node)
	defer primary.Close()
	defer follower.Close()
	head, err := primary.BlockNumber(ctx)
	if err != nil {
		c.t.Fatal(err)
	}
	for {
		status, err := follower.SyncStatus(ctx)
		if err != nil {
			c.t.Fatal(err)
		}
		if status.State == api.StateHalted {
			c.t.Fatalf("halted: %s", *status.Reason)
		}
		if status.LocalHeight >= head && status.State == api.StateFollowing {
			break
		}
		select {
		case <-time.After(loadPause):
		case <-ctx.Done():
			c.t.Fatalf("the node does not catch up with block %d: got %+v", head, status)
		}
	}
	for h := types.Height(0); h <= head; {
		want, err := primary.Blocks(ctx, h, head, true)
		if err != nil || len(want) == 0 {
			c.t.Fatalf("blocks from %d: got %d, error %v", h, len(want), err)
		}
		got, err := follower.Blocks(ctx, h, h+types.Height(len(want))-1, true)
		if err != nil || len(got) != len(want) {
			c.t.Fatalf("blocks from %d: %d of %d, error %v", h, len(got), len(want), err)
		}
		for i := range want {
			if !bytes.Equal(want[i].Raw, got[i].Raw) {
				c.t.Fatalf("block %d is another one", h+types.Height(i))
			}
		}
		h += types.Height(len(want))
	}
	m, err := newModel(ctx, follower)
	if err == nil {
		err = errors.Join(m.follow(ctx, follower), m.compare(ctx, follower))
	}
	if err != nil {
		c.t.Fatal(err)
	}
	c.includes = len(m.included)
	c.load.settle(m)
}

// TestReplicas has a primary under load, a replica behind a bad network that is killed repeatedly, and an archive
// through which the load is sent. The primary is killed too. In the end all have the same chain.
func TestReplicas(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	random := rand.New(rand.NewPCG(*seed, 4))
	archive := c.follow("archive")
	replica := c.follow("replica")
	c.links["replica"].faulty.Store(true)
	c.under(archive, func() {
		for range *kills {
			<-time.After(time.Duration(random.IntN(1000)) * time.Millisecond)
			replica.Kill()
			replica = c.follow("replica")
		}
	})
	c.caughtUp(archive)
	forwarded := c.includes
	if forwarded == 0 {
		t.Error("nothing that was sent to the archive is in a block")
	}
	sdk := c.client(c.primary)
	info, err := sdk.NodeInfo(t.Context())
	if err != nil || info.PeerCount == 0 || info.PeerCount > 2+uint64(*kills) {
		t.Errorf("the primary counts %d followers: error %v", info.PeerCount, err)
	}
	sdk.Close()

	c.under(c.primary, func() { // which is killed in the middle of its answers
		<-time.After(500 * time.Millisecond)
		c.primary.Kill()
	})
	c.startPrimary()
	c.links["replica"].faulty.Store(false)
	c.caughtUp(replica)
	c.caughtUp(archive)
	faults := c.links["replica"].faults
	if faults == 0 {
		t.Error("the bad network was a good one")
	}
	t.Logf("%d kills of the replica, %d faults: %d transactions in blocks, %d of them sent through the archive, %.0f s",
		*kills, faults,
		c.includes, forwarded, time.Since(c.begun).Seconds())
	for _, node := range []*process{replica, archive, c.primary} {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}
}

// TestReplicaRefusesAndForwards sends transactions to a node that makes no blocks.
func TestReplicaRefusesAndForwards(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	sender := c.load.senders[0]
	first, err := c.load.transaction(sender, 0)
	if err != nil {
		t.Fatal(err)
	}
	forwarding := c.client(c.follow("replica"))
	defer forwarding.Close()
	ctx, cancel := context.WithTimeout(t.Context(), catchUpTime)
	defer cancel()
	receipt, err := forwarding.SendAndWait(ctx, first)
	if err != nil || receipt.Status != 1 {
		t.Fatalf("receipt %+v, error %v, want Status 1", receipt, err)
	}
	if _, err := forwarding.Send(ctx, first); !errors.Is(err, api.ErrAlreadyKnown) {
		t.Errorf("the primary's answer to what it knows: error %v, want %v", err, api.ErrAlreadyKnown)
	}
	if _, err := client.Invoke(
		ctx, forwarding, api.SendRawTransaction, api.RawTransactionParams{Transaction: []byte{1}},
	); !errors.Is(err, api.ErrUndecodable) {
		t.Errorf("what is no transaction: error %v", err)
	}
	refusing := c.client(start(t, "node", "--data-dir", c.path("refusing"), "--mode", "archive",
		"--upstream", c.links["archive"].server.URL,
		"--genesis-hash", c.hash, "--forward=false"))
	defer refusing.Close()
	var refused *client.Error
	if _, err := refusing.Send(ctx, first); !errors.Is(err, api.ErrReadOnly) || !errors.As(err, &refused) ||
		refused.Data["primary"] != c.links["archive"].server.URL {
		t.Errorf("a node that refuses: error %v", err)
	}
	second, err := c.load.transaction(sender, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.primary.Kill()
	if _, err := forwarding.Send(ctx, second); !errors.Is(err, api.ErrNoPrimary) {
		t.Errorf("without a primary: error %v, want %v", err, api.ErrNoPrimary)
	}
	if _, err := forwarding.Send(ctx, first); !errors.Is(err, api.ErrAlreadyKnown) {
		t.Errorf("what the replica has in a block: got %v, want that it is known", err)
	}
	newUser(t).fails(exitUsage, "node", "--data-dir", c.path("x"), "--mode", "replica", "--genesis-hash", c.hash)
	newUser(t).fails(exitUsage, "node", "--data-dir", c.path("x"), "--mode", "replica", "--upstream", c.primary.RPC)
	newUser(t).fails(exitUsage, "node", "--data-dir", c.path("x"), "--mode", "observer")
	newUser(t).fails(
		exitUsage, "node", "--data-dir", c.path("x"), "--mode", "archive", "--upstream", c.primary.RPC,
		"--genesis-hash", c.hash, "--retention", "5",
	)
}
