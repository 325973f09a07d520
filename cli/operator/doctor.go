package operator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/machine"
	"github.com/cairn-chain/cairn/internal/role"
	"github.com/cairn-chain/cairn/types"
)

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	State  string `json:"state"` // ok, warning or problem
	Detail string `json:"detail"`
	Advice string `json:"advice,omitempty"`

	err error // error of a problem, or nil if Detail is complete
}

const (
	stateOK      = "ok"
	stateWarning = "warning"
	stateProblem = "problem"
)

func newDoctor() *cobra.Command {
	settings := defaultNode()
	settings.DataDir = dataHome("dev")
	return withSettingsFile(&cobra.Command{
		Use:   "doctor",
		Short: "Check the machine, settings, data directory, ports and upstreams, and suggest fixes",
		Long: "Check whether a node with these settings can run on this machine, with its data\ndirectory, ports and " +
			"upstreams, and suggest a fix for each problem. The settings are\nthose of `cairn node`, read from the " +
			"same sources. Exit code 1 if there is a problem.",
		Example: "  cairn doctor\n  cairn doctor --data-dir ./mychain\n  cairn doctor --data-dir ./replica --mode replica " +
			"--upstream http://127.0.0.1:8777",
	}, &settings, func(command *cobra.Command) error {
		here := lookAt(settings)
		findings := []finding{checkSettings(settings, here), checkProcessor(), checkFiles(settings.httpSettings)}
		findings = append(findings, checkUser(os.Geteuid())...)
		findings = append(findings, checkDataDir(settings, here)...)
		findings = append(findings, checkUpstreams(command.Context(), settings, here)...)
		for _, address := range []string{settings.RPCAddr, settings.AdminAddr} {
			findings = append(findings, checkPort(command.Context(), address))
		}
		return printFindings(invoke.PrinterOf(command), findings)
	})
}

func printFindings(printer *output.Printer, findings []finding) error {
	var problems []string
	rows := make([][]any, len(findings))
	for i, f := range findings {
		if f.State == stateProblem {
			problems = append(problems, fmt.Sprintf("%s: %s: %s", f.Check, f.Detail, f.Advice))
		}
		rows[i] = []any{f.State, f.Check, f.Detail, f.Advice}
	}
	var failed error
	if len(problems) > 0 {
		failed = output.WithData(errors.New(strings.Join(problems, "; ")), map[string]any{"findings": findings})
		if printer.JSON() {
			return failed // the error is the only JSON document
		}
	}
	return errors.Join(failed, printer.Result(findings, func(t *output.Text) {
		t.Table([]string{"STATE", "CHECK", "FOUND", "WHAT TO DO"}, rows)
	}))
}

// checkSettings reports all errors in the settings and in the files that they name.
func checkSettings(s nodeSettings, here place) finding {
	_, logErr := newLogger(io.Discard, s.LogLevel, s.LogFormat)
	_, trustErr := s.trust(s.Mode, s.Verify)
	_, trustedErr := s.trusted(s.Verify)
	_, proofsErr := s.proofSettings.set(new(datadir.Options), s.provers(), false, slog.New(slog.DiscardHandler), "text")
	_, _, chainErr := s.followedChain(here)
	http, httpErr := s.httpSettings.config()
	var wrong []string
	for _, err := range []error{
		s.kernelSettings.use(), s.check(), logErr, trustErr, trustedErr, proofsErr, chainErr,
		cmp.Or(httpErr, http.Check()),
	} {
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return finding{
			Check: "settings", State: stateProblem, Detail: strings.Join(wrong, "; "),
			Advice: "correct the flag, the CAIRN_* variable or the line of " + datadir.SettingsFile,
		}
	}
	return finding{Check: "settings", State: stateOK, Detail: "mode " + s.Mode}
}

// followedChain returns the configuration for following other nodes, or nil if the node follows none. It also returns
// the hash of its chain's block 0, or zero if neither the settings nor the data directory have it.
func (s nodeSettings) followedChain(here place) (*role.Following, types.BlockHash, error) {
	var chain types.BlockHash
	if len(s.Upstream) == 0 && s.Mode == string(api.ModePrimary) {
		return nil, chain, nil
	}
	follow, err := s.followSettings.config()
	if err != nil {
		return nil, chain, err
	}
	if err := follow.Check(); err != nil {
		return nil, chain, err
	}
	wanted, err := s.genesisHash()
	switch {
	case err != nil:
		return nil, chain, err
	case wanted != nil:
		return &follow, *wanted, nil
	}
	genesis, err := s.genesisFile()
	if err == nil && genesis == nil {
		genesis, err = here.Genesis, here.err
	}
	switch {
	case errors.Is(err, datadir.ErrLocked): // by a running node, which knows its chain
		return &follow, chain, nil
	case err == nil && genesis == nil:
		err = errWhichChain
	case err == nil:
		chain, err = datadir.GenesisHash(*genesis)
	}
	return &follow, chain, err
}

