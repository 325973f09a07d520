package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/internal/server/rpc"
	"github.com/cairn-chain/cairn/types"
)

// nodeConfig is the configuration of a node before the choice of its role, with the parts for each role.
type nodeConfig struct {
	node.Config
	role.Production
	role.Following
	nextKey sequencer.Signer // signer with the next producer's key, or nil
	member  bool             // the node is a member of a cluster
}

// config checks the settings and reads the files that they name. It does not read the genesis, but checks that the node
// can get it.
func (s nodeSettings) config(log *slog.Logger) (options datadir.Options, config nodeConfig, err error) {
	options = s.options(log)
	config.Config = node.Config{Build: build.Read(), SyncJournal: s.Journal == "sync", Log: log}
	config.LockDir, config.BlockTime = s.lockDir(), s.BlockTime
	config.Snapshots.Interval, config.Snapshots.Count = s.Snapshots, int(s.SnapshotsOf)
	config.Traces.Endpoint, config.Traces.Every = s.OTLP, s.TraceEvery
	if err := s.check(); err != nil {
		return options, config, err
	}
	if config.Following, err = s.chain(); err != nil {
		return options, config, err
	}
	if config.member, err = s.isMember(); err != nil {
		return options, config, err
	}
	if config.Key, err = s.key(config.member); err != nil {
		return options, config, err
	}
	if config.nextKey, err = s.next(config); err != nil {
		return options, config, err
	}
	if options.Chain.Stateless && (config.Key != nil || s.Snapshots > 0) {
		return options, config, output.Usage(errors.New("--verify stateless excludes --protocol-key and " +
			"--snapshot-interval: a node without state makes neither blocks nor snapshots"))
	}
	if config.Serving, err = s.serving(s.RPCAddr, s.AdminAddr); err != nil {
		return options, config, err
	}
	s.contractSettings.set(&options, &config.Serving)
	config.Proofs, err = s.proofSettings.set(&options, s.provers(), config.Key != nil, log, s.LogFormat)
	return options, config, err
}

// role returns the role of the node. No other function chooses by role.
func (s nodeSettings) role(c nodeConfig) role.Config {
	mode := api.Mode(s.Mode)
	switch {
	case c.member:
		return role.Member{
			Production: c.Production, NextKey: c.nextKey, Addr: s.ClusterAddr, MaxLag: s.MaxLag, Drain: c.Upstreams,
		}
	case c.Key == nil:
		return role.Follow{Following: c.Following, Mode: mode}
	case len(s.Upstream) == 0:
		return role.Solo{Production: c.Production}
	}
	return role.Turns{Production: c.Production, Following: c.Following, Mode: mode}
}

// options returns the options of the data directory.
func (s nodeSettings) options(log *slog.Logger) datadir.Options {
	options := datadir.Options{Log: log}
	options.Chain.Archive, options.Chain.Stateless = s.Mode == string(api.ModeArchive), s.Verify == verifyStateless
	options.Chain.Retention = s.Retention
	options.Database.CacheBytes, options.Database.MaxUnmerged = int64(s.CacheMiB)<<20, int(s.MaxUnmerged)
	options.Database.MemTableBytes = int(s.TableMiB) << 20
	if options.Chain.Stateless {
		options.Chain.Retention = cmp.Or(s.Retention, statelessRetention)
	}
	return options
}

// chain returns the configuration for following the chain. It returns an error if the chain is unknown, as far as can
// be told before the data directory is opened.
func (s nodeSettings) chain() (follow role.Following, err error) {
	if len(s.Upstream) > 0 || s.Mode != string(api.ModePrimary) {
		if follow, err = s.followSettings.config(); err != nil {
			return follow, err
		}
	}
	wanted, err := s.genesisHash()
	if err != nil {
		return follow, err
	}
	there, err := datadir.HasDatabase(s.DataDir)
	if err != nil || there && s.Genesis == "" { // the chain in the directory needs no file
		return follow, err
	}
	given, err := s.genesisFile()
	if err != nil {
		return follow, err
	}
	if given != nil {
		return follow, checkGenesisHash(*given, wanted)
	}
	if !there {
		err = s.mayFetch(wanted)
	}
	return follow, err
}

// genesis returns the node's genesis from the chain in the data directory, else from the genesis file, else from the
// upstreams. A file named in the settings must match the chain in the directory.
func (s nodeSettings) genesis(ctx context.Context, config nodeConfig, dir *datadir.Dir) (*types.Genesis, error) {
	wanted, err := s.genesisHash()
	if err != nil {
		return nil, err
	}
	here := dir.Genesis()
	if here == nil || s.Genesis != "" {
		given, err := s.genesisFile()
		if err != nil {
			return nil, err
		}
		here = cmp.Or(given, here)
	}
	if here != nil {
		return here, checkGenesisHash(*here, wanted)
	}
	if err := s.mayFetch(wanted); err != nil {
		return nil, err
	}
	fetched, err := config.Upstreams.Genesis(ctx, *wanted, config.Log)
	return &fetched, err
}

