package datadir

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/client"
	"github.com/cairn-chain/cairn/internal/engine/replica"
	"github.com/cairn-chain/cairn/internal/protocol/exec"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/internal/secret"
	"github.com/cairn-chain/cairn/internal/upstream"
	"github.com/cairn-chain/cairn/types"
)

// Upstreams is the list of nodes that a node follows, and the settings of its requests to them.
type Upstreams struct {
	URLs []string // in order of preference
	// KeyFile has the API key or JWT for the upstreams. CAFile has certificates (PEM) of authorities that are trusted
	// for their TLS in addition to the system's. Each is empty for none.
	KeyFile, CAFile string
	Files           *reload.Set // watches these files for changes; nil: they are read once
}

// Check returns an error if the files cannot be used.
func (u Upstreams) Check() error {
	_, err := u.options("")
	return err
}

// options returns the options of a client of the upstream at an address.
func (u Upstreams) options(address string) ([]client.Option, error) {
	files := cmp.Or(u.Files, reload.NewSet(nil))
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = time.Minute
	if u.CAFile != "" {
		roots, err := reload.Watch(files, u.roots, u.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--upstream-ca-file: %w", err)
		}
		parsed, err := url.Parse(address)
		if err != nil {
			return nil, errors.New("the upstream's address is not a valid URL") // the error would show a password in it
		}
		transport.TLSClientConfig = trusting(roots, parsed.Hostname())
	}
	options := []client.Option{client.WithTransport(transport)}
	if u.KeyFile != "" {
		key, err := reload.Watch(files, u.key, u.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("--upstream-key-file: %w", err)
		}
		options = append(options, client.WithTokenSource(func() string { return *key.Get() }))
	}
	return options, nil
}

// key reads the key for the upstreams.
func (u Upstreams) key() (string, error) {
	content, err := secret.Read(u.KeyFile)
	return strings.TrimSpace(string(content)), err
}

// roots reads the certificates of the trusted authorities.
func (u Upstreams) roots() (*x509.CertPool, error) {
	certificates, err := readBounded(u.CAFile, 1<<20)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err == nil && !pool.AppendCertsFromPEM(certificates) {
		err = fmt.Errorf("%s contains no certificate", u.CAFile)
	}
	return pool, err
}

// trusting returns a TLS configuration that verifies the certificate of host against the current roots at each
// connection. The verification of crypto/tls would keep the first roots, so the configuration replaces it with the same
// check.
func trusting(roots *reload.Files[*x509.CertPool], host string) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true,
		VerifyConnection: func(state tls.ConnectionState) error {
			options := x509.VerifyOptions{Roots: *roots.Get(), DNSName: host, Intermediates: x509.NewCertPool()}
			for _, certificate := range state.PeerCertificates[1:] {
				options.Intermediates.AddCert(certificate)
			}
			if _, err := state.PeerCertificates[0].Verify(options); err != nil {
				return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
			}
			return nil
		},
	}
}

// Sources returns the upstreams as a replica's sources of blocks. The caller must close them.
func (u Upstreams) Sources() ([]replica.Source, error) {
	nodes, err := u.nodes()
	sources := make([]replica.Source, len(nodes))
	for i, n := range nodes {
		sources[i] = n
	}
	return sources, err
}

func (u Upstreams) nodes() ([]*upstream.Node, error) {
	var nodes []*upstream.Node
	for _, url := range u.URLs {
		options, err := u.options(url)
		if err != nil {
			return nil, err
		}
		n, err := upstream.New(url, options...)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// errOtherChain marks an upstream of another chain.
var errOtherChain = errors.New("it belongs to another chain")

// Genesis asks the upstreams for the genesis of the chain with the given hash of block 0. It retries until one returns
// it, all are of other chains, or ctx ends.
func (u Upstreams) Genesis(ctx context.Context, hash types.BlockHash, log *slog.Logger) (types.Genesis, error) {
	options := make([][]client.Option, len(u.URLs))
	for i, url := range u.URLs {
		var err error
		if options[i], err = u.options(url); err != nil {
			return types.Genesis{}, err
		}
	}
	const first, longest = 500 * time.Millisecond, 30 * time.Second
	for wait := first; ; wait = min(2*wait, longest) {
		var others []error
		for i, url := range u.URLs {
			g, err := fetchGenesis(ctx, url, options[i], hash)
			switch {
			case err == nil:
				return g, nil
			case errors.Is(err, errOtherChain):
				others = append(others, fmt.Errorf("%s: %w", url, err))
			}
			log.Warn("cannot fetch the genesis from an upstream", "upstream", url, "error", err)
		}
		if len(others) == len(u.URLs) {
			return types.Genesis{}, fmt.Errorf("no upstream follows the chain %s: %w", hash, errors.Join(others...))
		}
		select {
		case <-time.After(wait/2 + rand.N(wait/2)):
		case <-ctx.Done():
			return types.Genesis{}, fmt.Errorf("cannot fetch the genesis from any upstream: %w", ctx.Err())
		}
	}
}

func fetchGenesis(
	ctx context.Context, url string, options []client.Option, hash types.BlockHash,
) (types.Genesis, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	c, err := client.New(url, append(slices.Clone(options), client.WithRetry(0))...)
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

// Ask requests the node information of the node at url, without retries.
func (u Upstreams) Ask(ctx context.Context, url string) (api.NodeInfo, error) {
	options, err := u.options(url)
	if err != nil {
		return api.NodeInfo{}, err
	}
	c, err := client.New(url, append(slices.Clone(options), client.WithRetry(0))...)
	if err != nil {
		return api.NodeInfo{}, err
	}
	defer c.Close()
	return c.NodeInfo(ctx)
}
