package node

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/ledger"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/internal/upstream"
	"github.com/cairn-chain/cairn/types"
)

// Follow is how a node follows another.
type Follow struct {
	Upstreams []string // URLs, the preferred first
	Token     string   // API key or JWT for them; empty for none
	CAFile    string   // certificates (PEM) of authorities for their TLS beside the system's; empty for none
	Refuse    bool     // refuse transactions; else they are handed on
	MaxLag    uint64   // blocks behind beyond which the node is not ready
	Stateless bool     // verify blocks by their proofs, and keep no state
}

// maxSilence is how long a node may hear nothing from its upstreams until it is not ready.
const maxSilence = 30 * time.Second

// Options are those of clients to the upstreams.
func (f Follow) Options() ([]client.Option, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	if f.CAFile != "" {
		certificates, err := readBounded(f.CAFile, 1<<20)
		if err != nil {
			return nil, err
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(certificates) {
			return nil, fmt.Errorf("%s holds no certificate", f.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	// Compressing takes the primary more time than all else that it does for a replica.
	options := []client.Option{client.WithTransport(transport), client.WithoutCompression()}
	if f.Token != "" {
		options = append(options, client.WithToken(f.Token))
	}
	return options, nil
}

// sources are the upstreams.
func (f Follow) sources() ([]replica.Source, error) {
	options, err := f.Options()
	if err != nil {
		return nil, err
	}
	var sources []replica.Source
	for _, url := range f.Upstreams {
		source, err := upstream.New(url, options...)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	return sources, nil
}

// errOtherChain marks an upstream that is of another chain than the one to follow.
var errOtherChain = errors.New("it is of another chain")

// FetchGenesis asks upstreams for the genesis of a chain that is known by the hash of its block 0, until one gives it, all
// are of other chains, or ctx ends.
func FetchGenesis(ctx context.Context, f Follow, hash types.BlockHash, log *slog.Logger) (types.Genesis, error) {
	options, err := f.Options()
	if err != nil {
		return types.Genesis{}, err
	}
	const first, longest = 500 * time.Millisecond, 30 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		var others []error
		for _, url := range f.Upstreams {
			g, err := fetchGenesis(ctx, url, options, hash)
			switch {
			case err == nil:
				return g, nil
			case errors.Is(err, errOtherChain):
				others = append(others, fmt.Errorf("%s: %w", url, err))
			}
			log.Warn("no genesis from an upstream", "upstream", url, "error", err)
		}
		if len(others) == len(f.Upstreams) {
			return types.Genesis{}, fmt.Errorf("no upstream is of the chain %s: %w", hash, errors.Join(others...))
		}
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-ctx.Done():
			return types.Genesis{}, fmt.Errorf("no upstream gave the genesis: %w", ctx.Err())
		}
	}
}

func fetchGenesis(ctx context.Context, url string, options []client.Option, hash types.BlockHash) (types.Genesis, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := client.New(url, options...)
	if err != nil {
		return types.Genesis{}, err
	}
	defer c.Close()
	info, err := client.Invoke(ctx, c, api.GetGenesis, api.NoParams{})
	if err != nil {
		return types.Genesis{}, err
	}
	g, err := types.DecodeGenesis(info.Raw)
	if err == nil {
		err = exec.CheckGenesis(g)
	}
	if err != nil {
		return types.Genesis{}, err
	}
	got, err := GenesisHash(g)
	if err == nil && got != hash {
		err = fmt.Errorf("%w: its genesis hash is %s", errOtherChain, got)
	}
	return g, err
}

// AskUpstream asks the node at url, once, what it is; f says how it is called.
func (f Follow) AskUpstream(ctx context.Context, url string) (api.NodeInfo, error) {
	options, err := f.Options()
	if err != nil {
		return api.NodeInfo{}, err
	}
	c, err := client.New(url, options...)
	if err != nil {
		return api.NodeInfo{}, err
	}
	defer c.Close()
	return c.NodeInfo(ctx)
}

// newReplica makes what follows the chain.
func (n *Node) newReplica() (*replica.Replica, error) {
	sources, err := n.config.Follow.sources()
	if err != nil {
		return nil, err
	}
	return replica.New(replica.Config{
		Importer: n.importer, Sources: sources, Dir: n.config.DataDir, Log: n.config.Log, OnBlocks: n.imported(),
	})
}

// imported tells the pool, and what observes the node, of blocks that were imported.
func (n *Node) imported() func([]ledger.Block) error {
	observe := observeBlocks(n.telemetry, func() time.Duration { return 0 })
	return func(blocks []ledger.Block) error {
		head := sequencer.Head(n.ledger)
		if err := n.pool.Reset(head, ledger.Accesses(blocks)...); err != nil {
			return fmt.Errorf("mempool after block %d: %w", head.Height, err)
		}
		for _, b := range blocks {
			observe(b)
		}
		return nil
	}
}

// follower is what a node that follows another knows of itself.
type follower struct{ *replica.Replica }

// PeerCount is the number of upstreams in use.
func (f follower) PeerCount() (count uint64) {
	for _, u := range f.Status().Upstreams {
		if u.InUse {
			count++
		}
	}
	return count
}

func (f follower) State() (api.SyncState, string) {
	status := f.Status()
	return syncStates[status.State], status.Reason
}

// syncStates are a replica's states in the words of the RPC interface.
var syncStates = map[replica.State]api.SyncState{
	replica.StateSyncing:   api.StateSyncing,
	replica.StateFollowing: api.StateFollowing,
	replica.StateHolding:   api.StateHolding,
	replica.StateHalted:    api.StateHalted,
}

// Halted is the cause of a halt.
func (f follower) Halted() string {
	if h := f.Halt(); h != nil {
		return h.Reason
	}
	return ""
}

// SyncStatus is the status as clients see it.
func (f follower) SyncStatus() api.SyncStatus {
	s := f.Status()
	status := api.SyncStatus{
		Synced: s.Synced, LocalHeight: s.Local, PrimaryHeight: s.Primary, BlocksBehind: s.Behind(),
		SyncRateBlocksPerSec: api.Ratio(uint64(1000*s.Rate), 1000), State: syncStates[s.State], Upstreams: make([]api.Upstream, len(s.Upstreams)),
	}
	if s.Reason != "" {
		status.Reason = &s.Reason
	}
	if s.ETAKnown {
		seconds := uint64(math.Ceil(s.ETA.Seconds()))
		status.ETASecs = &seconds
	}
	for i, u := range s.Upstreams {
		status.Upstreams[i] = api.Upstream{URL: u.URL, InUse: u.InUse, Height: u.Height}
		if u.Fault != "" {
			status.Upstreams[i].Fault = new(string(u.Fault))
		}
	}
	return status
}

// readyToServe tells whether a node that follows another is near enough to it to be asked.
func readyToServe(s replica.Status, maxLag uint64) (bool, string) {
	switch {
	case s.State == replica.StateHalted:
		return false, s.Reason
	case s.Silence > maxSilence:
		return false, s.Reason
	case s.Behind() > maxLag:
		return false, fmt.Sprintf("%d blocks behind, at most %d are allowed", s.Behind(), maxLag)
	}
	return true, ""
}

// followMetrics are those of a node that follows another.
func followMetrics() []telemetry.Metric[replica.Status] {
	type status = replica.Status
	return []telemetry.Metric[status]{
		telemetry.Gauge("sync_blocks_behind", "Blocks that are missing here.", func(s status) uint64 { return s.Behind() }),
		telemetry.Gauge("sync_primary_height", "Height of the newest block that an upstream told of.", func(s status) uint64 { return uint64(s.Primary) }),
		telemetry.Gauge("sync_synced", "1 while there is no newer block elsewhere.", func(s status) int { return oneIf(s.Synced) }),
		telemetry.Gauge("sync_blocks_per_second", "Blocks imported a second, over the last 20 s.", func(s status) float64 { return s.Rate }),
		telemetry.Gauge("sync_silence_seconds", "Time since an upstream answered.", func(s status) float64 { return s.Silence.Seconds() }),
		telemetry.Gauges("sync_upstream_in_use", "1 for the upstream that blocks come from.", "upstream", func(s status) map[string]int {
			inUse := make(map[string]int, len(s.Upstreams))
			for _, u := range s.Upstreams {
				inUse[u.URL] = oneIf(u.InUse)
			}
			return inUse
		}),
		telemetry.Counters("sync_upstream_faults_total", "Times that an upstream was left, by cause.", "cause", func(s status) map[string]uint64 {
			faults := make(map[string]uint64)
			for _, u := range s.Upstreams {
				for cause, count := range u.Faults {
					faults[string(cause)] += count
				}
			}
			return faults
		}),
	}
}

// SyncStatus tells how far the node is.
func (n *Node) SyncStatus() api.SyncStatus { return n.rpc.SyncStatus() }

// Follows reports whether the node follows another.
func (n *Node) Follows() bool { return !n.produces.Load() }