// upstreamPatience bounds the wait for an upstream's answer.
const upstreamPatience = 5 * time.Second

// checkUpstreams asks each upstream for its node information.
func checkUpstreams(ctx context.Context, s nodeSettings, here place) []finding {
	follow, chain, err := s.followedChain(here)
	if err != nil || follow == nil { // checkSettings reports the error
		return nil
	}
	findings := make([]finding, len(follow.URLs))
	for i, url := range follow.URLs {
		findings[i] = checkUpstream(ctx, *follow, url, chain)
		if findings[i].State == stateWarning && len(findings) == 1 { // the node has no other upstream
			findings[i].State = stateProblem
		}
	}
	return findings
}

func checkUpstream(ctx context.Context, follow role.Following, url string, chain types.BlockHash) finding {
	ctx, cancel := context.WithTimeout(ctx, upstreamPatience)
	defer cancel()
	name := "upstream " + url
	info, err := follow.Ask(ctx, url)
	switch {
	case err != nil:
		return finding{
			Check: name, State: stateWarning, Detail: err.Error(),
			Advice: "check that the node is running, that this is its JSON-RPC address, and that it accepts calls " +
				"from this node",
		}
	case chain != types.BlockHash{} && info.GenesisHash != chain:
		return finding{
			Check: name, State: stateProblem,
			Detail: fmt.Sprintf("its chain has the genesis hash %s, not %s", info.GenesisHash, chain),
			Advice: "use a node of the same chain",
		}
	}
	return finding{
		Check: name, State: stateOK,
		Detail: fmt.Sprintf("%s at block %d, version %s", info.Mode, info.BlockHeight, info.Version),
	}
}

func checkProcessor() finding {
	kernels, fast := machine.ActiveKernels()
	f := finding{
		Check: "processor", State: stateOK,
		Detail: fmt.Sprintf(
			"%d cores, hashing with %s, signatures with %s", runtime.NumCPU(), kernels.Hash, kernels.Signature,
		),
	}
	if !fast {
		f.State, f.Advice = stateWarning,
			"without AVX-512, state roots and signatures take several times as long; good enough for development"
	}
	if runtime.NumCPU() < 2 {
		f.State, f.Advice = stateWarning, "signature verification and execution share one core: give the node two"
	}
	return f
}

func checkDataDir(settings nodeSettings, here place) []finding {
	dir := settings.DataDir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return []finding{{
			Check: "data directory", State: stateWarning, Detail: dir + " does not exist yet",
			Advice: "`cairn dev` and a replica make it when they begin; else name the right one with --data-dir, or make a " +
				"network with `cairn init " + dir + "`",
		}}
	}
	findings := startChecks(settings, here)
	for _, p := range here.Problems {
		findings = append(findings, finding{
			Check: p.Where, State: stateProblem, Detail: p.What,
			Advice: "follow the message; `cairn db check --data-dir " + dir + "` checks the whole directory",
		})
	}
	return append(findings, checkLeftovers(dir)...)
}

// checkUser warns root that file permissions are not checked for the node's user, because they do not apply to root.
func checkUser(user int) []finding {
	if user != 0 {
		return nil
	}
	return []finding{{
		Check: "user", State: stateWarning,
		Detail: "permissions were not checked: root may read and write everything, the node's user may not",
		Advice: `run this command as the node's user; docs/operators.md, "As a service", has the command for the systemd unit`,
	}}
}

// checkLeftovers reports the leftovers of interrupted work.
func checkLeftovers(dir string) []finding {
	const check = "leftovers"
	left, err := datadir.Leftovers(dir, time.Now())
	switch {
	case err != nil:
		return []finding{{Check: check, State: stateWarning, Detail: err.Error(), Advice: "check the directory's permissions"}}
	case len(left) == 0:
		return nil
	}
	return []finding{{
		Check: check, State: stateWarning, Detail: leftoversText(left),
		Advice: "`cairn db backup --clean --data-dir " + dir + "` removes them",
	}}
}

func checkPort(ctx context.Context, address string) finding {
	name := "port " + address
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return finding{
			Check: name, State: stateWarning, Detail: "cannot listen on this address",
			Advice: "a node may already be running; otherwise choose another address with --rpc-addr or --admin-addr",
		}
	}
	if err := listener.Close(); err != nil {
		return finding{Check: name, State: stateWarning, Detail: err.Error()}
	}
	return finding{Check: name, State: stateOK, Detail: "free"}
}
