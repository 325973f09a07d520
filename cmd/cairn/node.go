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
	"github.com/cairn-chain/cairn/crypto"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/cli"
	"github.com/cairn-chain/cairn/internal/cli/output"
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
	return node.Kernels{Hash: s.HashKernel, Signature: s.SignatureKernel}.Use()
}

func defaultNode() nodeSettings {
	return nodeSettings{
		DataDir: dataHome("node"), Mode: string(api.ModePrimary), BlockTime: time.Second, RPCAddr: defaultRPCAddr, AdminAddr: defaultAdminAddr,
		Journal: "async", SnapshotsOf: 2, TableMiB: node.DefaultTableBytes >> 20, MaxUnmerged: node.DefaultMaxUnmerged,
		LogLevel: "warn", LogFormat: "text", TraceEvery: 100,
		followSettings:    followSettings{Forward: true, MaxLag: defaultMaxLag, Verify: verifyExecute},
		bootstrapSettings: bootstrapSettings{Bootstrap: fromGenesis},
		proofSettings:     defaultProofs(), contractSettings: defaultContracts(), httpSettings: defaultHTTP(),
	}
}

func newNode() *cobra.Command {
	settings := defaultNode()
	return withSettingsFile(&cobra.Command{
		Use:     "node",
		Short:   "Run a node of a network",
		Long:    "Run a node of a network that `cairn init` started. Settings come from flags, CAIRN_* variables and DATA-DIR/cairn.toml.",
		Example: "  cairn init ./mychain\n  cairn node --data-dir ./mychain\n  cairn node --data-dir ./replica --mode replica --upstream http://127.0.0.1:8777 --genesis-hash HASH",
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
	nodeConfig, err := settings.begin(command, trust, trusted, log)
	if command.Context().Err() != nil && errors.Is(err, context.Canceled) {
		log.Warn("ended as asked, before there was a chain", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	n, err := node.New(nodeConfig)
	if err != nil {
		return err
	}
	hash, err := node.GenesisHash(n.Genesis())
	if err != nil {
		return errors.Join(err, n.Close())
	}
	result := struct {
		RPC         string `json:"rpc"`
		Admin       string `json:"admin"`
		ChainID     uint64 `json:"chainId"`
		GenesisHash string `json:"genesisHash"`
		DataDir     string `json:"dataDir"`
	}{n.RPCURL(), url(n.AdminAddr()), n.Genesis().ChainID, hash.String(), settings.DataDir}
	if err := cli.PrinterOf(command).Result(result, func(t *output.Text) {
		t.Fields(output.Field{Name: "JSON-RPC", Value: result.RPC}, output.Field{Name: "health", Value: result.Admin + "/health"},
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

// provers are who may prove the node's blocks, the one first who does where nobody said so: a primary, and who follows it
// takes the proofs from there. A replica without state has each block's proof with the block.
func (s nodeSettings) provers() []string {
	switch {
	case s.Verify == verifyStateless:
		return []string{proveOff}
	case len(s.Upstream) == 0:
		return aloneProvers
	case s.Mode == string(api.ModePrimary):
		return append(slices.Clone(aloneProvers), proveUpstream)
	}
	return append([]string{proveUpstream}, aloneProvers...)
}

// begin makes the node's configuration, and gives its data directory the beginning of a chain where that comes from others.
func (s nodeSettings) begin(command *cobra.Command, trust node.SnapshotTrust, trusted *node.Trusted, log *slog.Logger) (node.Config, error) {
	proofs, err := s.proofSettings.config(s.provers(), log)
	if err != nil {
		return node.Config{}, err
	}
	config, err := s.config(command.Context(), log)
	config.Proofs = proofs
	if err == nil {
		err = s.bootstrapSettings.run(command, config, trust, log)
	}
	if err == nil && trusted != nil {
		err = node.StartAt(command.Context(), config, *trusted)
	}
	return config, err
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
		return output.Usage(errors.New("--verify stateless is for --mode replica: a primary makes blocks on a state, and an archive holds that of every height"))
	}
	return nil
}

// config checks the settings and reads the files that they name.
func (s nodeSettings) config(ctx context.Context, log *slog.Logger) (node.Config, error) {
	if err := s.check(); err != nil {
		return node.Config{}, err
	}
	genesis, follow, err := s.chain(ctx, log)
	if err != nil {
		return node.Config{}, err
	}
	key, err := s.key()
	if err != nil {
		return node.Config{}, err
	}
	if follow.Stateless {
		if key != nil || s.Snapshots > 0 {
			return node.Config{}, output.Usage(errors.New("a node that keeps no state makes neither blocks nor snapshots: --protocol-key and --snapshot-interval are not for --verify stateless"))
		}
		s.Retention = cmp.Or(s.Retention, statelessRetention)
	}
	override, err := node.ReadOverride(s.Override, genesis.Network)
	if err != nil {
		return node.Config{}, err
	}
	http, err := s.httpSettings.config()
	if err != nil {
		return node.Config{}, err
	}
	contracts, err := s.contractSettings.config()
	if err != nil {
		return node.Config{}, err
	}
	return node.Config{
		Mode: api.Mode(s.Mode), Follow: follow, Log: log,
		HTTP: http, SlowReader: s.SlowReader, Build: build.Read(), Override: override, DataDir: s.DataDir, Genesis: &genesis, Key: key, LockDir: cmp.Or(s.LockDir, filepath.Dir(s.keyPath())), BlockTime: s.BlockTime, RPCAddr: s.RPCAddr, AdminAddr: s.AdminAddr, AdminHosts: s.AdminHost,
		Snapshots: node.KeepSnapshots{Interval: s.Snapshots, Count: int(s.SnapshotsOf)},
		Retention: s.Retention, SyncJournal: s.Journal == "sync", CacheBytes: int64(s.CacheMiB) << 20, TableBytes: int(s.TableMiB) << 20, MaxUnmerged: int(s.MaxUnmerged), Contracts: contracts,
		TraceEndpoint: s.OTLP, TraceEvery: s.TraceEvery,
	}, nil
}

// chain is which chain the node is of, and what it needs to follow it.
func (s nodeSettings) chain(ctx context.Context, log *slog.Logger) (genesis types.Genesis, follow node.Follow, err error) {
	primary := s.Mode == string(api.ModePrimary)
	if len(s.Upstream) > 0 || !primary {
		if follow, err = s.followSettings.config(); err != nil {
			return genesis, follow, err
		}
	}
	wanted, err := s.genesisHash()
	if err != nil {
		return genesis, follow, err
	}
	here, err := s.genesisHere()
	switch {
	case err != nil:
		return genesis, follow, err
	case here != nil:
		return *here, follow, checkGenesis(*here, wanted)
	case primary && follow.Upstreams != nil:
		return genesis, follow, output.Usage(fmt.Errorf("there is no chain in %s: a node that is to follow one begins with --mode replica", s.DataDir))
	case primary:
		return genesis, follow, output.Usage(fmt.Errorf("there is no genesis file: start a network with `cairn init %s`, or name one with --genesis; to follow a network begin with --mode replica", s.DataDir))
	case wanted == nil:
		return genesis, follow, output.Usage(errWhichChain)
	}
	genesis, err = node.FetchGenesis(ctx, follow, *wanted, log)
	return genesis, follow, err
}

// genesisHere is the genesis of the file, or else of the chain in the data directory; nil where there is neither.
func (s nodeSettings) genesisHere() (*types.Genesis, error) {
	genesis, err := node.ReadGenesis(orIn(s.DataDir, s.Genesis, node.GenesisFile))
	switch {
	case err == nil:
		return &genesis, nil
	case errors.Is(err, os.ErrNotExist) && s.Genesis == "":
		return node.StoredGenesis(s.DataDir)
	case errors.Is(err, os.ErrNotExist):
		return nil, output.Usage(fmt.Errorf("--genesis: %w", err))
	}
	return nil, err
}

// key is the key to make blocks with: a primary's, and that of another node only where it is named. A directory that was
// copied from a primary's makes no blocks elsewhere.
func (s nodeSettings) key() (*crypto.PrivateKey, error) {
	if s.ProtocolKey == "" && s.Mode != string(api.ModePrimary) {
		return nil, nil
	}
	path := s.keyPath()
	key, err := node.ReadProtocolKey(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, output.Usage(fmt.Errorf("there is no producer's key %s: name its file with --protocol-key, or follow the producer's node with --mode replica --upstream URL", path))
	case err != nil:
		return nil, output.Usage(err)
	}
	return &key, nil
}

func (s nodeSettings) keyPath() string { return orIn(s.DataDir, s.ProtocolKey, node.ProtocolKeyFile) }

// orIn is the path that was given, or the file of that name in dir.
func orIn(dir, path, name string) string {
	if path != "" {
		return path
	}
	return filepath.Join(dir, name)
}
