package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/build"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/engine/parallel"
	"github.com/cairn-chain/cairn/internal/engine/proving"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/server/admin"
	"github.com/cairn-chain/cairn/internal/server/provers"
	"github.com/cairn-chain/cairn/internal/server/telemetry"
	"github.com/cairn-chain/cairn/types"
)

// The values of --prove.
const (
	proveHere      = "here"
	proveElsewhere = "elsewhere"
	proveUpstream  = "upstream"
	proveOff       = "off"
)

// aloneProvers lists the allowed provers for the blocks of a node that follows none, with the default first.
var aloneProvers = []string{proveHere, proveElsewhere, proveOff}

// proofSettings are the settings for the proofs of a node's blocks.
type proofSettings struct {
	Prove          string `setting:"prove" usage:"how blocks get proofs: here (the node starts a low-priority prover process), elsewhere (run cairn prove), upstream (fetch proofs from the upstream, and prove locally while this node produces blocks) or off (default: upstream if the node has one, otherwise here; always off with --verify stateless, where each block arrives with its proof)"`
	ProofBits      int    `setting:"proof-bits" bounds:"100,128" usage:"proven security of the proofs in bits: 100 or 128"`
	ProofRetention uint64 `setting:"proof-retention" bounds:"0..1000000000" usage:"number of newest block proofs to keep, and of range proofs of each length; 0: the proofs of all stored blocks"`
	WitnessMiB     uint64 `setting:"witness-mib" bounds:"1..1073741824" usage:"MiB of disk for the witnesses of blocks that await proof; blocks beyond this limit stay without proof"`
	RangeBlocks    uint64 `setting:"range-blocks" bounds:"0,16,256,4096" usage:"length in blocks of the largest range proofs: 16, 256 (also makes 16) or 4096 (also makes 16 and 256); 0: no range proofs, and a stateless replica does not use them to catch up"`
}

func defaultProofs() proofSettings {
	return proofSettings{ProofBits: 128, ProofRetention: 10_000, WitnessMiB: 20 << 10, RangeBlocks: 256}
}

// set checks the settings and copies them into options. provers lists the allowed provers, with the default first. A
// node that takes proofs from its upstream also makes proofs itself while it produces blocks.
func (s proofSettings) set(
	options *datadir.Options, provers []string, produces bool, log *slog.Logger, logFormat string,
) (node.Proofs, error) {
	prover := cmp.Or(s.Prove, provers[0])
	prove := func(ctx context.Context, node admin.Client) error {
		return runProver(ctx, node, s.ProofBits, log, logFormat)
	}
	config := node.Proofs{Bits: s.ProofBits}
	options.Chain.WitnessBytes, options.Chain.ProofRetention = s.WitnessMiB<<20, s.ProofRetention
	if !slices.Contains(provers, prover) {
		return config, output.Usage(fmt.Errorf("--prove must be %s for this node, not %q", strings.Join(provers, " or "), prover))
	}
	for _, log := range proving.Lengths {
		if s.RangeBlocks>>log > 0 {
			config.Lengths = append(config.Lengths, log)
		}
	}
	options.Chain.SpentWitnesses = len(config.Lengths) > 0
	switch prover {
	case proveHere:
		config.Prove = prove
	case proveUpstream:
		config.Relay = true
		if produces {
			config.Prove = prove
		} else {
			options.Chain.WitnessBytes = 0
		}
	case proveOff:
		config.Off, options.Chain.WitnessBytes = true, 0
	}
	return config, nil
}

// runProver runs `cairn prove` for a node until ctx ends. The prover ends with this process, however that ends, because
// its standard input is then closed.
func runProver(ctx context.Context, node admin.Client, bits int, log *slog.Logger, logFormat string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.CommandContext(
		ctx, program, "prove", "--admin", node.URL, "--admin-token-file", node.TokenFile,
		"--proof-bits", strconv.Itoa(bits), "--while-input", "--quiet", "--log-format", logFormat,
		"--admin-addr", "", // overrides CAIRN_ADMIN_ADDR, which the node already uses
	)
	input, err := command.StdinPipe()
	if err != nil {
		return err
	}
	command.Stderr = os.Stderr
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the prover: %w", err)
	}
	log.Debug("prover started", "pid", command.Process.Pid)
	err = command.Wait()
	return errors.Join(err, input.Close())
}

