package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/reload"
)

// nodeSettings are the settings of `cairn node`, and the keys of cairn.toml.
type nodeSettings struct {
	Genesis     string `setting:"genesis" usage:"genesis file (default DATA-DIR/genesis.json)"`
	Mode        string `setting:"mode" usage:"mode of the node: primary (produces blocks), replica (follows another node) or archive (a replica that keeps the whole history)"`
	ProtocolKey string `setting:"protocol-key" usage:"file with the producer's key (default DATA-DIR/protocol.key)"`
	NextKey     string `setting:"next-protocol-key" usage:"for a cluster member: file with the next producer's key, for blocks once the chain names that producer (key rotation)"`
	LockDir     string `setting:"lock-dir" usage:"directory of the sign state, which protects the producer's key against double-signing (default: the key's directory)"`
	ClusterAddr string `setting:"cluster-addr" usage:"HOST:PORT at which the other cluster members reach this one; required if the data directory belongs to a cluster member"`
	Journal     string `setting:"journal" usage:"when a sent transaction is acknowledged: async (once written to the journal, which is synced within 50 ms) or sync (once synced)"`
	Override    string `setting:"override-parameters" usage:"HEIGHT:FILE of a hard fork that sets the parameters before block HEIGHT; must be the same on every node"`
	Retention   uint64 `setting:"retention" bounds:"0..1000000000" usage:"number of newest blocks to keep, with their history; 0: all"`
	Snapshots   uint64 `setting:"snapshot-interval" bounds:"0..1000000000" usage:"number of blocks between snapshots of the state; 0: no snapshots"`
	SnapshotsOf uint64 `setting:"snapshot-keep" bounds:"1..1000" usage:"number of newest snapshots to keep"`
	CacheMiB    uint64 `setting:"cache-mib" bounds:"0..1048576" usage:"database cache in MiB; 0: the default"`
	TableMiB    uint64 `setting:"table-mib" bounds:"1..256" usage:"MiB of writes that the database buffers in memory before it flushes them to a file"`
	MaxUnmerged uint64 `setting:"max-unmerged" bounds:"2..1024" usage:"database files that may await compaction before block production stalls"`
	OTLP        string `setting:"otlp-endpoint" usage:"URL of the OpenTelemetry collector to send traces to (OTLP over HTTP)"`
	TraceEvery  uint64 `setting:"trace-every" bounds:"1..1000000000" usage:"trace one call in this many; every block is traced"`
	baseSettings
	proofSettings
	signerSettings
	followSettings
	bootstrapSettings
	kernelSettings
	contractSettings
	httpSettings
}

// baseSettings are the settings that `cairn node` and `cairn dev` share.
type baseSettings struct {
	DataDir   string        `setting:"data-dir" usage:"directory of the chain's data"`
	BlockTime time.Duration `setting:"block-time" bounds:"0,10ms..1h" usage:"time between blocks; 0: each transaction immediately gets a block of its own"`
	RPCAddr   string        `setting:"rpc-addr" usage:"listen address of JSON-RPC; port 0 picks a free port"`
	AdminAddr string        `setting:"admin-addr" usage:"listen address of health, readiness, metrics and profiles; port 0 picks a free port"`
	LogLevel  string        `setting:"log-level" usage:"minimum level of log messages: debug, info, warn or error"`
	LogFormat string        `setting:"log-format" usage:"format of the log on standard error: text or json"`
	ReadyFile string        `setting:"ready-file" usage:"JSON file to write once the node serves JSON-RPC"`
}

func defaultBase(dataDir string) baseSettings {
	return baseSettings{
		DataDir:   dataDir,
		BlockTime: time.Second,
		RPCAddr:   defaultRPCAddr,
		AdminAddr: defaultAdminAddr,
		LogLevel:  "warn",
		LogFormat: "text",
	}
}

// kernelSettings select the code for the processor.
type kernelSettings struct {
	HashKernel      string `setting:"hash-kernel" usage:"implementation of state hashing: avx512, avx512bw, avx2 or scalar, all with the same result (default: the fastest)"`
	SignatureKernel string `setting:"signature-kernel" usage:"implementation of signature verification: avx512 or portable, both with the same result (default: the fastest)"`
}

