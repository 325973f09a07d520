package main

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
	"github.com/cairn-chain/cairn/cli"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/reload"
)

// nodeSettings are the settings of `cairn node`, and the keys of cairn.toml.
type nodeSettings struct {
	DataDir     string        `setting:"data-dir" usage:"where the chain is kept"`
	Genesis     string        `setting:"genesis" usage:"genesis file (default DATA-DIR/genesis.json)"`
	Mode        string        `setting:"mode" usage:"what the node is: primary, which makes the blocks; replica, which follows another node; archive, a replica that keeps the whole history"`
	ProtocolKey string        `setting:"protocol-key" usage:"file with the producer's key (default DATA-DIR/protocol.key)"`
	NextKey     string        `setting:"next-protocol-key" usage:"file with the next producer's key, of a member of a cluster: it makes blocks with it once the chain names that"`
	LockDir     string        `setting:"lock-dir" usage:"directory of the record of what the producer's key signed (default the key's)"`
	BlockTime   time.Duration `setting:"block-time" bounds:"0,10ms..1h" usage:"time between blocks; 0: a block at once for each transaction"`
	RPCAddr     string        `setting:"rpc-addr" usage:"address of JSON-RPC; port 0 picks one"`
	AdminAddr   string        `setting:"admin-addr" usage:"address of health, readiness, metrics and profiles; port 0 picks one"`
	ClusterAddr string        `setting:"cluster-addr" usage:"address where the other members of a cluster reach this one, as HOST:PORT; of a directory that is a member's"`
	Journal     string        `setting:"journal" usage:"when a sent transaction is answered: async (written, synced within 50 ms) or sync"`
	Override    string        `setting:"override-parameters" usage:"HEIGHT:FILE: a hard fork that sets the parameters before block HEIGHT, the same on every node"`
	Retention   uint64        `setting:"retention" bounds:"0..1000000000" usage:"blocks kept behind the head, with their history; 0: all"`
	Snapshots   uint64        `setting:"snapshot-interval" bounds:"0..1000000000" usage:"blocks from one snapshot of the state to the next; 0: none are made"`
	SnapshotsOf uint64        `setting:"snapshot-keep" bounds:"1..1000" usage:"snapshots to keep, the newest"`
	CacheMiB    uint64        `setting:"cache-mib" bounds:"0..1048576" usage:"database cache in MiB; 0: the default"`
	TableMiB    uint64        `setting:"table-mib" bounds:"1..256" usage:"MiB of writes that the database gathers in memory before it makes a file of them"`
	MaxUnmerged uint64        `setting:"max-unmerged" bounds:"2..1024" usage:"files of the database that may wait to be merged before blocks wait for that"`
	LogLevel    string        `setting:"log-level" usage:"least level of what is logged: debug, info, warn or error"`
	LogFormat   string        `setting:"log-format" usage:"format of the log on the standard error: text or json"`
	OTLP        string        `setting:"otlp-endpoint" usage:"URL of an OpenTelemetry collector that traces are sent to (OTLP over HTTP)"`
	TraceEvery  uint64        `setting:"trace-every" bounds:"1..1000000000" usage:"one of how many calls is traced; every block is"`
	ReadyFile   string        `setting:"ready-file" usage:"JSON file to write once JSON-RPC serves"`
	proofSettings
	signerSettings
	followSettings
	bootstrapSettings
	kernelSettings
	contractSettings
	httpSettings
}

// kernelSettings select the code for the processor.
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
	return cli.Service(withSettingsFile(&cobra.Command{
		Use:   "node",
		Short: "Run a node of a network",
		Long: "Run a node of a network that `cairn init` started. Settings come from flags, CAIRN_* variables and " +
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
			log.Warn("found at the start", "check", f.Check, "found", f.Detail, "advice", f.Advice)
		}
	}
	files, stop := watchedFiles(log)
	defer stop()
	dir, config, err := settings.begin(command, trust, trusted, files, log)
	if command.Context().Err() != nil && errors.Is(err, context.Canceled) {
		log.Warn("ended as asked, before there was a chain", "error", err)
		return nil
	}
	if err != nil {
		return err
	}
	config.Admin.Say("it loads the chain")
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
	announce(cli.PrinterOf(command), log, result, func(t *output.Text) {
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
	config.Admin.Say("it opens its database")
	dir, err := datadir.Open(s.DataDir, options)
	if err != nil {
		return nil, config, adviseArchive(err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Close())
		}
	}()
	config.Admin.Say("it fetches the beginning of the chain from its upstreams")
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
			"%w: start it without a retention, or make a replica of it with `cairn db prune --end-archive`", err,
		)
	case errors.Is(err, datadir.ErrNoArchive):
		return fmt.Errorf("%w; an archive begins in an empty directory, at genesis or from a copy of an archive", err)
	}
	return err
}

// check refuses invalid values and combinations of settings.
func (s nodeSettings) check() error {
	switch {
	case !slices.Contains([]api.Mode{api.ModePrimary, api.ModeReplica, api.ModeArchive}, api.Mode(s.Mode)):
		return output.Usage(fmt.Errorf("--mode is primary, replica or archive, not %q", s.Mode))
	case s.Mode == string(api.ModeArchive) && s.Retention != 0:
		return output.Usage(errors.New("an archive keeps everything: --retention is 0"))
	case s.Signer != "" && s.ProtocolKey != "":
		return output.Usage(errors.New("--protocol-key and --signer exclude each other: either this node has the key, or " +
			"the signer"))
	case s.Journal != "async" && s.Journal != "sync":
		return output.Usage(fmt.Errorf("--journal is async or sync, not %q", s.Journal))
	case len(s.Upstream) == 0 && (s.UpstreamKeyFile != "" || s.UpstreamCAFile != ""):
		return output.Usage(errors.New("--upstream-key-file and --upstream-ca-file are those of an --upstream"))
	case s.PerAddress > s.MaxConnections:
		return output.Usage(fmt.Errorf("--max-connections-per-address is at most --max-connections, %d, not %d",
			s.MaxConnections, s.PerAddress))
	case s.Verify != verifyExecute && s.Verify != verifyStateless:
		return output.Usage(fmt.Errorf("--verify is %s or %s, not %q", verifyExecute, verifyStateless, s.Verify))
	case s.Verify == verifyStateless && s.Mode != string(api.ModeReplica):
		return output.Usage(errors.New("--verify stateless is for --mode replica: a primary makes blocks on a state, and " +
			"an archive holds that of every height"))
	}
	return nil
}