// mayFetch returns an error if the node must not fetch the genesis from upstreams: it makes the blocks, or the settings
// name no chain.
func (s nodeSettings) mayFetch(wanted *types.BlockHash) error {
	switch primary := s.Mode == string(api.ModePrimary); {
	case primary && len(s.Upstream) > 0:
		return output.Usage(fmt.Errorf(
			"there is no chain in %s: start a node that follows a chain with --mode replica", s.DataDir,
		))
	case primary:
		return output.Usage(fmt.Errorf("there is no genesis file: create a network with `cairn init %s`, or give a "+
			"genesis file with --genesis; to follow an existing network use --mode replica", s.DataDir))
	case wanted == nil:
		return output.Usage(errWhichChain)
	}
	return nil
}

// genesisFile reads the genesis file named in the settings, or else the one in the data directory. It returns nil if
// there is none.
func (s nodeSettings) genesisFile() (*types.Genesis, error) {
	wanted, err := s.genesisHash()
	if err != nil {
		return nil, err
	}
	genesis, err := datadir.ReadGenesis(orIn(s.DataDir, s.Genesis, datadir.GenesisFile), s.DataDir, wanted)
	switch {
	case err == nil:
		return &genesis, nil
	case errors.Is(err, os.ErrNotExist) && s.Genesis == "":
		return nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, output.Usage(fmt.Errorf("--genesis: %w", err))
	}
	return nil, output.Usage(err)
}

// key returns the signer with the key to make blocks. Only a primary uses the key in its directory by default, so a
// copy of a primary's directory makes no blocks on a node in another mode.
func (s nodeSettings) key(member bool) (sequencer.Signer, error) {
	if client, err := s.client(s.DataDir); err != nil || client != nil {
		return client, err
	}
	if s.ProtocolKey == "" && s.Mode != string(api.ModePrimary) {
		return nil, nil
	}
	path := s.keyPath()
	key, err := datadir.ReadProtocolKey(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && member && s.ProtocolKey == "":
		return nil, nil // the member only votes and hands leadership on
	case errors.Is(err, os.ErrNotExist):
		return nil, s.noKey(path)
	case err != nil:
		return nil, emergency.BadKey(path, err.Error(), err)
	}
	return role.LocalKey(key), nil
}

// next returns the signer with the next producer's key, or nil.
func (s nodeSettings) next(config nodeConfig) (sequencer.Signer, error) {
	switch {
	case s.NextKey == "":
		return nil, nil
	case !config.member:
		return nil, output.Usage(errors.New("--next-protocol-key is for cluster members only. Without a cluster, run " +
			"a replica with the new key as its --protocol-key, then cairn promote"))
	case config.Key == nil || s.Signer != "":
		return nil, output.Usage(errors.New("--next-protocol-key needs --protocol-key, the key of the current " +
			"producer"))
	}
	key, err := datadir.ReadProtocolKey(s.NextKey)
	if err != nil {
		return nil, output.Usage(fmt.Errorf("--next-protocol-key: %w", err))
	}
	return role.LocalKey(key), nil
}

// noKey returns the error for a missing key file.
func (s nodeSettings) noKey(path string) error {
	return emergency.BadKey(path, "there is no such file", nil)
}

// isMember reports whether the directory belongs to a cluster member, and checks that the settings fit.
func (s nodeSettings) isMember() (member bool, err error) {
	member, err = datadir.IsMember(s.DataDir)
	switch {
	case err != nil:
	case !member && s.ClusterAddr != "":
		err = output.Usage(fmt.Errorf("%s does not belong to a cluster: --cluster-addr needs a directory prepared by "+
			"`cairn cluster init` or `cairn cluster join`", s.DataDir))
	case !member:
	case s.ClusterAddr == "":
		err = output.Usage(fmt.Errorf("%s belongs to a cluster member: --cluster-addr HOST:PORT is required", s.DataDir))
	case s.BlockTime <= 0:
		err = output.Usage(errors.New("a cluster makes blocks at an interval: --block-time must be above 0"))
	case s.Mode != string(api.ModePrimary) || s.Verify != verifyExecute:
		err = output.Usage(errors.New("a cluster member is always a primary that executes blocks: leave out --mode " +
			"and --verify"))
	}
	return member, err
}

func (s nodeSettings) keyPath() string {
	return orIn(s.DataDir, s.ProtocolKey, datadir.ProtocolKeyFile)
}

// orIn returns path if it is set, or else the file of that name in dir.
func orIn(dir, path, name string) string {
	if path != "" {
		return path
	}
	return filepath.Join(dir, name)
}

// contractSettings are the settings for the execution of contracts.
type contractSettings struct {
	CodeMemory uint64 `setting:"code-memory-mib" bounds:"16..1048576" usage:"MiB of memory for contracts' compiled code and idle instances"`
	CodeDisk   uint64 `setting:"code-disk-mib" bounds:"16..1073741824" usage:"MiB of disk for contracts' compiled code"`
	ViewGas    uint64 `setting:"view-gas" bounds:"100000..1000000000" usage:"gas limit of calls that are not sent as transactions: svc_viewCall, svc_call"`
}

func defaultContracts() contractSettings {
	return contractSettings{
		CodeMemory: datadir.DefaultCodeMemory >> 20, CodeDisk: datadir.DefaultCodeDisk >> 20,
		ViewGas: uint64(rpc.DefaultViewGas),
	}
}

// set copies the settings into options and serving.
func (s contractSettings) set(options *datadir.Options, serving *node.Serving) {
	options.CodeMemory, options.CodeDisk = int(s.CodeMemory)<<20, int64(s.CodeDisk)<<20
	serving.ViewGas = types.Gas(s.ViewGas)
}
