package operator

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/argument"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
)

// The values of --bootstrap.
const (
	fromGenesis  = "genesis"
	fromSnapshot = "snapshot"
)

// bootstrapSettings are the settings for the start of a node's chain.
type bootstrapSettings struct {
	Bootstrap     string `setting:"bootstrap" usage:"how a replica without a chain syncs: genesis (executes every block) or snapshot (state sync from the upstreams' newest snapshot)"`
	BootstrapHash string `setting:"bootstrap-hash" usage:"hash of the snapshot's block; required if another producer than the one in the genesis signed that block"`
	TrustedHeader string `setting:"trusted-header" usage:"HEIGHT:HASH of a trusted block at which a replica with --verify stateless and no chain starts (default: genesis, which requires the proofs of all blocks)"`
}

// trusted returns the block at which the chain begins, or nil for genesis.
func (s bootstrapSettings) trusted(verify string) (*datadir.Trusted, error) {
	if s.TrustedHeader == "" {
		return nil, nil
	}
	if verify != verifyStateless {
		return nil, output.Usage(errors.New("--trusted-header needs --verify stateless; to start a node with state " +
			"at a block, use --bootstrap snapshot and --bootstrap-hash"))
	}
	height, hash, err := argument.ParseTrusted(s.TrustedHeader)
	if err == nil && height == 0 {
		err = errors.New("its height must be above 0: without the flag the replica starts at genesis")
	}
	if err != nil {
		return nil, output.Usage(fmt.Errorf("--trusted-header: %w", err))
	}
	return &datadir.Trusted{Height: height, Hash: hash}, nil
}

// trust checks the settings and returns the block that the snapshot must match.
func (s bootstrapSettings) trust(mode, verify string) (trust datadir.SnapshotTrust, err error) {
	switch {
	case s.Bootstrap != fromGenesis && s.Bootstrap != fromSnapshot:
		return trust, output.Usage(fmt.Errorf("--bootstrap must be %s or %s, not %q", fromGenesis, fromSnapshot, s.Bootstrap))
	case s.Bootstrap == fromGenesis && s.BootstrapHash != "":
		return trust, output.Usage(errors.New("--bootstrap-hash needs --bootstrap snapshot"))
	case s.Bootstrap == fromSnapshot && mode != string(api.ModeReplica):
		return trust, output.Usage(errors.New("--bootstrap snapshot needs --mode replica: a snapshot lacks the " +
			"history that an archive keeps, and a primary has its own chain"))
	case s.Bootstrap == fromSnapshot && verify == verifyStateless:
		return trust,
			output.Usage(errors.New("--bootstrap snapshot fetches a state, and --verify stateless keeps none: use " +
				"--trusted-header"))
	case s.BootstrapHash == "":
		return trust, nil
	}
	if err := trust.Block.UnmarshalText([]byte(s.BootstrapHash)); err != nil {
		return trust, output.Usage(fmt.Errorf("--bootstrap-hash: %w", err))
	}
	return trust, nil
}

// run fills the data directory from a snapshot if the settings ask for it and there is no chain.
func (s bootstrapSettings) run(
	command *cobra.Command, dir *datadir.Dir, config nodeConfig, trust datadir.SnapshotTrust,
) (err error) {
	if s.Bootstrap == fromGenesis || dir.Genesis() != nil { // a later start has a chain already
		return nil
	}
	if trust.Genesis, err = datadir.GenesisHash(*config.Chain.Genesis); err != nil {
		return err
	}
	show, stop := invoke.Progress(command, "fetching and importing a snapshot")
	defer stop()
	progress := func(done, total uint64) {
		config.Admin.Say(fmt.Sprintf("importing a snapshot: %d of %d", done, total))
		show(done, total)
	}
	_, err = dir.Bootstrap(command.Context(), config.Upstreams, trust, progress)
	return err
}
