package datadir

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/upstream"
	"github.com/cairn-chain/cairn/types"
)

// Upstreams are nodes that another follows, and how it calls them.
type Upstreams struct {
	URLs   []string // the preferred first
	Token  string   // API key or JWT for them; empty for none
	CAFile string   // certificates (PEM) of authorities for their TLS beside the system's; empty for none
}

// Check refuses a file of certificates that cannot be used.
func (u Upstreams) Check() error {
	_, err := u.options()
	return err
}

// options are those of clients to the upstreams.
func (u Upstreams) options() ([]client.Option, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	if u.CAFile != "" {
		certificates, err := readBounded(u.CAFile, 1<<20)
		if err != nil {
			return nil, err
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			return nil, err
		}
		if !pool.AppendCertsFromPEM(certificates) {
			return nil, fmt.Errorf("%s holds no certificate", u.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	options := []client.Option{client.WithTransport(transport)}
	if u.Token != "" {
		options = append(options, client.WithToken(u.Token))
	}
	return options, nil
}

// Sources are where a replica gets blocks. The caller closes them.
func (u Upstreams) Sources() ([]replica.Source, error) {
	nodes, err := u.nodes()
	sources := make([]replica.Source, len(nodes))
	for i, n := range nodes {
		sources[i] = n
	}
	return sources, err
}

func (u Upstreams) nodes() ([]*upstream.Node, error) {
	options, err := u.options()
	if err != nil {
		return nil, err
	}
	var nodes []*upstream.Node
	for _, url := range u.URLs {
		n, err := upstream.New(url, options...)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// errOtherChain marks an upstream that is of another chain than the one to follow.
var errOtherChain = errors.New("it is of another chain")

// Genesis asks the upstreams for the genesis of a chain that is known by the hash of its block 0. It asks until one
// gives it, all are of other chains, or ctx ends.
func (u Upstreams) Genesis(ctx context.Context, hash types.BlockHash, log *slog.Logger) (types.Genesis, error) {
	options, err := u.options()
	if err != nil {
		return types.Genesis{}, err
	}
	const first, longest = 500 * time.Millisecond, 30 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		var others []error
		for _, url := range u.URLs {
			g, err := fetchGenesis(ctx, url, options, hash)
			switch {
			case err == nil:
				return g, nil
			case errors.Is(err, errOtherChain):
				others = append(others, fmt.Errorf("%s: %w", url, err))
			}
			log.Warn("no genesis from an upstream", "upstream", url, "error", err)
		}
		if len(others) == len(u.URLs) {
			return types.Genesis{}, fmt.Errorf("no upstream is of the chain %s: %w", hash, errors.Join(others...))
		}
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-ctx.Done():
			return types.Genesis{}, fmt.Errorf("no upstream gave the genesis: %w", ctx.Err())
		}
	}
}

func fetchGenesis(
	ctx context.Context, url string, options []client.Option, hash types.BlockHash,
) (types.Genesis, error) {
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

// Ask asks the node at url, once, what it is.
func (u Upstreams) Ask(ctx context.Context, url string) (api.NodeInfo, error) {
	options, err := u.options()
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