func (s kernelSettings) use() error {
	return machine.Kernels{Hash: s.HashKernel, Signature: s.SignatureKernel}.Use()
}

func defaultNode() nodeSettings {
	return nodeSettings{
		Mode:              string(api.ModePrimary),
		Journal:           "async",
		SnapshotsOf:       2,
		TableMiB:          datadir.DefaultTableBytes >> 20,
		MaxUnmerged:       datadir.DefaultMaxUnmerged,
		TraceEvery:        100,
		baseSettings:      defaultBase(dataHome("node")),
		followSettings:    followSettings{Forward: true, MaxLag: defaultMaxLag, Verify: verifyExecute},
		bootstrapSettings: bootstrapSettings{Bootstrap: fromGenesis},
		proofSettings:     defaultProofs(),
		contractSettings:  defaultContracts(),
		httpSettings:      defaultHTTP(),
	}
}

func newNode() *cobra.Command {
	settings := defaultNode()
	return invoke.Service(withSettingsFile(&cobra.Command{
		Use:   "node",
		Short: "Run a node of a network",
		Long: "Run a node of a network that `cairn init` created. Settings come from flags, CAIRN_* variables and " +
			"DATA-DIR/cairn.toml.",
		Example: "  cairn init ./mychain\n  cairn node --data-dir ./mychain\n  cairn node --data-dir ./replica --mode " +
			"replica --upstream http://127.0.0.1:8777 --genesis-hash HASH",
	}, &settings, func(command *cobra.Command) error {
		ended := make(chan error, 1)
		go func() { ended <- explainNode(settings.DataDir, runNode(command, settings)) }()
		over := func() <-chan time.Time { return time.After(graceTime) }
		return node.Await(command.Context(), ended, over, aStart{})
	}))
}

