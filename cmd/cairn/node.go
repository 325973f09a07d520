package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/sequencer"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/types"
)

// nodeSettings are the settings of `cairn node`, and the keys of cairn.toml.
type nodeSettings struct {
	DataDir     string        `setting:"data-dir" usage:"where the chain is kept"`
	Genesis     string        `setting:"genesis" usage:"genesis file (default DATA-DIR/genesis.json)"`
	Mode        string        `setting:"mode" usage:"what the node is: primary, which makes the blocks; replica, which follows another node; archive, a replica that keeps the whole history"`
	ProtocolKey string        `setting:"protocol-key" usage:"file with the producer's key (default DATA-DIR/protocol.key)"`
	LockDir     string        `setting:"lock-dir" usage:"directory of the record of what the producer's key signed (default the key's)"`
	BlockTime   time.Duration `setting:"block-time" usage:"time between blocks; 0: a block at once for each transaction"`
	RPCAddr     string        `setting:"rpc-addr" usage:"address of JSON-RPC; port 0 picks one"`
	AdminAddr   string        `setting:"admin-addr" usage:"address of health, readiness, metrics and profiles; port 0 picks one"`
	ClusterAddr string        `setting:"cluster-addr" usage:"address where the other members of a cluster reach this one, as HOST:PORT; of a directory that is a member's"`
	Journal     string        `setting:"journal" usage:"when a sent transaction is answered: async (written, synced within 50 ms) or sync"`
	Override    string        `setting:"override-parameters" usage:"HEIGHT:FILE: a hard fork that sets the parameters before block HEIGHT, the same on every node"`
	Retention   uint64        `setting:"retention" usage:"blocks kept behind the head, with their history; 0: all"`
	Snapshots   uint64        `setting:"snapshot-interval" usage:"blocks from one snapshot of the state to the next; 0: none are made"`
	SnapshotsOf uint64        `setting:"snapshot-keep" usage:"snapshots to keep, the newest"`
	CacheMiB    uint64        `setting:"cache-mib" usage:"database cache in MiB; 0: the default"`
	TableMiB    uint64        `setting:"table-mib" usage:"MiB of writes that the database gathers in memory before it makes a file of them"`
	MaxUnmerged uint64        `setting:"max-unmerged" usage:"files of the database that may wait to be merged before blocks wait for that"`
	LogLevel    string        `setting:"log-level" usage:"least level of what is logged: debug, info, warn or error"`
	LogFormat   string        `setting:"log-format" usage:"format of the log on the standard error: text or json"`
	OTLP        string        `setting:"otlp-endpoint" usage:"URL of an OpenTelemetry collector that traces are sent to (OTLP over HTTP)"`
	TraceEvery  uint64        `setting:"trace-every" usage:"one of how many calls is traced; every block is"`
	ReadyFile   string        `setting:"ready-file" usage:"JSON file to write once JSON-RPC serves"`
	proofSettings
	signerSettings
	followSettings
	bootstrapSettings
	kernelSettings
	contractSettings
	httpSettings
}

// kernelSettings choose code for the processor.
type kernelSettings struct {
	HashKernel      string `setting:"hash-kernel" usage:"code that hashes the state: avx512, avx512bw, avx2 or scalar, all with the same result (default the fastest)"`
	SignatureKernel string `setting:"signature-kernel" usage:"code that verifies signatures: avx512 or portable, both with the same result (default the fastest)"`
}

func (s kernelSettings) use() error {
	return machine.Kernels{Hash: s.HashKernel, Signature: s.SignatureKernel}.Use()
}

func defaultNode() nodeSettings {
	return nodeSettings{
		DataDir:           dataHome("node"),
		Mode:              string(api.ModePrimary),
		BlockTime:         time.Second,
		RPCAddr:           defaultRPCAddr,
		AdminAddr:         defaultAdminAddr,
		Journal:           "async",
		SnapshotsOf:       2,
		TableMiB:          datadir.DefaultTableBytes >> 20,
		MaxUnmerged:       datadir.DefaultMaxUnmerged,
		LogLevel:          "warn",
		LogFormat:         "text",
		TraceEvery:        100,
		followSettings:    followSettings{Forward: true, MaxLag: defaultMaxLag, Verify: verifyExecute},
		bootstrapSettings: bootstrapSettings{Bootstrap: fromGenesis},
		proofSettings:     defaultProofs(),
		contractSettings:  defaultContracts(),
		httpSettings:      defaultHTTP(),
	}
}