// proveSettings are the settings of `cairn prove`.
type proveSettings struct {
	adminSettings
	ProofBits  int    `setting:"proof-bits" bounds:"100,128" usage:"proven security of the proofs in bits: 100 or 128"`
	WhileInput bool   `setting:"while-input" usage:"exit when standard input is closed"`
	Quiet      bool   `setting:"quiet" usage:"do not print a line for each proof"`
	AdminAddr  string `setting:"admin-addr" usage:"listen address of the prover's own health, readiness and metrics; port 0 picks a free port (default: none)"`
	LogLevel   string `setting:"log-level" usage:"minimum level of log messages: debug, info, warn or error"`
	LogFormat  string `setting:"log-format" usage:"format of the log on standard error: text or json"`
}

func newProve() *cobra.Command {
	settings := proveSettings{adminSettings: defaultAdmin(), ProofBits: 128, LogLevel: "warn", LogFormat: "text"}
	return invoke.Service(withSettings(&cobra.Command{
		Use:   "prove",
		Short: "Run a prover for a node's blocks, on this machine or another",
		Long: "Fetch blocks that await proof from a node's admin address, prove them one by one, and\nsubmit the " +
			"proofs. The node verifies each proof before storing it, so it need not trust\nthe prover. The prover " +
			"runs at the lowest priority.",
		Example: "  cairn node --prove elsewhere --data-dir ./mychain\n  cairn prove --admin http://127.0.0.1:8778",
	}, &settings, func(command *cobra.Command) error { return runProve(command, settings) }))
}

// proverMemory is the garbage collector's memory limit for a prover. A segment of 2^17 rows needs 0.9 GB, and the
// witness at most 0.2 GB at the default gas limit. Without the limit, garbage could take as much again.
const proverMemory = 5 << 28 // 1.25 GiB

func runProve(command *cobra.Command, settings proveSettings) error {
	log, err := newLogger(command.ErrOrStderr(), settings.LogLevel, settings.LogFormat)
	if err != nil {
		return err
	}
	if err := machine.LowerPriority(); err != nil {
		log.Warn("cannot lower the prover's priority: it may slow down the node", "error", err)
	}
	if err := machine.HugePages(); err != nil {
		return err
	}
	debug.SetMemoryLimit(min(proverMemory, debug.SetMemoryLimit(-1))) // GOMEMLIMIT may be lower
	prover, err := proving.NewProver(settings.ProofBits, parallel.Run)
	if err != nil {
		return output.Usage(err)
	}
	ctx, stop := context.WithCancel(command.Context())
	defer stop()
	if settings.WhileInput {
		go func() {
			defer stop()
			_, _ = io.Copy(io.Discard, command.InOrStdin()) // an error ends the prover too
		}()
	}
	worker := provers.Worker{Node: settings.client(), Prover: prover, Log: log}
	if settings.AdminAddr != "" {
		address, err := node.ListenAdmin(settings.AdminAddr, nil, build.Read(), log)
		if err != nil {
			return err
		}
		defer address.Close()
		metrics := telemetry.NewProcess(build.Read(), log)
		node.RegisterProver(metrics, worker.Stats)
		address.Serve(admin.Config{Ready: worker.Ready, Metrics: metrics.Handler()})
		invoke.PrinterOf(command).Note("health %s/health", address.URL())
	}
	if !settings.Quiet {
		printer := invoke.PrinterOf(command)
		worker.OnProof = func(first, last types.Height, accesses, size int, took time.Duration) {
			of := fmt.Sprintf("block %d", last)
			if first < last {
				of = fmt.Sprintf("blocks %d to %d", first, last)
			}
			printer.Note("%s: %d accesses, proof of %d bytes in %s", of, accesses, size, took.Round(time.Millisecond))
		}
	}
	if err := worker.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}