// explainNode translates the error of a node into a message that tells the operator the next step.
func explainNode(dir string, err error) error {
	err = datadir.Explain(dir, err)
	var e *emergency.Emergency
	if output.ExitCode(err) == output.ExitUsage && !errors.As(err, &e) {
		return emergency.BadSettings(filepath.Join(dir, datadir.SettingsFile), err)
	}
	return err
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
	if err := settings.check(); err != nil {
		return err
	}
	findings := startChecks(settings, lookAt(settings))
	if err := refusal(findings); err != nil {
		return err
	}
	for _, f := range findings {
		if f.State == stateWarning {
			log.Warn("start check: warning", "check", f.Check, "found", f.Detail, "advice", f.Advice)
		}
	}
	machine.SpareThreads()
	if err := machine.HugePages(); err != nil {
		return err
	}
	machine.BoundHeapGrowth()
	files, stop := watchedFiles(log)
	defer stop()
	dir, config, err := settings.begin(command, trust, trusted, files, log)
	if command.Context().Err() != nil && errors.Is(err, context.Canceled) {
		log.Warn("interrupted before the chain was loaded", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	config.Admin.Say("loading the chain")
	n, err := node.New(dir, config.Config)
	if err != nil {
		return err
	}
	hash, err := datadir.GenesisHash(*config.Chain.Genesis)
	if err != nil {
		return errors.Join(err, n.Close())
	}
	result := struct {
		RPC         string `json:"rpc"`
		Admin       string `json:"admin"`
		ChainID     uint64 `json:"chainId"`
		GenesisHash string `json:"genesisHash"`
		DataDir     string `json:"dataDir"`
	}{n.RPCURL(), n.Admin().URL, config.Chain.Genesis.ChainID, hash.String(), settings.DataDir}
	announce(invoke.PrinterOf(command), log, result, func(t *output.Text) {
		t.Fields(output.Field{Name: "JSON-RPC", Value: result.RPC}, output.Field{Name: "health", Value: result.Admin +
			"/health"},
			output.Field{Name: "chain id", Value: result.ChainID}, output.Field{Name: "genesis hash", Value: result.GenesisHash},
			output.Field{Name: "data", Value: result.DataDir})
	})
	if _, follows := n.SyncStatus(); follows {
		defer showProgress(command, n)()
	}
	return run(command.Context(), n, settings.ReadyFile, nil)
}

// provers returns the allowed provers of the node's blocks, with the default first. By default a node proves its
// blocks, and a node that follows another takes the proofs from there. A replica without state receives each block's
// proof with the block.
func (s nodeSettings) provers() []string {
	switch {
	case s.Verify == verifyStateless:
		return []string{proveOff}
	case len(s.Upstream) == 0:
		return aloneProvers
	}
	return append([]string{proveUpstream}, aloneProvers...)
}

// begin opens the data directory and makes the node's configuration. It also begins the directory's chain if that comes
// from other nodes.
func (s nodeSettings) begin(
	command *cobra.Command, trust datadir.SnapshotTrust, trusted *datadir.Trusted, files *reload.Set, log *slog.Logger,
) (_ *datadir.Dir, _ nodeConfig, err error) {
	options, config, err := s.config(log)
	if err != nil {
		return nil, config, err
	}
	if err := shareFiles(&options, &config.Serving, log); err != nil {
		return nil, config, err
	}
	config.Files, config.Upstreams.Files = files, files
	config.Role = s.role(config)
	if config.Admin, err = node.ListenAdmin(s.AdminAddr, s.AdminHost, config.Build, log); err != nil {
		return nil, config, err
	}
	defer func() {
		if err != nil {
			config.Admin.Close()
		}
	}()
	config.Admin.Say("opening the database")
	dir, err := datadir.Open(s.DataDir, options)
	if err != nil {
		return nil, config, adviseArchive(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	config.Admin.Say("fetching the genesis from the upstreams")
	if config.Chain.Genesis, err = s.genesis(command.Context(), config, dir); err != nil {
		return nil, config, err
	}
	if config.Chain.Override, err = datadir.ReadOverride(s.Override, config.Chain.Genesis.Network); err != nil {
		return nil, config, err
	}
	if err := s.bootstrapSettings.run(command, dir, config, trust); err != nil {
		return nil, config, err
	}
	if config.member {
		if err := joinCluster(command.Context(), dir, config); err != nil {
			return nil, config, err
		}
	}
	if trusted != nil {
		err = dir.StartAt(command.Context(), config.Chain, *trusted, config.Upstreams, config.Proofs.Bits)
	}
	return dir, config, adviseArchive(err)
}

// adviseArchive adds the next step to an error about an archive.
func adviseArchive(err error) error {
	switch {
	case errors.Is(err, datadir.ErrArchive):
		return fmt.Errorf(
			"%w: start it with --retention 0, or turn it into a replica with `cairn db prune --end-archive`", err,
		)
	case errors.Is(err, datadir.ErrNoArchive):
		return fmt.Errorf("%w; an archive must start in an empty directory at genesis, or from a copy of an archive", err)
	}
	return err
}

// check refuses invalid values and combinations of settings.
func (s nodeSettings) check() error {
	switch {
	case !slices.Contains([]api.Mode{api.ModePrimary, api.ModeReplica, api.ModeArchive}, api.Mode(s.Mode)):
		return output.Usage(fmt.Errorf("--mode must be primary, replica or archive, not %q", s.Mode))
	case s.Mode == string(api.ModeArchive) && s.Retention != 0:
		return output.Usage(errors.New("an archive keeps everything: --retention must be 0"))
	case s.Signer != "" && s.ProtocolKey != "":
		return output.Usage(errors.New("--protocol-key and --signer exclude each other: either this node holds the " +
			"key or the signer does"))
	case s.Journal != "async" && s.Journal != "sync":
		return output.Usage(fmt.Errorf("--journal must be async or sync, not %q", s.Journal))
	case len(s.Upstream) == 0 && (s.UpstreamKeyFile != "" || s.UpstreamCAFile != ""):
		return output.Usage(errors.New("--upstream-key-file and --upstream-ca-file need --upstream"))
	case s.PerAddress > s.MaxConnections:
		return output.Usage(fmt.Errorf("--max-connections-per-address must be at most --max-connections, %d, not %d",
			s.MaxConnections, s.PerAddress))
	case s.Verify != verifyExecute && s.Verify != verifyStateless:
		return output.Usage(fmt.Errorf("--verify must be %s or %s, not %q", verifyExecute, verifyStateless, s.Verify))
	case s.Verify == verifyStateless && s.Mode != string(api.ModeReplica):
		return output.Usage(errors.New("--verify stateless needs --mode replica: a primary needs the state to " +
			"produce blocks, and an archive keeps the state of every height"))
	}
	return nil
}