func newNode() *cobra.Command {
	settings := defaultNode()
	return withSettingsFile(&cobra.Command{
		Use:   "node",
		Short: "Run a node of a network",
		Long: "Run a node of a network that `cairn init` started. Settings come from flags, CAIRN_* variables and " +
			"DATA-DIR/cairn.toml.",
		Example: "  cairn init ./mychain\n  cairn node --data-dir ./mychain\n  cairn node --data-dir ./replica --mode " +
			"replica --upstream http://127.0.0.1:8777 --genesis-hash HASH",
	}, &settings, func(command *cobra.Command) error { return runNode(command, settings) })
}

func runNode(command *cobra.Command, settings nodeSettings) error {
	log, err := newLogger(command.ErrOrStderr(), settings.LogLevel, settings.LogFormat)
	if err != nil {
		return err
	}
	if err := settings.kernelSettings.use(); err != nil {
		return err
	}
	trust, err := settings.trust(settings.Mode, settings.Verify)
	if err != nil {
		return err
	}
	trusted, err := settings.trusted(settings.Verify)
	if err != nil {
		return err
	}
	dir, nodeConfig, err := settings.begin(command, trust, trusted, log)
	if command.Context().Err() != nil && errors.Is(err, context.Canceled) {
		log.Warn("ended as asked, before there was a chain", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	n, err := node.New(dir, nodeConfig)
	if err != nil {
		return err
	}
	hash, err := datadir.GenesisHash(*nodeConfig.Chain.Genesis)
	if err != nil {
		return errors.Join(err, n.Close())
	}
	result := struct {
		RPC         string `json:"rpc"`
		Admin       string `json:"admin"`
		ChainID     uint64 `json:"chainId"`
		GenesisHash string `json:"genesisHash"`
		DataDir     string `json:"dataDir"`
	}{n.RPCURL(), n.AdminURL(), nodeConfig.Chain.Genesis.ChainID, hash.String(), settings.DataDir}
	if err := cli.PrinterOf(command).Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "JSON-RPC", Value: result.RPC}, output.Field{Name: "health", Value: result.Admin +
			"/health"},
			output.Field{Name: "chain id", Value: result.ChainID}, output.Field{Name: "genesis hash", Value: result.GenesisHash},
			output.Field{Name: "data", Value: result.DataDir})
	}); err != nil {
		return errors.Join(err, n.Close())
	}
	if n.Follows() {
		defer showProgress(command, n)()
	}
	return run(command.Context(), n, settings.ReadyFile, nil)
}

// provers are who may prove the node's blocks, the one first who does where nobody said so: a node itself, and who
// follows another takes the proofs from there while it does. A replica without state has each block's proof with the
// block.
func (s nodeSettings) provers() []string {
	switch {
	case s.Verify == verifyStateless:
		return []string{proveOff}
	case len(s.Upstream) == 0:
		return aloneProvers
	}
	return append([]string{proveUpstream}, aloneProvers...)
}

