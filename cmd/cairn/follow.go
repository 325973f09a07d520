package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/types"
)

// defaultMaxLag is in blocks.
const defaultMaxLag = 10

// How a node that follows another verifies blocks.
const (
	verifyExecute   = "execute"
	verifyStateless = "stateless"
)

// statelessRetention is in blocks, where the operator sets none.
const statelessRetention = 10_000

// followSettings are those of a node that follows another.
type followSettings struct {
	Upstream        []string `setting:"upstream" usage:"URL of a node to follow, the preferred first; may be repeated"`
	UpstreamKeyFile string   `setting:"upstream-key-file" usage:"file with the API key or JWT that the upstreams ask for"`
	UpstreamCAFile  string   `setting:"upstream-ca-file" usage:"file of certificates (PEM) that the upstreams' are checked by, beside the system's"`
	GenesisHash     string   `setting:"genesis-hash" usage:"hash of block 0: which chain to follow, where there is no genesis file"`
	Forward         bool     `setting:"forward" usage:"hand transactions on to the upstream; false: refuse them"`
	Verify          string   `setting:"verify" usage:"how blocks are verified: execute, on a state of its own; stateless, by the proof of each block, on its access list alone (a replica of megabytes)"`
	MaxLag          uint64   `setting:"max-lag" usage:"blocks behind beyond which /ready says no"`
}

// config checks the settings.
func (s followSettings) config() (node.Follow, error) {
	if len(s.Upstream) == 0 {
		return node.Follow{}, output.Usage(errors.New("a replica or an archive needs an --upstream"))
	}
	f := node.Follow{Upstreams: s.Upstream, CAFile: s.UpstreamCAFile, Refuse: !s.Forward, MaxLag: s.MaxLag, Stateless: s.Verify == verifyStateless}
	if s.UpstreamKeyFile != "" {
		content, err := os.ReadFile(s.UpstreamKeyFile)
		if err != nil {
			return node.Follow{}, output.Usage(err)
		}
		f.Token = strings.TrimSpace(string(content))
	}
	return f, nil
}

var errWhichChain = errors.New("which chain? Name it with --genesis-hash, or give a file with --genesis")

// followedGenesis is the genesis of the chain to follow: that of the file, of the data directory, or of an upstream, which
// must have the hash that is set.
func (s nodeSettings) followedGenesis(ctx context.Context, follow node.Follow, log *slog.Logger) (types.Genesis, error) {
	var wanted types.BlockHash
	if s.GenesisHash != "" {
		if err := wanted.UnmarshalText([]byte(s.GenesisHash)); err != nil {
			return types.Genesis{}, output.Usage(fmt.Errorf("--genesis-hash: %w", err))
		}
	}
	genesis, err := node.ReadGenesis(orIn(s.DataDir, s.Genesis, node.GenesisFile))
	if errors.Is(err, os.ErrNotExist) && s.Genesis == "" {
		var stored *types.Genesis
		if stored, err = node.StoredGenesis(s.DataDir); err != nil {
			return types.Genesis{}, err
		}
		switch {
		case stored != nil:
			genesis = *stored
		case s.GenesisHash == "":
			return types.Genesis{}, output.Usage(errWhichChain)
		default:
			return node.FetchGenesis(ctx, follow, wanted, log)
		}
	}
	if err != nil || s.GenesisHash == "" {
		return genesis, err
	}
	hash, err := node.GenesisHash(genesis)
	if err == nil && hash != wanted {
		err = fmt.Errorf("the genesis here has the hash %s, not %s", hash, wanted)
	}
	return genesis, err
}

// progressInterval is the time between two looks at how far the node is.
const progressInterval = 250 * time.Millisecond

// showProgress shows where a person watches how far a node is that follows another, until it is synced or stop is
// called.
func showProgress(command *cobra.Command, n *node.Node) (stop func()) {
	ctx, cancel := context.WithCancel(command.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		progress, done := cli.Progress(command, "syncing")
		defer done()
		for {
			status := n.SyncStatus()
			progress(uint64(status.LocalHeight), uint64(status.PrimaryHeight))
			select {
			case <-time.After(progressInterval):
			case <-ctx.Done():
				return
			}
			if status.Synced {
				return
			}
		}
	}()
	return func() { cancel(); <-ended }
}
