package operator

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/types"
)

// defaultMaxLag is a number of blocks.
const defaultMaxLag = 10

// The values of --verify.
const (
	verifyExecute   = "execute"
	verifyStateless = "stateless"
)

// statelessRetention is the default retention of a node without state, in blocks.
const statelessRetention = 10_000

// followSettings are the settings of a node that follows another.
type followSettings struct {
	Upstream        []string `setting:"upstream" usage:"URL of a node to follow; may be repeated, in order of preference"`
	UpstreamKeyFile string   `setting:"upstream-key-file" usage:"file with the API key or JWT for the upstreams"`
	UpstreamCAFile  string   `setting:"upstream-ca-file" usage:"file of CA certificates (PEM) trusted for the upstreams, in addition to the system's"`
	GenesisHash     string   `setting:"genesis-hash" usage:"hash of block 0, which identifies the chain to follow if there is no genesis file"`
	Forward         bool     `setting:"forward" usage:"forward transactions to the upstream; false: refuse them"`
	Verify          string   `setting:"verify" usage:"how blocks are verified: execute (run every block against a full local state) or stateless (verify each block's proof, with its access list alone; needs only megabytes of disk)"`
	MaxLag          uint64   `setting:"max-lag" bounds:"0..1000000000" usage:"maximum number of blocks behind the chain at which /ready still succeeds"`
}

// config checks the settings and returns the configuration.
func (s followSettings) config() (role.Following, error) {
	if len(s.Upstream) == 0 {
		return role.Following{}, output.Usage(errors.New("a replica or archive needs --upstream URL"))
	}
	for _, upstream := range s.Upstream {
		if !strings.HasPrefix(upstream, "http://") && !strings.HasPrefix(upstream, "https://") {
			return role.Following{}, output.Usage(fmt.Errorf(
				"--upstream: %q is not an http or https URL such as http://127.0.0.1:8777", upstream,
			))
		}
	}
	f := role.Following{
		Upstreams: datadir.Upstreams{URLs: s.Upstream, KeyFile: s.UpstreamKeyFile, CAFile: s.UpstreamCAFile},
		Refuse:    !s.Forward,
		MaxLag:    s.MaxLag,
	}
	return f, output.Usage(f.Check())
}

var errWhichChain = errors.New("the chain to follow is unknown: give its --genesis-hash, or its genesis file with " +
	"--genesis")

// genesisHash returns the required hash of the chain's block 0, or nil for any.
func (s followSettings) genesisHash() (*types.BlockHash, error) {
	if s.GenesisHash == "" {
		return nil, nil
	}
	var wanted types.BlockHash
	if err := wanted.UnmarshalText([]byte(s.GenesisHash)); err != nil {
		return nil, output.Usage(fmt.Errorf("--genesis-hash: %w", err))
	}
	return &wanted, nil
}

// checkGenesisHash returns an error unless the genesis has the hash wanted. A nil wanted allows any.
func checkGenesisHash(genesis types.Genesis, wanted *types.BlockHash) error {
	if wanted == nil {
		return nil
	}
	hash, err := datadir.GenesisHash(genesis)
	if err == nil && hash != *wanted {
		err = output.Usage(fmt.Errorf(
			"--genesis-hash: the local genesis has the hash %s, not %s: check --data-dir", hash, wanted,
		))
	}
	return err
}

// progressInterval is the time between two updates of the progress display.
const progressInterval = 250 * time.Millisecond

// showProgress shows the sync progress on a terminal until the node is synced or stop is called.
func showProgress(command *cobra.Command, n *node.Node) (stop func()) {
	ctx, cancel := context.WithCancel(command.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		progress, done := invoke.Progress(command, "syncing")
		defer done()
		for {
			status, _ := n.SyncStatus()
			if status.PrimaryHeight != nil {
				progress(uint64(status.LocalHeight), uint64(*status.PrimaryHeight))
			}
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
