package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-chain/cairn/api"
	"github.com/cairn-chain/cairn/cli/invoke"
	"github.com/cairn-chain/cairn/cli/output"
	"github.com/cairn-chain/cairn/cli/session"
	"github.com/cairn-chain/cairn/internal/config"
	"github.com/cairn-chain/cairn/internal/datadir"
	"github.com/cairn-chain/cairn/internal/emergency"
	"github.com/cairn-chain/cairn/internal/logs"
	"github.com/cairn-chain/cairn/internal/node"
	"github.com/cairn-chain/cairn/internal/reload"
	"github.com/cairn-chain/cairn/types"
)

const (
	defaultRPCAddr   = "127.0.0.1:8777"
	defaultAdminAddr = session.DefaultAdminAddr
)

// withSettings adds the settings to a command as flags and loads them before it runs. Flags override the environment,
// which overrides the defaults. A data directory must be given, or be in the user's home.
func withSettings(command *cobra.Command, settings any, run func(*cobra.Command) error) *cobra.Command {
	config.Register(command.Flags(), settings)
	command.RunE = func(command *cobra.Command, _ []string) error {
		if err := config.Load(settings, settingsSources(command)); err != nil {
			return output.Usage(err)
		}
		if err := checkDataDirGiven(command); err != nil {
			return err
		}
		return run(command)
	}
	invoke.Strict(command)
	command.Args = noArguments
	for setting, words := range choices {
		if command.Flags().Lookup(setting) != nil {
			invoke.CompleteChoice(command, setting, words...)
		}
	}
	return command
}

// optional marks the data directory flag of a command that does not require it.
const optional = "optional"

// checkDataDirGiven returns an error without a data directory: the user would not find the files that the command
// writes.
func checkDataDirGiven(command *cobra.Command) error {
	dir, ephemeral := command.Flags().Lookup("data-dir"), command.Flags().Lookup("ephemeral")
	switch {
	case dir == nil || dir.Annotations[optional] != nil || dir.Value.String() != "" || ephemeral != nil && ephemeral.Value.String() == "true":
		return nil
	case ephemeral != nil:
		return output.Usage(errors.New("HOME is not set: give --data-dir, or --ephemeral for a chain in memory"))
	}
	return output.Usage(errors.New("HOME is not set: give --data-dir"))
}

// noArguments refuses arguments. It suggests --data-dir, because newcomers write the directory as an argument.
func noArguments(command *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case command.Flags().Lookup("data-dir") != nil:
		return fmt.Errorf(
			"%s takes no arguments, but got %q: use --data-dir for the directory", command.CommandPath(), args[0],
		)
	}
	return fmt.Errorf("%s takes no arguments, but got %q", command.CommandPath(), args[0])
}

// choices lists the values of settings for shell completion.
var choices = map[string][]string{
	"mode":             {string(api.ModePrimary), string(api.ModeReplica), string(api.ModeArchive)},
	"verify":           {verifyExecute, verifyStateless},
	"bootstrap":        {fromGenesis, fromSnapshot},
	"prove":            {proveHere, proveElsewhere, proveUpstream, proveOff},
	"proof-bits":       {"100", "128"},
	"journal":          {"async", "sync"},
	"log-level":        {"debug", "info", "warn", "error"},
	"log-format":       {"text", "json"},
	"hash-kernel":      {"avx512", "avx512bw", "avx2", "scalar"},
	"signature-kernel": {"avx512", "portable"},
}

func settingsSources(command *cobra.Command) config.Sources {
	return config.Sources{Flags: command.Flags(), Env: invoke.EnvPrefix}
}

// withSettingsFile is like withSettings, and also reads the cairn.toml of the data directory, which overrides only the
// defaults.
func withSettingsFile(command *cobra.Command, settings any, run func(*cobra.Command) error) *cobra.Command {
	return withSettings(command, settings, func(command *cobra.Command) error {
		sources := settingsSources(command)
		sources.File = filepath.Join(command.Flags().Lookup("data-dir").Value.String(), datadir.SettingsFile)
		if _, err := os.Stat(sources.File); err == nil { // a directory needs no settings
			if err := config.Load(settings, sources); err != nil {
				return emergency.BadSettings(sources.File, err)
			}
		}
		return run(command)
	})
}