// begin opens the data directory and makes the node's configuration. The directory gets the beginning of a chain where
// that comes from others.
func (s nodeSettings) begin(
	command *cobra.Command, trust datadir.SnapshotTrust, trusted *datadir.Trusted, log *slog.Logger,
) (_ *datadir.Dir, _ node.Config, err error) {
	options, config, err := s.config(log)
	if err != nil {
		return nil, config, err
	}
	dir, err := datadir.Open(s.DataDir, options)
	if err != nil {
		return nil, config, adviseArchive(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	if config.Chain.Genesis, err = s.genesis(command.Context(), config, dir); err != nil {
		return nil, config, err
	}
	if config.Chain.Override, err = datadir.ReadOverride(s.Override, config.Chain.Genesis.Network); err != nil {
		return nil, config, err
	}
	if err := s.bootstrapSettings.run(command, dir, config, trust); err != nil {
		return nil, config, err
	}
	if config.Cluster != nil {
		if err := dir.Join(command.Context(), *config.Chain.Genesis, config.Build.Version); err != nil {
			return nil, config, err
		}
	}
	if trusted != nil {
		err = dir.StartAt(command.Context(), config.Chain, *trusted, config.Follow.Upstreams, config.Proofs.Bits)
	}
	return dir, config, adviseArchive(err)
}

// adviseArchive says what to do about a chain that is an archive, or can be none.
func adviseArchive(err error) error {
	switch {
	case errors.Is(err, datadir.ErrArchive):
		return fmt.Errorf(
			"%w: start it without a retention, or make a replica of it with `cairn db prune --end-archive`", err,
		)
	case errors.Is(err, datadir.ErrNoArchive):
		return fmt.Errorf("%w; an archive begins in an empty directory, at genesis or from a copy of an archive", err)
	}
	return err
}

// check refuses values that a setting cannot have, and settings that do not go together.
func (s nodeSettings) check() error {
	switch {
	case s.DataDir == "":
		return output.Usage(errors.New("--data-dir is needed"))
	case !slices.Contains([]api.Mode{api.ModePrimary, api.ModeReplica, api.ModeArchive}, api.Mode(s.Mode)):
		return output.Usage(fmt.Errorf("--mode is primary, replica or archive, not %q", s.Mode))
	case s.Mode == string(api.ModeArchive) && s.Retention != 0:
		return output.Usage(errors.New("an archive keeps everything: --retention is 0"))
	case s.Signer != "" && s.ProtocolKey != "":
		return output.Usage(errors.New("--protocol-key and --signer exclude each other: either this node has the key, or " +
			"the signer"))
	case s.Journal != "async" && s.Journal != "sync":
		return output.Usage(fmt.Errorf("--journal is async or sync, not %q", s.Journal))
	case s.OTLP != "" && s.TraceEvery == 0:
		return output.Usage(errors.New("--trace-every is at least 1"))
	case s.Snapshots > 0 && (s.SnapshotsOf < 1 || s.SnapshotsOf > 1000):
		return output.Usage(fmt.Errorf("--snapshot-keep is 1 to 1000, not %d", s.SnapshotsOf))
	case s.TableMiB < 1 || s.TableMiB > 256:
		return output.Usage(fmt.Errorf("--table-mib is 1 to 256, not %d", s.TableMiB))
	case s.MaxUnmerged < 2 || s.MaxUnmerged > 1024:
		return output.Usage(fmt.Errorf("--max-unmerged is 2 to 1024, not %d", s.MaxUnmerged))
	case s.CacheMiB > 1<<20:
		return output.Usage(fmt.Errorf("--cache-mib %d is over a TiB", s.CacheMiB))
	case s.Verify != verifyExecute && s.Verify != verifyStateless:
		return output.Usage(fmt.Errorf("--verify is %s or %s, not %q", verifyExecute, verifyStateless, s.Verify))
	case s.Verify == verifyStateless && s.Mode != string(api.ModeReplica):
		return output.Usage(errors.New("--verify stateless is for --mode replica: a primary makes blocks on a state, and " +
			"an archive holds that of every height"))
	}
	return nil
}

// config checks the settings and reads the files that they name. Of the chain's genesis it says that there will be one.
func (s nodeSettings) config(log *slog.Logger) (options datadir.Options, config node.Config, err error) {
	options = s.options(log)
	config = node.Config{
		Build:       build.Read(),
		Mode:        api.Mode(s.Mode),
		Production:  node.Production{LockDir: cmp.Or(s.LockDir, filepath.Dir(s.keyPath())), BlockTime: s.BlockTime},
		SyncJournal: s.Journal == "sync",
		Log:         log,
	}
	config.Serving = node.Serving{
		RPCAddr: s.RPCAddr, SlowReader: s.SlowReader, Explorer: s.Explorer, AdminAddr: s.AdminAddr, AdminHosts: s.AdminHost,
	}
	config.Snapshots.Interval, config.Snapshots.Count = s.Snapshots, int(s.SnapshotsOf)
	config.Traces.Endpoint, config.Traces.Every = s.OTLP, s.TraceEvery
	if err := s.check(); err != nil {
		return options, config, err
	}
	if config.Follow, err = s.chain(); err != nil {
		return options, config, err
	}
	if config.Cluster, err = s.cluster(); err != nil {
		return options, config, err
	}
	if config.Key, err = s.key(config.Cluster != nil); err != nil {
		return options, config, err
	}
	if options.Stateless && (config.Key != nil || s.Snapshots > 0) {
		return options, config, output.Usage(errors.New("a node that keeps no state makes neither blocks nor snapshots: " +
			"--protocol-key and --snapshot-interval are not for --verify stateless"))
	}
	if config.HTTP, err = s.httpSettings.config(); err != nil {
		return options, config, err
	}
	if err := s.contractSettings.set(&options, &config.Serving); err != nil {
		return options, config, err
	}
	config.Proofs, err = s.proofSettings.set(&options, s.provers(), config.Key != nil, log)
	return options, config, err
}

// options are those of the data directory.
func (s nodeSettings) options(log *slog.Logger) datadir.Options {
	options := datadir.Options{
		Archive:     s.Mode == string(api.ModeArchive),
		Stateless:   s.Verify == verifyStateless,
		Retention:   s.Retention,
		CacheBytes:  int64(s.CacheMiB) << 20,
		TableBytes:  int(s.TableMiB) << 20,
		MaxUnmerged: int(s.MaxUnmerged),
		Log:         log,
	}
	if options.Stateless {
		options.Retention = cmp.Or(s.Retention, statelessRetention)
	}
	return options
}

// chain is what the node needs to follow its chain, and says why there is no telling which chain that is, as far as
// that shows before the data directory is opened.
func (s nodeSettings) chain() (follow node.Follow, err error) {
	if len(s.Upstream) > 0 || s.Mode != string(api.ModePrimary) {
		if follow, err = s.followSettings.config(); err != nil {
			return follow, err
		}
	}
	wanted, err := s.genesisHash()
	if err != nil {
		return follow, err
	}
	given, err := s.genesisFile()
	if err != nil {
		return follow, err
	}
	if given != nil {
		return follow, checkGenesis(*given, wanted)
	}
	there, err := datadir.HasDatabase(s.DataDir)
	if err == nil && !there {
		err = s.mayFetch(wanted)
	}
	return follow, err
}

// genesis is that of the node's chain: of the file, or else of the chain in the data directory, or else from the
// upstreams.
func (s nodeSettings) genesis(ctx context.Context, config node.Config, dir *datadir.Dir) (*types.Genesis, error) {
	wanted, err := s.genesisHash()
	if err != nil {
		return nil, err
	}
	here, err := s.genesisFile()
	if err != nil {
		return nil, err
	}
	if here == nil {
		here = dir.Genesis()
	}
	if here != nil {
		return here, checkGenesis(*here, wanted)
	}
	if err := s.mayFetch(wanted); err != nil {
		return nil, err
	}
	fetched, err := config.Follow.Genesis(ctx, *wanted, config.Log)
	return &fetched, err
}

// mayFetch refuses to ask upstreams for the genesis of a chain that the node cannot follow, or that nobody named.
func (s nodeSettings) mayFetch(wanted *types.BlockHash) error {
	switch primary := s.Mode == string(api.ModePrimary); {
	case primary && len(s.Upstream) > 0:
		return output.Usage(fmt.Errorf(
			"there is no chain in %s: a node that is to follow one begins with --mode replica", s.DataDir,
		))
	case primary:
		return output.Usage(fmt.Errorf("there is no genesis file: start a network with `cairn init %s`, or name one with "+
			"--genesis; "+
			"to follow a network begin with --mode replica", s.DataDir))
	case wanted == nil:
		return output.Usage(errWhichChain)
	}
	return nil
}

// genesisFile is the genesis of the file that is named, or of the one in the data directory; nil where there is none.
func (s nodeSettings) genesisFile() (*types.Genesis, error) {
	genesis, err := datadir.ReadGenesis(orIn(s.DataDir, s.Genesis, datadir.GenesisFile))
	switch {
	case err == nil:
		return &genesis, nil
	case errors.Is(err, os.ErrNotExist) && s.Genesis == "":
		return nil, nil
	case errors.Is(err, os.ErrNotExist):
		return nil, output.Usage(fmt.Errorf("--genesis: %w", err))
	}
	return nil, err
}

// key is the key to make blocks with: a primary's, and that of another node only where it is named. A directory that
// was copied from a primary's makes no blocks elsewhere.
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
		return nil, nil // it votes, and hands leadership on
	case errors.Is(err, os.ErrNotExist):
		return nil, output.Usage(fmt.Errorf("there is no producer's key %s: name its file with --protocol-key, or follow "+
			"the producer's node with --mode replica --upstream URL", path))
	case err != nil:
		return nil, output.Usage(err)
	}
	return node.LocalKey(key), nil
}