// newLogger returns a logger for entries of at least the given level: debug, info, warn or error. format is text or
// json. The rate of its output is bounded, whatever clients do.
func newLogger(to io.Writer, level, format string) (*slog.Logger, error) {
	var options slog.HandlerOptions
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		return nil, output.Usage(fmt.Errorf("--log-level must be debug, info, warn or error, not %q", level))
	}
	options.Level = least
	var handler slog.Handler
	switch format {
	case "text":
		handler = slog.NewTextHandler(to, &options)
	case "json":
		handler = slog.NewJSONHandler(to, &options)
	default:
		return nil, output.Usage(fmt.Errorf("--log-format must be text or json, not %q", format))
	}
	log := slog.New(logs.Bound(handler))
	slog.SetDefault(log) // libraries log there
	return log, nil
}

// announce prints the start message of a service. A write error does not stop the service.
func announce(printer *output.Printer, log *slog.Logger, result any, people func(*output.Text)) {
	if err := printer.Result(result, people); err != nil {
		log.Warn("cannot write to standard output", "error", err)
	}
}

// run runs a node until the context ends. It first writes the ready file. The listeners have been open since the node
// was made, so connections are already accepted.
func run(ctx context.Context, n *node.Node, readyFile string, accounts []developmentAccount) error {
	if readyFile != "" {
		if err := writeReadyFile(readyFile, n, accounts); err != nil {
			return errors.Join(err, n.Close())
		}
	}
	return n.Run(ctx)
}

// watchedFiles returns the set of files that a service loads again within ten seconds of a change, and on SIGHUP. stop
// ends the handling of SIGHUP.
func watchedFiles(log *slog.Logger) (files *reload.Set, stop func()) {
	files = reload.NewSet(log)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	ended := make(chan struct{})
	go func() {
		for {
			select {
			case <-hangup:
				files.Reload()
			case <-ended:
				return
			}
		}
	}()
	return files, func() {
		signal.Stop(hangup)
		close(ended)
	}
}

// ready is the content of the ready file, for a script that started the node.
type ready struct {
	RPC      string               `json:"rpc"`
	Admin    string               `json:"admin"`
	Token    string               `json:"adminTokenFile"`
	PID      int                  `json:"pid"`
	Accounts []developmentAccount `json:"accounts,omitempty"`
}

// writeReadyFile writes the file atomically, because a script may poll for it.
func writeReadyFile(path string, n *node.Node, accounts []developmentAccount) error {
	admin := n.Admin()
	content, err := json.MarshalIndent(ready{n.RPCURL(), admin.URL, admin.TokenFile, os.Getpid(), accounts}, "", "  ")
	if err != nil {
		return err
	}
	part := path + ".part"
	if err := os.WriteFile(part, append(content, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(part, path)
}

// graceTime bounds the start and the shutdown of a node after a request to end, even if its disk hangs. It is longer
// than [node.Node.Run] takes.
const graceTime = 10 * time.Second

// aStart names the start as the task that an interrupted node waits for.
type aStart struct{}

func (aStart) String() string { return "the start" }

// joinCluster joins a member's directory to its cluster, unless it has joined. /ready shows the reason for the wait.
func joinCluster(ctx context.Context, dir *datadir.Dir, config nodeConfig) error {
	j := datadir.Joining{
		Genesis: *config.Chain.Genesis, Program: config.Build.Version, LockDir: config.LockDir, Waits: config.Admin.Say,
	}
	if config.Key != nil {
		j.Keys = []types.PublicKey{config.Key.PublicKey()}
	}
	if config.nextKey != nil {
		j.Keys = append(j.Keys, config.nextKey.PublicKey())
	}
	return dir.Join(ctx, j)
}