// cluster is how the node is a member of a cluster, nil if its directory is of none.
func (s nodeSettings) cluster() (*node.Cluster, error) {
	member, err := datadir.IsMember(s.DataDir)
	switch {
	case err != nil:
		return nil, err
	case !member && s.ClusterAddr != "":
		return nil, output.Usage(fmt.Errorf("%s is of no cluster: --cluster-addr is for a directory that "+
			"`cairn cluster init` or `cairn cluster join` made a member's", s.DataDir))
	case !member:
		return nil, nil
	case s.ClusterAddr == "":
		return nil, output.Usage(fmt.Errorf("%s is of a cluster: --cluster-addr HOST:PORT is needed", s.DataDir))
	case s.BlockTime <= 0:
		return nil, output.Usage(errors.New("a cluster makes its blocks at an interval: --block-time is over 0"))
	case s.Mode != string(api.ModePrimary) || len(s.Upstream) > 0 || s.Verify != verifyExecute:
		return nil,
			output.Usage(errors.New("a member of a cluster is a primary: --mode, --upstream and --verify are not for it"))
	}
	return &node.Cluster{Addr: s.ClusterAddr, MaxLag: s.MaxLag}, nil
}

func (s nodeSettings) keyPath() string {
	return orIn(s.DataDir, s.ProtocolKey, datadir.ProtocolKeyFile)
}

// orIn is the path that was given, or the file of that name in dir.
func orIn(dir, path, name string) string {
	if path != "" {
		return path
	}
	return filepath.Join(dir, name)
}
